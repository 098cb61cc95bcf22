import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Limit } from '../engine/start-limit.ts';
import { orAborted } from '../or-aborted.ts';
import type { Receipt } from '../rows.ts';
import type { Field, JobAnswer, JobReference, ResultsAnswer } from './bigquery-answers.ts';
import type { BigQueryApi } from './bigquery-api.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { failureRow } from './failure-table.ts';
import { type JobRequest, jobBody, newJobId, queryBody } from './job-bodies.ts';
import type { OpenWork } from './open-work.ts';
import type { Retries } from './retries.ts';

export type JobDeps = {
  readonly api: BigQueryApi;
  readonly retries: Retries;
  readonly limit: Limit;
  /** Takes what goes on when nobody waits for the rows any more. */
  readonly openWork: Pick<OpenWork, 'add'>;
};

export type JobResult = {
  readonly fields: readonly Field[];
  /** At most `maxRows`, as BigQuery writes them. */
  readonly rows: readonly unknown[];
  readonly receipt: Receipt;
};

/**
 * Milliseconds that `jobs.query` may wait for rows. It names its job in its answer only: while it waits, nobody can cancel it,
 * and a caller who leaves must be heard within a second.
 */
const quickMs = 500;

/** Milliseconds that BigQuery may wait in one request for a job's end. */
const pollMs = 10_000;

/** Milliseconds that a request may still take when nobody waits for its answer, so that its job can be cancelled. */
const graceMs = 1000;

/**
 * Runs one query as a BigQuery job to its end, reads its rows page by page up to `maxRows`, and cancels it when the limit ends
 * first. A job that BigQuery itself lost or broke is started anew.
 * @throws BigQueryFailure; the limit's reason when it ends first
 */
export async function runJob(deps: JobDeps, request: JobRequest): Promise<JobResult> {
  for (;;) {
    try {
      return await runOnce(deps, request);
    } catch (error) {
      deps.limit.signal.throwIfAborted();
      if (!(error instanceof BigQueryFailure) || failureRow(error).remedy === 'nothing') throw error;
      await deps.retries.pause(error);
    }
  }
}

async function runOnce(deps: JobDeps, request: JobRequest): Promise<JobResult> {
  const started =
    request.priority === 'BATCH' ? await insertJob(deps, request) : await startQuickly(deps, request);
  const { job } = started;
  try {
    const first = started.answer?.jobComplete ? started.answer : await waitForEnd(deps, job, request.maxRows);
    const [rows, receipt] = await Promise.all([
      readPages(deps, job, first, request.maxRows),
      readReceipt(deps, job, first),
    ]);
    return { fields: first.schema?.fields ?? [], rows, receipt };
  } catch (error) {
    if (deps.limit.signal.aborted || mayStillRun(error)) cancel(deps, job);
    throw error;
  }
}

/** Whether it was the asking that failed: of the job that says nothing. */
function mayStillRun(error: unknown): boolean {
  return error instanceof BigQueryFailure && failureRow(error).remedy === 'again';
}

/** Milliseconds that are left: at least one, for BigQuery takes 0 for no limit. */
const wholeMs = (limit: Limit) => Math.max(1, Math.ceil(limit.remainingMs()));

type Started = { readonly job: JobReference; readonly answer?: ResultsAnswer };

/** The quick path: one round trip for a query that ends soon. A repeated request with the same id finds the same job. */
async function startQuickly(deps: JobDeps, request: JobRequest): Promise<Started> {
  const { api, retries, limit } = deps;
  const requestId = randomUUID();
  const detached = new AbortController();
  const answer = await retries.persist(async () => {
    const jobTimeoutMs = wholeMs(limit);
    const waitMs = Math.min(quickMs, jobTimeoutMs);
    const sent = api.query(queryBody(request, { requestId, waitMs, jobTimeoutMs }), detached.signal);
    try {
      return await orAborted(sent, limit.signal);
    } catch (error) {
      if (limit.signal.aborted) cancelWhenNamed(deps, sent, detached);
      throw error;
    }
  });
  if (answer.jobReference) return { job: answer.jobReference, answer };
  throw new BigQueryFailure('brokenAnswer', 'jobs.query did not name its job');
}

/** Hears out a request that nobody waits for any more: its answer names the job that is to be cancelled. */
function cancelWhenNamed(deps: JobDeps, sent: Promise<ResultsAnswer>, detached: AbortController): void {
  const timer = setTimeout(() => detached.abort(), graceMs);
  const heard = sent
    .then(({ jobReference, jobComplete }) => {
      if (jobReference && !jobComplete) cancel(deps, jobReference);
    })
    // Where it failed, or did not answer in time, BigQuery ends the job by its own time limit.
    .finally(() => clearTimeout(timer));
  deps.openWork.add(heard);
}

