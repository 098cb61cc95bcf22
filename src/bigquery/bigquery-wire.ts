import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { BigQuery } from '@google-cloud/bigquery';
import { PassThroughClient } from 'google-auth-library';
import { z } from 'zod';
import { orAborted } from '../or-aborted.ts';
import { errorAnswer, type Problem } from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { fromEmulatorWords } from './emulator-words.ts';

export type WireOptions = {
  /** The project that queries run in, and that pays. */
  readonly project: string;
  /** Another server that speaks BigQuery's REST; it is sent no credentials. Default: Google's. */
  readonly endpoint?: string;
};

/** One request. */
export type Call = {
  readonly method: 'GET' | 'POST';
  /** Behind the project. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  readonly signal: AbortSignal;
};

/** Signed requests to one project of BigQuery, and what is wrong with their answers. */
export type Wire = {
  /** @throws BigQueryFailure, or the signal's reason when it aborts */
  call<Answer>(shape: z.ZodType<Answer>, request: Call): Promise<Answer>;
  /** @throws Error that says how to give credentials, where none are found */
  checkCredentials(signal: AbortSignal): Promise<void>;
  /** Ends all connections. */
  close(): void;
};

/**
 * Opens the wire to BigQuery. Google's client finds credentials and signs; the requests are ours, because the client's own can't
 * be aborted, and read 64-bit integers as doubles.
 */
export function openWire({ project, endpoint }: WireOptions): Wire {
  const client = new BigQuery({
    projectId: project,
    autoRetry: false,
    ...(endpoint ? { authClient: new PassThroughClient() } : {}),
  });
  // Not the client's own: a variable of the environment may name another server there, and credentials would go to it.
  const server = endpoint?.replace(/\/+$/, '') ?? 'https://bigquery.googleapis.com';
  const origin = `${server}/bigquery/v2/projects/${encodeURIComponent(project)}`;
  const agent = new (origin.startsWith('https:') ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    proxyEnv: process.env,
  });

  async function send({ method, path, query = {}, body, signal }: Call): Promise<Answered> {
    signal.throwIfAborted();
    const params = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
    const answer = client.authClient.request<string>({
      url: `${origin}/${path}`,
      method,
      params,
      signal,
      agent,
      responseType: 'text',
      retry: false,
      // It blanks whole refusals for a word like "secret" in them.
      errorRedactor: false,
      ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
    });
    try {
      // Fetching credentials knows no signal.
      const { status, data } = await orAborted(answer, signal);
      return { status, text: data };
    } catch (error) {
      signal.throwIfAborted();
      return answeredAfterAll(error);
    }
  }

  return {
    async call(shape, request) {
      const { status, text } = await send(request);
      const answer = parseJson(text);
      if (status >= 400) throw refusal(status, answer, text);
      const read = shape.safeParse(answer);
      if (read.success) return read.data;
      throw new BigQueryFailure('brokenAnswer', `${request.path}: ${z.prettifyError(read.error)}`, {
        status,
      });
    },
    async checkCredentials(signal) {
      const token = client.authClient.getAccessToken();
      await orAborted(token, signal).catch((error: Error) => {
        throw new Error(`BigQuery has no credentials: ${error.message}. ${howToGiveCredentials}`);
      });
    },
    close: () => agent.destroy(),
  };
}

const howToGiveCredentials =
  'Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account';

type Answered = { readonly status: number; readonly text: string };

/** The client throws refusals too; what came without a status never came whole. */
function answeredAfterAll(error: unknown): Answered {
  const { response, message } = error as { response?: { status: number; data: unknown }; message?: string }; // GaxiosError, or any Error
  if (response && response.status >= 400) {
    const { data, status } = response;
    return { status, text: typeof data === 'string' ? data : JSON.stringify(data) };
  }
  // The client's error holds the request with its credentials: no cause for a log.
  throw new BigQueryFailure('noAnswer', message ?? 'No answer');
}

function refusal(status: number, answer: unknown, text: string): BigQueryFailure {
  const read = errorAnswer.safeParse(answer);
  if (!read.success)
    return new BigQueryFailure('noReason', `HTTP ${status}: ${text.slice(0, 200)}`, { status });
  const { message: whole, status: word, errors } = read.data.error;
  const [first = { reason: word, message: '' } satisfies Problem] = errors;
  const { reason, message } = fromEmulatorWords({ ...first, message: whole || first.message });
  return new BigQueryFailure(reason, message || `HTTP ${status}`, { status });
}

/** Undefined for what is no JSON; no shape of an answer allows that. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
