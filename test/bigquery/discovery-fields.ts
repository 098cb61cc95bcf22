/**
 * The names of the fields that requests of BigQuery may have, by the type of the object: `name:Type` where a field holds an
 * object of a type, a list of them, or a map to them. Fields whose inside is not looked at are named alone.
 * Source: discovery document of BigQuery v2, revision 20261009, schemas `QueryRequest` and `Job` and what they hold.
 */
export const requestFields: Readonly<Record<string, string>> = {
  QueryRequest:
    'arrowSerializationOptions:ArrowSerializationOptions connectionProperties:ConnectionProperty continuous createSession defaultDataset:DatasetReference destinationEncryptionConfiguration:EncryptionConfiguration dryRun formatOptions:DataFormatOptions jobCreationMode jobTimeoutMs kind labels location maxResults maxSlots maximumBytesBilled parameterMode preserveNulls query queryParameters:QueryParameter queryResultsFormat requestId reservation secureContext timeoutMs useLegacySql useQueryCache writeIncrementalResults',
  Job: 'configuration:JobConfiguration etag id jobCreationReason jobReference:JobReference kind principal_subject selfLink statistics status user_email',
  JobConfiguration:
    'copy dryRun extract jobTimeoutMs jobType labels load maxSlots query:JobConfigurationQuery reservation',
  JobConfigurationQuery:
    'allowLargeResults clustering:Clustering connectionProperties:ConnectionProperty continuous createDisposition createSession defaultDataset:DatasetReference destinationEncryptionConfiguration:EncryptionConfiguration destinationTable:TableReference flattenResults maximumBillingTier maximumBytesBilled parameterMode preserveNulls priority query queryParameters:QueryParameter rangePartitioning schemaUpdateOptions scriptOptions secureContext systemVariables tableDefinitions timePartitioning useLegacySql useQueryCache userDefinedFunctionResources writeDisposition writeIncrementalResults',
  JobReference: 'jobId location projectId',
  ArrowSerializationOptions: 'bufferCompression picosTimestampPrecision',
  Clustering: 'fields',
  ConnectionProperty: 'key value',
  DatasetReference: 'datasetId projectId',
  EncryptionConfiguration: 'kmsKeyName',
  DataFormatOptions: 'timestampOutputFormat useInt64Timestamp',
  QueryParameter: 'name parameterType:QueryParameterType parameterValue:QueryParameterValue',
  QueryParameterType:
    'arrayType:QueryParameterType rangeElementType:QueryParameterType structTypes timestampPrecision type',
  QueryParameterValue: 'arrayValues:QueryParameterValue rangeValue structValues value',
  TableReference: 'datasetId projectId tableId',
};

/** Parameters of any request's address. Source: as above, `parameters`. */
const commonParameters =
  '$.xgafv access_token alt callback fields key oauth_token prettyPrint quotaUser uploadType upload_protocol';

/**
 * Parameters of the address, by kind of request. Source: as above, `resources.jobs.methods` and `resources.tables.methods.get`; `projection` is not in there, but
 * Google's Python client sends it with every jobs.get and jobs.cancel.
 */
export const addressParameters: Readonly<Record<string, string>> = {
  query: commonParameters,
  insert: commonParameters,
  dryRun: commonParameters,
  results: `${commonParameters} formatOptions.timestampOutputFormat formatOptions.useInt64Timestamp location maxResults pageToken startIndex timeoutMs`,
  job: `${commonParameters} location projection`,
  cancel: `${commonParameters} location projection`,
  table: `${commonParameters} selectedFields view`,
};

/** What an answer of jobs.getQueryResults may say. Source: as above, `GetQueryResultsResponse`. */
export const resultsFields =
  'cacheHit errors etag jobComplete jobReference kind numDmlAffectedRows pageToken rows schema totalBytesProcessed totalRows';
