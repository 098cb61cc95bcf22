import { readSources } from '../../src/endpoints/sources.ts';

/** A table of its own for every source: pairs of a source's name and a table's. */
export const sourceTables = readSources().map(({ name }, at) => [name, `acme-prod.logs.t${at}`] as const);

/** What no caller may read in an answer: projects, datasets and tables of the warehouse. */
export const warehouseNames = /acme|payer|\bt\d\b/;

/** The environment of a gateway over the server at this URL, paid for by the project `payer`. */
export function bigqueryEnvironment(url: string) {
  return {
    ENGINE: 'bigquery',
    BIGQUERY_PROJECT: 'payer',
    BIGQUERY_TABLES: sourceTables.map(assignment => assignment.join('=')).join(','),
    BIGQUERY_API_ENDPOINT: url,
    WARM_IN_PROCESS: 'false',
  };
}
