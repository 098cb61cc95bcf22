import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { PassThroughClient } from 'google-auth-library';
import { BigQueryFailure } from './bigquery-failure.ts';
import type { GoogleCredentials } from './google-credentials.ts';

/** One request, before it is authorised. */
export type Sending = {
  readonly method: 'GET' | 'POST';
  /** After the project: `queries/job_1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  readonly signal: AbortSignal;
};

/** What came back, whatever its status. */
export type Answered = { readonly status: number; readonly text: string };

export type Sender = {
  /** @throws BigQueryFailure where no answer came whole, or there are no credentials; the signal's reason when it aborts */
  send(sending: Sending): Promise<Answered>;
  /** Ends all connections. */
  close(): void;
};

/**
 * Makes what sends requests: each once, unless its token was refused, then once more with another.
 * @param origin URL of the project
 */
export function createSender(origin: string, credentials: GoogleCredentials): Sender {
  const transport = new PassThroughClient();
  const agent = new (origin.startsWith('https:') ? HttpsAgent : HttpAgent)({
    keepAlive: true,
    proxyEnv: process.env,
  });

  async function sendOnce(sending: Sending, authorisation: Headers): Promise<Answered> {
    const { method, path, query = {}, body, signal } = sending;
    signal.throwIfAborted();
    const headers = new Headers(authorisation);
    if (body) headers.set('content-type', 'application/json');
    try {
      const { status, data } = await transport.request<string>({
        url: `${origin}/${path}`,
        method,
        params: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
        headers,
        signal,
        agent,
        responseType: 'text',
        retry: false,
        // It blanks whole refusals for a word like "secret" in them.
        errorRedactor: false,
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      return { status, text: data };
    } catch (error) {
      signal.throwIfAborted();
      return answeredAfterAll(error);
    }
  }

  return {
    async send(sending) {
      const headers = await credentials.headers(sending.signal);
      const answered = await sendOnce(sending, headers);
      if (answered.status !== 401 || !(await credentials.refuse(headers))) return answered;
      // The token is over by the server's clock, or was taken back: another one may be good.
      return sendOnce(sending, await credentials.headers(sending.signal));
    },
    close: () => agent.destroy(),
  };
}

/** The library throws refusals too; what came without a status never came whole. */
function answeredAfterAll(error: unknown): Answered {
  const { response, message } = error as { response?: { status: number; data: unknown }; message?: string }; // GaxiosError, or any Error
  if (response && response.status >= 400) {
    const { data, status } = response;
    return { status, text: typeof data === 'string' ? data : JSON.stringify(data) };
  }
  // The library's error holds the request with its credentials: no cause for a log.
  throw new BigQueryFailure('noAnswer', message ?? 'No answer');
}
