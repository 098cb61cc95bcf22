import type { SetupProblem } from '../base/setup-error.ts';
import type { BigQueryFailure } from './answers/bigquery-failure.ts';

/** Where the gateway runs its queries. */
export type WarehousePlace = {
  /** The project that runs and pays for the queries. */
  readonly project: string;
  /** Region of the jobs. Default: BigQuery derives it from the tables. */
  readonly location?: string;
};

const giveCredentials =
  'run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account';

/** The problem that keeps all queries from running. */
export function accessProblem(
  { reason, status, message }: BigQueryFailure,
  { project, location }: WarehousePlace,
): SetupProblem {
  switch (reason) {
    case 'noCredentials':
      return { found: `BigQuery has no credentials: ${message}`, fix: giveCredentials };
    case 'authError':
      return {
        found: `BigQuery does not accept the credentials: ${message}`,
        fix: `${giveCredentials}; see that the clock of this machine is right, for credentials are signed with its time`,
      };
    case 'accessNotConfigured':
      return {
        found: `BigQuery is not enabled: ${message}`,
        fix: `run \`gcloud services enable bigquery.googleapis.com --project ${project}\``,
      };
    case 'accessDenied':
      return {
        found: `BigQuery lets the credentials run no query: ${message}`,
        fix: `grant them roles/bigquery.jobUser on the project ${project}, or correct BIGQUERY_PROJECT`,
      };
  }
  const found = `BigQuery does not answer as it should: ${message}`;
  if (reason === 'noAnswer' || reason === 'brokenAnswer' || reason === 'noReason' || (status ?? 0) >= 500) {
    const fix =
      'see that this machine reaches BigQuery, with HTTPS_PROXY where it needs a proxy; where BIGQUERY_API_ENDPOINT is set, see that it is right';
    return { found, fix };
  }
  const place = location === undefined ? 'BIGQUERY_PROJECT' : 'BIGQUERY_PROJECT and BIGQUERY_LOCATION';
  return { found, fix: `see that ${place} are right` };
}

/** A table of the mapping, by its source. */
export type MappedTable = {
  readonly source: string;
  /** `project.dataset.table`. */
  readonly name: string;
  /** Region in which the table was found, if jobs run in another one. */
  readonly foundIn?: string;
};

/** The problem that keeps queries from reading one table. */
export function tableProblem(
  { reason, message }: BigQueryFailure,
  { source, name, foundIn }: MappedTable,
): SetupProblem {
  const found = `${source} is ${name}: ${message}`;
  if (foundIn !== undefined) {
    return { found: `${found}; it lies in ${foundIn}`, fix: `set BIGQUERY_LOCATION=${foundIn}, or unset it` };
  }
  switch (reason) {
    case 'accessDenied':
      return { found, fix: `grant the credentials roles/bigquery.dataViewer on ${name}` };
    case 'notFound':
      return { found, fix: `create the table, or correct ${source} in BIGQUERY_TABLES` };
    default:
      return {
        found,
        fix: `see that ${name} is a table that can be queried, or correct ${source} in BIGQUERY_TABLES`,
      };
  }
}
