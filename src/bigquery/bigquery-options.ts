import type { Source } from '../endpoints/source.ts';
import type { BigQueryEvent } from './bigquery-events.ts';
import type { TableMapping } from './client/table-mapping.ts';
import type { JobRequest } from './job-bodies.ts';

/** The settings of the engine on BigQuery. */
export type BigQueryEngineOptions = {
  /** The project that runs and pays for the queries. */
  readonly project: string;
  /** Region of the jobs, such as `EU`. Default: BigQuery derives it from the tables. */
  readonly location?: string;
  /** Another server that speaks BigQuery's REST: see `ClientOptions`. Default: Google's global endpoint. */
  readonly endpoint?: string;
  readonly mapping: TableMapping;
  /** The shapes of all sources, mapped or not. */
  readonly sources: readonly Source[];
  /** A query that would be billed more bytes is refused, for every caller. Default: only the limit of the run. */
  readonly maxBytesBilled?: number;
  readonly reservation?: string;
  /** Priority of background queries. Default `INTERACTIVE`. */
  readonly backgroundPriority?: JobRequest['priority'];
  readonly emit: (event: BigQueryEvent) => void;
  /** In [0, 1), for the pauses between attempts. */
  random(): number;
  /** Maximum attempts of one query after the first. Default 4. */
  readonly maxRetries?: number;
  /** Shortest pause before the first retry, in milliseconds. Default 1000. */
  readonly retryBaseMs?: number;
  /** Milliseconds of silence after which a connection counts as dead: see `SenderOptions`. Default 10 s. */
  readonly silentMs?: number;
  /** Maximum bytes of one result. Default 16 MiB. */
  readonly maxResultBytes?: number;
  /** Maximum queries that run at the same time. Default 32. */
  readonly maxConcurrentQueries?: number;
  /** Maximum waiting queries of all callers. Default 256. */
  readonly maxWaitingQueries?: number;
  /** Maximum waiting queries of one caller. Default 64. */
  readonly maxWaitingPerCaller?: number;
};