/** A job with a name of ours; a repeated request that finds the name taken has found its own job. */
async function insertJob(deps: JobDeps, request: JobRequest): Promise<Started> {
  const { api, retries, limit } = deps;
  const jobId = newJobId();
  const answer = await retries.persist(async () => {
    const body = jobBody(request, { jobId, jobTimeoutMs: wholeMs(limit) });
    try {
      return await api.insert(body, limit.signal);
    } catch (error) {
      if (limit.signal.aborted) cancel(deps, { jobId });
      if (error instanceof BigQueryFailure && error.reason === 'duplicate') return {} satisfies JobAnswer;
      throw error;
    }
  });
  return { job: { ...answer.jobReference, jobId } };
}

/** Asks for results until the job is complete: an answer before that has no rows, and means nothing. */
async function waitForEnd(deps: JobDeps, job: JobReference, maxRows: number): Promise<ResultsAnswer> {
  const { retries, limit } = deps;
  let hasFailed = false;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    const answer = await retries.persist(async () => {
      try {
        return await readResults(deps, job, maxRows);
      } catch (error) {
        const isTold = error instanceof BigQueryFailure && jobReasons.has(error.reason);
        // Told once, it may have been the request that failed; told twice, it is the job, and asking on is in vain.
        if (isTold && hasFailed)
          throw new BigQueryFailure('jobBackendError', error.message, { cause: error });
        hasFailed ||= isTold;
        throw error;
      }
    });
    if (answer.jobComplete) return answer;
    // BigQuery waits itself; this is for a server that does not.
    await sleep(pauseMs, undefined, { signal: limit.signal }).catch(() => limit.signal.throwIfAborted());
  }
}

/** Reasons for which a request fails as well as a job. */
const jobReasons: ReadonlySet<string> = new Set(['backendError', 'internalError']);

async function readResults(
  { api, limit }: JobDeps,
  job: JobReference,
  maxResults: number,
  pageToken?: string,
): Promise<ResultsAnswer> {
  const timeoutMs = Math.min(pollMs, wholeMs(limit));
  try {
    return await api.results(
      { job, maxResults, timeoutMs, ...(pageToken ? { pageToken } : {}) },
      limit.signal,
    );
  } catch (error) {
    if (!(error instanceof BigQueryFailure) || error.status !== 404) throw error;
    // A job that has failed answers with its own failure, be it a table that is gone.
    if (/^Not found: (?!Job)/.test(error.message)) throw error;
    throw new BigQueryFailure('jobLost', error.message, { status: 404, cause: error });
  }
}

async function readPages(
  deps: JobDeps,
  job: JobReference,
  first: ResultsAnswer,
  maxRows: number,
): Promise<readonly unknown[]> {
  const rows = [...first.rows];
  let { pageToken } = first;
  while (pageToken && rows.length < maxRows) {
    const token = pageToken;
    const page = await deps.retries.persist(() => readResults(deps, job, maxRows - rows.length, token));
    rows.push(...page.rows);
    pageToken = page.pageToken;
  }
  return rows.slice(0, maxRows);
}

/** What the query cost: the answer says, or else the job; an answer is not held back for want of a receipt. */
async function readReceipt(
  { api, limit }: JobDeps,
  job: JobReference,
  answer: ResultsAnswer,
): Promise<Receipt> {
  const { totalBytesProcessed: bytesProcessed = 0, totalBytesBilled, totalSlotMs } = answer;
  if (totalBytesBilled !== undefined && totalSlotMs !== undefined) {
    return { bytesProcessed, bytesBilled: totalBytesBilled, slotMs: totalSlotMs, jobId: job.jobId };
  }
  const wait = AbortSignal.any([limit.signal, AbortSignal.timeout(graceMs)]);
  const { statistics } = await api.job(job, wait).catch((): JobAnswer => ({}));
  const bytesBilled = statistics?.query?.totalBytesBilled;
  const slotMs = statistics?.totalSlotMs ?? statistics?.query?.totalSlotMs;
  return {
    bytesProcessed:
      statistics?.query?.totalBytesProcessed ?? statistics?.totalBytesProcessed ?? bytesProcessed,
    ...(bytesBilled === undefined ? {} : { bytesBilled }),
    ...(slotMs === undefined ? {} : { slotMs }),
    jobId: job.jobId,
  };
}

/** Tells BigQuery, twice at most, that nobody wants the job any more. No caller waits for that: the job has a time limit of its own. */
function cancel({ api, openWork }: JobDeps, job: JobReference): void {
  const send = () => api.cancel(job, AbortSignal.timeout(graceMs));
  openWork.add(send().catch(send));
}
