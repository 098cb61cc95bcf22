import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../base/errors.ts';
import type { Receipt, ResultSet } from '../base/rows.ts';
import { inSpan } from '../base/spans.ts';
import type { Limit } from '../base/time-limit.ts';
import type { JobAnswer, JobReference } from './answers/bigquery-answers.ts';
import { BigQueryFailure } from './answers/bigquery-failure.ts';
import { failureRow } from './answers/failure-table.ts';
import type { Page, PageRequest } from './answers/read-page.ts';
import { type Result, type ResultRequest, readResult } from './answers/read-result.ts';
import { type BigQueryApi, endedReasons } from './client/bigquery-api.ts';
import type { InFlightTracker } from './client/in-flight-tracker.ts';
import type { Retries } from './client/retries.ts';
import { type JobRequest, jobBody, newJobId } from './job-bodies.ts';

export type JobDeps = {
  readonly api: BigQueryApi;
  readonly retries: Retries;
  readonly limit: Limit;
  /** Tracks work that continues when no caller waits for the rows any more. */
  readonly inFlight: Pick<InFlightTracker, 'add'>;
  /** Called when a job is replaced by another, and whether the first may have been billed anyway. */
  readonly onReplace: (failure: BigQueryFailure, replaced: { readonly mayBeBilled: boolean }) => void;
};

/** Maximum milliseconds that BigQuery waits in one request for a job's end; half of the remaining time, so that there is some left for another request. */
const pollMs = 10_000;

/** Milliseconds that a request may still take when no caller waits for its answer any more. */
const graceMs = 1000;

/**
 * Runs one query as a BigQuery job to its end, reads its rows page by page, and cancels it when the limit ends first. Its id is
 * ours: a request that is repeated because its answer was lost finds the same job, which runs once. A job that BigQuery itself
 * lost or broke is replaced by another.
 * @throws BigQueryFailure; GatewayError `result_too_large`; the limit's reason when it ends first
 */
export async function runJob(deps: JobDeps, request: JobRequest, reading: ResultRequest): Promise<ResultSet> {
  for (;;) {
    try {
      return await runOnce(deps, request, reading);
    } catch (error) {
      deps.limit.signal.throwIfAborted();
      if (!(error instanceof BigQueryFailure) || failureRow(error).remedy !== 'newJob') throw error;
      await deps.retries.pause(error);
      deps.onReplace(error, { mayBeBilled: mayHaveRun(error) });
    }
  }
}

/** Whether a job may have been billed: BigQuery bills no job that it reports as failed, but perhaps one that it does not find. */
function mayHaveRun({ reason }: BigQueryFailure): boolean {
  return reason === 'jobLost';
}

/** Runs one job within a span, which every request about the job passes on to BigQuery. */
function runOnce(deps: JobDeps, request: JobRequest, reading: ResultRequest): Promise<ResultSet> {
  const named: JobReference = { jobId: newJobId(), location: request.location };
  const attributes = {
    'db.system.name': 'gcp.bigquery',
    'db.operation.name': 'SELECT',
    'saved_query.job.id': named.jobId,
  };
  return inSpan('SELECT', { kind: 'client', attributes }, async span => {
    const result = await runNamed(deps, request, { named, reading });
    const { bytesProcessed, bytesBilled, slotMs } = result.receipt;
    span.setAttributes({
      'db.response.returned_rows': result.rowCount,
      'saved_query.job.bytes_processed': bytesProcessed,
      ...(bytesBilled === undefined ? {} : { 'saved_query.job.bytes_billed': bytesBilled }),
      ...(slotMs === undefined ? {} : { 'saved_query.job.slot_ms': slotMs }),
    });
    return result;
  });
}

type NamedJob = { readonly named: JobReference; readonly reading: ResultRequest };

async function runNamed(deps: JobDeps, request: JobRequest, { named, reading }: NamedJob) {
  let job = named;
  try {
    job = await insertJob(deps, request, named);
    const result = await waitForResult(deps, job, reading);
    return { ...result, receipt: await readReceipt(deps, job, result) };
  } catch (error) {
    const hasStarted = job !== named;
    if (deps.limit.signal.aborted || mayStillRun(error, hasStarted)) cancel(deps, job);
    throw error;
  }
}

/** Whether the job may still be running or have unread rows, because only our request failed, or enough rows were read. */
function mayStillRun(error: unknown, hasStarted: boolean): boolean {
  if (error instanceof GatewayError) return true;
  if (!(error instanceof BigQueryFailure)) return false;
  // BigQuery has the same message whether rows of a failed job or of a running one may not be read.
  if (hasStarted && (error.status === 401 || error.status === 403)) return true;
  return saysNothingOfJob.has(error.reason) || failureRow(error).remedy === 'retry';
}

