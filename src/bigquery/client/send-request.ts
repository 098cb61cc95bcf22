import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip, gunzipSync } from 'node:zlib';
import { GatewayError } from '../../base/errors.ts';
import { addTraceHeaders } from '../../base/spans.ts';
import { BigQueryFailure } from '../answers/bigquery-failure.ts';
import type { GoogleCredentials } from './google-credentials.ts';

/** A request, before it is authorised. */
export type Sending = {
  readonly method: 'GET' | 'POST';
  /** Default: the project that pays. */
  readonly project?: string;
  /** The path after the project: `queries/job_1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  /** Milliseconds for which the server is asked to wait before it answers. Default 0. */
  readonly waitMs?: number;
  readonly signal: AbortSignal;
};

export type SenderOptions = {
  /** Milliseconds without a byte after which a connection counts as dead; what the server is asked to wait comes on top. Default 10 s. */
  readonly silentMs?: number | undefined;
};

/** An answer, whatever its status. */
export type Answered = {
  readonly status: number;
  /** Seconds of `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * Passes the decompressed body to a reader as it arrives; the part that the reader leaves is discarded.
   * @throws BigQueryFailure `noAnswer` if the body is cut off, `brokenAnswer` if it can't be decompressed; the signal's
   * reason when it aborts; errors of the reader
   */
  read<Result>(reader: (body: AsyncIterable<Buffer>) => Promise<Result>): Promise<Result>;
};

export type Sender = {
  /**
   * @throws BigQueryFailure if no answer came or the connection fell silent, or there are no credentials; the signal's reason when it
   * aborts
   */
  send(sending: Sending): Promise<Answered>;
  /** Ends all connections. */
  close(): void;
};

/** Google compresses answers only for clients that ask for it in both headers. Source: BigQuery, "Performance tips: compression". */
const packing = { 'accept-encoding': 'gzip', 'user-agent': 'saved-query-gateway (gzip)' };

/**
 * Makes a sender of requests. Each is sent once, and once more if its token was refused (with another one) or if the server had
 * closed the idle connection. Redirects are not followed: BigQuery has none, and credentials must not leave it.
 * @param originOf URL of the project, asked once for each request
 */
export function createSender(
  originOf: (project?: string) => Promise<string>,
  credentials: GoogleCredentials,
  { silentMs = 10_000 }: SenderOptions = {},
): Sender {
  const options = { keepAlive: true, proxyEnv: process.env };
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };

  function sendOnce(url: URL, sending: Sending, authorisation: Headers): Promise<Answered> {
    const { method, body, waitMs = 0, signal } = sending;
    const isPlain = url.protocol === 'http:';
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string> = {
      ...Object.fromEntries(authorisation),
      ...packing,
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    };
    addTraceHeaders(headers);
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const agent = isPlain ? agents['http:'] : agents['https:'];
    const request = (isPlain ? httpRequest : httpsRequest)(url, { method, headers, agent, signal });
    let answer: IncomingMessage | undefined;
    request.on('response', response => {
      answer = response;
      resolve(answerOf(response, signal));
    });
    // Without a deadline of its own a dead connection would take the query's.
    request.setTimeout(waitMs + silentMs, () => {
      // Bytes wait to be read: it is our own reader that is slow.
      if (answer && answer.readableLength > 0) return;
      request.destroy(new Error(`No byte for ${waitMs + silentMs} ms`));
      // Idle connections take the same route, and may be dead too.
      for (const idle of Object.values(agent.freeSockets).flat()) idle?.destroy();
    });
    request.on('error', error => {
      if (signal.aborted) return reject(signal.reason);
      // The server closed the idle connection while the request was under way.
      if (request.reusedSocket && codeOf(error) === 'ECONNRESET') {
        return resolve(sendOnce(url, sending, authorisation));
      }
      reject(new BigQueryFailure('noAnswer', error.message));
    });
    request.end(text);
    return promise;
  }

  return {
    async send(sending) {
      const { signal, project, path, query = {} } = sending;
      signal.throwIfAborted();
      const authorisation = await credentials.headers(signal);
      const url = new URL(`${await originOf(project)}/${path}`);
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) url.searchParams.set(name, String(value));
      }
      const answered = await sendOnce(url, sending, authorisation);
      if (answered.status !== 401 || !(await credentials.refuse(authorisation))) return answered;
      // The token has expired by the server's clock, or was revoked: another one may be accepted.
      await answered.read(skip);
      return sendOnce(url, sending, await credentials.headers(signal));
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function answerOf(response: IncomingMessage, signal: AbortSignal): Answered {
  return {
    status: response.statusCode ?? 0,
    retryAfterSeconds: secondsOf(response.headers['retry-after']),
    async read(reader) {
      try {
        return await reader(unpack(response));
      } catch (error) {
        // A body that is not read to its end would keep its connection.
        response.destroy();
        signal.throwIfAborted();
        throw failureOf(error);
      }
    },
  };
}

function unpack(response: IncomingMessage): AsyncIterable<Buffer> {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return response;
  if (encoding === 'gzip') return gunzip(response);
  throw new BigQueryFailure('brokenAnswer', `The answer has the unknown encoding ${encoding}`);
}

/** Maximum bytes, before and after, of a body that is decompressed inline: about a millisecond. */
const small = { packedBytes: 16 * 1024, unpackedBytes: 256 * 1024 };

/**
 * Decompresses a body. A small one is decompressed inline: the thread pool would take two more turns of the event loop, and may be busy
 * with large bodies.
 */
async function* gunzip(response: IncomingMessage): AsyncGenerator<Buffer> {
  const packed: Buffer[] = [];
  let packedBytes = 0;
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    packed.push(chunk);
    packedBytes += chunk.length;
    if (packedBytes > small.packedBytes) break;
  }
  if (packedBytes === 0) return;
  const unpacked = packedBytes > small.packedBytes ? undefined : gunzipSmall(Buffer.concat(packed));
  if (unpacked) return yield unpacked;
  async function* all() {
    yield* packed;
    yield* response;
  }
  yield* pipeline(all, createGunzip(), () => undefined);
}

/** Decompresses a small body; undefined if the result is large. */
function gunzipSmall(packed: Buffer): Buffer | undefined {
  try {
    return gunzipSync(packed, { maxOutputLength: small.unpackedBytes });
  } catch (error) {
    if (error instanceof Error && codeOf(error) === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw error;
  }
}

async function skip(body: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of body);
}

/** The failure for a body that is cut off or can't be decompressed; errors of its reader stay as they are. */
function failureOf(error: unknown): unknown {
  const code = error instanceof Error ? codeOf(error) : undefined;
  if (code === undefined) return error;
  const { message } = error as Error; // it has a code
  return new BigQueryFailure(code.startsWith('Z_') ? 'brokenAnswer' : 'noAnswer', message);
}

/** Node's code for a failure of a socket or stream: `ECONNRESET`, `Z_DATA_ERROR`. */
function codeOf(error: Error): string | undefined {
  return !(error instanceof GatewayError) && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

/** `Retry-After` as seconds; a date, which BigQuery never sends, counts as absent. */
function secondsOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
}
