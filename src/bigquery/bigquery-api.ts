import { BigQuery } from '@google-cloud/bigquery';
import { PassThroughClient } from 'google-auth-library';
import { z } from 'zod';
import {
  errorAnswer,
  type JobAnswer,
  type JobReference,
  jobAnswer,
  type ResultsAnswer,
  resultsAnswer,
} from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { createGoogleCredentials } from './google-credentials.ts';
import { createSender, type Sending } from './send-request.ts';

export type BigQueryApiOptions = {
  /** The project that queries run in, and that pays. */
  readonly project: string;
  /** Region of the jobs, `EU`. Default: BigQuery finds it by the tables. */
  readonly location?: string;
  /** Another server that speaks BigQuery's REST; it is sent no credentials. Default: Google's. */
  readonly endpoint?: string;
};

export type ResultsRequest = {
  readonly job: JobReference;
  readonly pageToken?: string;
  readonly maxResults: number;
  /** Milliseconds that BigQuery may wait for the job's end. */
  readonly timeoutMs: number;
};

/** A job before it is sent. */
export type JobBody = {
  readonly jobReference: {
    readonly jobId: string;
    /** Default: the region of the API; undefined: BigQuery finds it. */
    readonly location?: string | undefined;
  };
  readonly configuration: object;
};

/**
 * BigQuery's REST calls, each of them one request: nothing is tried again here.
 * All throw BigQueryFailure, or the signal's reason when it aborts.
 */
export type BigQueryApi = {
  /** `jobs.query`. */
  query(body: object, signal: AbortSignal): Promise<ResultsAnswer>;
  /** `jobs.insert`; a job that has failed already throws as a refusal does. */
  insert(body: JobBody, signal: AbortSignal): Promise<JobAnswer>;
  /** `jobs.getQueryResults`. */
  results(request: ResultsRequest, signal: AbortSignal): Promise<ResultsAnswer>;
  /** `jobs.get`. */
  job(job: JobReference, signal: AbortSignal): Promise<JobAnswer>;
  /** `jobs.cancel`. */
  cancel(job: JobReference, signal: AbortSignal): Promise<void>;
  /** Ends all connections. */
  close(): void;
};

/**
 * Makes the REST calls of one project. Google's client finds credentials; the requests are ours, because the client's own can't
 * be aborted, and read 64-bit integers as doubles.
 */
export function createBigQueryApi({ project, location, endpoint }: BigQueryApiOptions): BigQueryApi {
  const client = new BigQuery({
    projectId: project,
    autoRetry: false,
    ...(endpoint ? { apiEndpoint: endpoint, authClient: new PassThroughClient() } : {}),
  });
  const credentials = createGoogleCredentials(client.authClient);
  const origin = `${client.baseUrl}/projects/${encodeURIComponent(project)}`;
  const sender = createSender(origin, credentials);
  const inRegion = (job: JobReference) => ({ location: job.location ?? location });
  const pathOf = (room: string, { jobId }: JobReference) => `${room}/${encodeURIComponent(jobId)}`;

  async function call<Answer>(shape: z.ZodType<Answer>, request: Sending): Promise<Answer> {
    const { status, text } = await sender.send(request);
    const answer = parseJson(text);
    if (status >= 400) throw refusal(status, answer, text);
    const read = shape.safeParse(answer);
    if (read.success) return read.data;
    throw new BigQueryFailure('brokenAnswer', `${request.path}: ${z.prettifyError(read.error)}`, { status });
  }

  return {
    query: (body, signal) =>
      call(resultsAnswer, { method: 'POST', path: 'queries', body: { location, ...body }, signal }),
    async insert({ jobReference, ...body }, signal) {
      const named = { jobReference: { projectId: project, location, ...jobReference }, ...body };
      const answer = await call(jobAnswer, { method: 'POST', path: 'jobs', body: named, signal });
      const failure = answer.status?.errorResult;
      if (failure) throw new BigQueryFailure(failure.reason, failure.message);
      return answer;
    },
    results: ({ job, ...page }, signal) => {
      const query = { ...inRegion(job), ...page, 'formatOptions.useInt64Timestamp': 'true' };
      return call(resultsAnswer, { method: 'GET', path: pathOf('queries', job), query, signal });
    },
    job: (job, signal) =>
      call(jobAnswer, { method: 'GET', path: pathOf('jobs', job), query: inRegion(job), signal }),
    async cancel(job, signal) {
      const path = `${pathOf('jobs', job)}/cancel`;
      await call(z.unknown(), { method: 'POST', path, query: inRegion(job), signal });
    },
    close: sender.close,
  };
}

function refusal(status: number, answer: unknown, text: string): BigQueryFailure {
  const read = errorAnswer.safeParse(answer);
  if (!read.success)
    return new BigQueryFailure('noReason', `HTTP ${status}: ${text.slice(0, 200)}`, { status });
  const { message, errors } = read.data.error;
  return new BigQueryFailure(
    errors[0]?.reason ?? 'noReason',
    message || errors[0]?.message || `HTTP ${status}`,
    {
      status,
    },
  );
}

/** Undefined for what is no JSON; no shape of an answer allows that. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
