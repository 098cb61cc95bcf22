import { z } from 'zod';
import { takeTurns } from '../../base/turns.ts';
import type { TableId } from '../../endpoints/table-id.ts';
import {
  type JobAnswer,
  type JobReference,
  jobAnswer,
  type TableAnswer,
  tableAnswer,
} from '../answers/bigquery-answers.ts';
import { BigQueryFailure } from '../answers/bigquery-failure.ts';
import { type Page, type PageRequest, readPage } from '../answers/read-page.ts';
import { type BigQueryClient, type ClientOptions, openClient } from './bigquery-client.ts';
import { isEmulator } from './emulator-endpoint.ts';
import { mapEmulatorError } from './map-emulator-error.ts';

export type BigQueryApiOptions = ClientOptions & {
  /** Region of the jobs, such as `EU`. Default: BigQuery derives it from the tables. */
  readonly location?: string;
};

export type ResultsRequest = {
  readonly job: JobReference;
  readonly pageToken?: string | undefined;
  /** Maximum rows of the page. */
  readonly maxResults: number;
  /** Maximum milliseconds that BigQuery waits for the job's end. */
  readonly timeoutMs: number;
};

/** A job before it is sent. */
export type JobBody = {
  readonly jobReference: {
    /** Absent for a dry run. */
    readonly jobId?: string;
    /** Absent: the region of the API; undefined: BigQuery derives it. */
    readonly location?: string | undefined;
  };
  readonly configuration: {
    readonly query: object;
    readonly dryRun?: boolean;
    readonly labels?: Readonly<Record<string, string>>;
    readonly jobTimeoutMs?: string;
    readonly reservation?: string;
  };
};

/**
 * BigQuery's REST calls, one request each: nothing is retried here.
 * All throw BigQueryFailure, or the signal's reason when it aborts.
 */
export type BigQueryApi = Pick<BigQueryClient, 'close'> & {
  /** `jobs.insert`; a job that has already failed throws as a refused one does. */
  insert(body: JobBody, signal: AbortSignal): Promise<JobAnswer>;
  /** `jobs.getQueryResults`; throws what `readPage` throws, too. */
  results(request: ResultsRequest, reading: PageRequest, signal: AbortSignal): Promise<Page>;
  /** `jobs.get`. */
  job(job: JobReference, signal: AbortSignal): Promise<JobAnswer>;
  /** Why a job has failed, by `jobs.get`; undefined if it has not, or can't be asked. */
  failureOf(job: JobReference, signal: AbortSignal): Promise<BigQueryFailure | undefined>;
  /** `jobs.cancel`. */
  cancel(job: JobReference, signal: AbortSignal): Promise<void>;
  /** `tables.get`: how a table is laid out. */
  table(table: TableId, signal: AbortSignal): Promise<TableAnswer>;
};

/**
 * Milliseconds of reading pages, and of the pause that follows: three quarters of the time are left for other requests. A small query
 * takes some seven turns of the event loop; without the pause each of them would include a slice.
 */
const reading = { sliceMs: 4, pauseMs: 12 };

/** Reasons of a failed job that a failed request can also have, with our own names for the job's: repeating the request would only find the same job. */
export const endedReasons: Readonly<Record<string, string>> = {
  backendError: 'jobBackendError',
  internalError: 'jobInternalError',
  rateLimitExceeded: 'jobRateLimitExceeded',
};

/** Makes the REST calls of one project. */
export function createBigQueryApi(options: BigQueryApiOptions): BigQueryApi {
  const { project, location, endpoint } = options;
  const { call, stream, close } = openClient(options);
  const turns = takeTurns(reading.sliceMs, reading.pauseMs);
  const inRegion = (job: JobReference) => ({ location: job.location ?? location });
  const pathOf = (room: string, { jobId }: JobReference) => `${room}/${encodeURIComponent(jobId)}`;
  const getJob = (job: JobReference, signal: AbortSignal) =>
    call(jobAnswer, { method: 'GET', path: pathOf('jobs', job), query: inRegion(job), signal });

  /** The failure of a job, if it has failed. */
  function failureIn({ status: { errorResult } }: JobAnswer): BigQueryFailure | undefined {
    if (!errorResult) return undefined;
    const { reason, message } = mapEmulatorError(errorResult, { isEmulators: isEmulator(endpoint) });
    return new BigQueryFailure(endedReasons[reason] ?? reason, message);
  }

  return {
    async insert({ jobReference, ...body }, signal) {
      const named = { jobReference: { projectId: project, location, ...jobReference }, ...body };
      const answer = await call(jobAnswer, { method: 'POST', path: 'jobs', body: named, signal });
      const failure = failureIn(answer);
      if (failure) throw failure;
      return answer;
    },
    results({ job, ...page }, pageRequest, signal) {
      const query = { ...inRegion(job), ...page, 'formatOptions.useInt64Timestamp': 'true' };
      const { timeoutMs: waitMs } = page;
      const request = { method: 'GET', path: pathOf('queries', job), query, waitMs, signal } as const;
      return stream(request, body => readPage(body, pageRequest, turns));
    },
    job: getJob,
    async failureOf(job, signal) {
      const answer = await getJob(job, signal).catch(() => undefined);
      return answer && failureIn(answer);
    },
    async cancel(job, signal) {
      const path = `${pathOf('jobs', job)}/cancel`;
      await call(z.unknown(), { method: 'POST', path, query: inRegion(job), signal });
    },
    table({ project: owner, dataset, table }, signal) {
      const path = `datasets/${encodeURIComponent(dataset)}/tables/${encodeURIComponent(table)}`;
      return call(tableAnswer, { method: 'GET', project: owner, path, query: { view: 'BASIC' }, signal });
    },
    close,
  };
}
