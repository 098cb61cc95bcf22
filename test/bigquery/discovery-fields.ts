/** What an answer of jobs.getQueryResults may say. Source: discovery document of BigQuery v2, `GetQueryResultsResponse`. */
export const resultsFields =
  'cacheHit errors etag jobComplete jobReference kind numDmlAffectedRows pageToken rows schema totalBytesProcessed totalRows';
