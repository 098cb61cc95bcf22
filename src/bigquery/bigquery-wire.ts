import { BigQuery } from '@google-cloud/bigquery';
import { PassThroughClient } from 'google-auth-library';
import { z } from 'zod';
import { errorAnswer, type Problem } from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { fromEmulatorWords } from './emulator-words.ts';
import { createGoogleCredentials } from './google-credentials.ts';
import { createSender, type Sending } from './send-request.ts';

export type WireOptions = {
  /** The project that queries run in, and that pays. */
  readonly project: string;
  /** Another server that speaks BigQuery's REST; it is sent no credentials. Default: Google's. */
  readonly endpoint?: string;
};

/** Signed requests to one project of BigQuery, and what is wrong with their answers. */
export type Wire = {
  /** @throws BigQueryFailure, or the signal's reason when it aborts */
  call<Answer>(shape: z.ZodType<Answer>, request: Sending): Promise<Answer>;
  /** Ends all connections. */
  close(): void;
};

/**
 * Opens the wire to BigQuery. Google's client finds credentials; the requests are ours, because the client's own can't
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
  const { send, close } = createSender(origin, createGoogleCredentials(client.authClient));

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
    close,
  };
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