/** Our own reasons for failures of a request, which say nothing about the job itself. */
const saysNothingOfJob: ReadonlySet<string> = new Set(['redirected', 'noReason', 'jobLost']);

/** Remaining milliseconds; at least 1, because for BigQuery 0 means no limit. */
const wholeMs = (limit: Limit) => Math.max(1, Math.ceil(limit.remainingMs()));

/** Starts a job. A repeated request has the same bytes: BigQuery accepts the first that arrives, and refuses the others. */
async function insertJob(deps: JobDeps, request: JobRequest, job: JobReference): Promise<JobReference> {
  const { api, retries, limit } = deps;
  const body = jobBody(request, { ...job, jobTimeoutMs: wholeMs(limit) });
  const answer = await retries.sameRequest<Pick<JobAnswer, 'jobReference'>>(async () => {
    try {
      return await api.insert(body, limit.signal);
    } catch (error) {
      // An earlier attempt of this request has created the job.
      if (error instanceof BigQueryFailure && error.reason === 'duplicate') return { jobReference: job };
      throw error;
    }
  });
  return { jobId: job.jobId, location: answer.jobReference.location ?? job.location };
}

/** Polls until the job is complete: earlier answers have no rows. */
async function waitForResult(deps: JobDeps, job: JobReference, reading: ResultRequest): Promise<Result> {
  const { retries, limit } = deps;
  const ask = askForPages(deps, job);
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    const result = await readResult(ask, retries.sameRequest, reading);
    if (result) return result;
    // BigQuery itself waits; this pause is for servers that answer at once.
    await sleep(pauseMs, undefined, { signal: limit.signal }).catch(() => limit.signal.throwIfAborted());
  }
}

type PageOf = { readonly pageToken: string | undefined; readonly maxResults: number };

/** After this many answers in a row that there is no such job, it counts as lost: a job that has just been started may not be known everywhere yet. */
const maxMissed = 3;

/** Requests pages of one job, and distinguishes a failed job from a failed request. */
function askForPages({ api, limit }: JobDeps, job: JobReference) {
  let hasFailed = false;
  let missed = 0;
  return async (page: PageOf, reading: PageRequest): Promise<Page> => {
    const timeoutMs = Math.min(pollMs, Math.ceil(wholeMs(limit) / 2));
    try {
      const read = await api.results({ job, timeoutMs, ...page }, reading, limit.signal);
      // A failed job would not have answered, so the earlier failure was that of a request.
      hasFailed = false;
      missed = 0;
      return read;
    } catch (error) {
      if (!(error instanceof BigQueryFailure)) throw error;
      const { message, reason, status } = error;
      // A failed job answers with its own failure, such as a missing table.
      if (status === 404 && !/^Not found: (?!Job)/.test(message)) {
        throw new BigQueryFailure(++missed < maxMissed ? 'jobMissed' : 'jobLost', message, {
          status,
          cause: error,
        });
      }
      // After one failure the request may have failed; after two in a row perhaps the job has, so the job is asked.
      const ofJob = hasFailed && endedReasons[reason] ? await api.failureOf(job, limit.signal) : undefined;
      hasFailed = true;
      throw ofJob ?? error;
    }
  };
}

/** Reads what the query cost from its job; an answer does not wait long for its receipt. */
async function readReceipt({ api, limit }: JobDeps, job: JobReference, result: Result): Promise<Receipt> {
  const wait = AbortSignal.any([limit.signal, AbortSignal.timeout(graceMs)]);
  const { statistics } = await api.job(job, wait).catch((): Partial<JobAnswer> => ({}));
  const { totalBytesProcessed, totalBytesBilled, totalSlotMs } = statistics?.query ?? {};
  const slotMs = statistics?.totalSlotMs ?? totalSlotMs;
  return {
    bytesProcessed: totalBytesProcessed ?? statistics?.totalBytesProcessed ?? result.bytesProcessed,
    ...(totalBytesBilled === undefined ? {} : { bytesBilled: totalBytesBilled }),
    ...(slotMs === undefined ? {} : { slotMs }),
    jobId: job.jobId,
  };
}

/** Milliseconds between two attempts to cancel a job. */
const cancelPauseMs = 500;

/**
 * Cancels an abandoned job, in up to three attempts: an aborted `jobs.insert` may still be on its way, and until it arrives the job is not
 * found; an attempt may also be lost, or find this process busy. Failure is acceptable: the job has a time limit of its own.
 */
function cancel({ api, inFlight }: JobDeps, job: JobReference): void {
  const send = () => api.cancel(job, AbortSignal.timeout(graceMs));
  const sendAgain = () => sleep(cancelPauseMs).then(send);
  inFlight.add(send().catch(sendAgain).catch(sendAgain));
}
