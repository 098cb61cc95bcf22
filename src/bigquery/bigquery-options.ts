import type { Source } from '../endpoints/sources.ts';
import type { BigQueryEvent } from './bigquery-events.ts';
import type { TableMapping } from './client/table-mapping.ts';
import type { JobRequest } from './job-bodies.ts';

/** The settings of the engine on BigQuery. */
export type BigQueryEngineOptions = {
  /** The project that runs the queries, and pays for them. */
  readonly project: string;
  /** Region of the jobs, such as `EU`. Default: BigQuery derives it from the tables. */
  readonly location?: string;
  /** Another server that speaks BigQuery's REST: see `ClientOptions`. Default: Google's global endpoint. */
  readonly endpoint?: string;
  readonly mapping: TableMapping;
  /** The shapes of all sources, mapped or not. */
  readonly sources: readonly Source[];
  /** A query that would be billed more bytes is refused, whoever asks. Default: only the limit that a run brings. */
  readonly maxBytesBilled?: number;
  readonly reservation?: string;
  /** Priority of queries that nobody waits for. Default `INTERACTIVE`. */
  readonly backgroundPriority?: JobRequest['priority'];
  readonly emit: (event: BigQueryEvent) => void;
  /** In [0, 1), for the pauses between attempts. */
  random(): number;
  /** Attempts of one query after the first. Default 4. */
  readonly maxRetries?: number;
  /** Shortest pause before the first retry, in milliseconds. Default 1000. */
  readonly retryBaseMs?: number;
  /** Bytes of one result. Default 16 MiB. */
  readonly maxResultBytes?: number;
  /** Queries that run at the same time. Default 32. */
  readonly maxConcurrentQueries?: number;
  /** Queries of all callers that wait for one of those to end. Default 256. */
  readonly maxWaitingQueries?: number;
  /** Queries of one caller that wait. Default 64. */
  readonly maxWaitingPerCaller?: number;
};
