import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createByteShares } from '../base/byte-shares.ts';
import { GatewayError } from '../base/errors.ts';
import { createOwnTurns } from '../base/turns.ts';
import { readCredentials } from './caller-headers.ts';
import { decodeBody, readBody } from './read-body.ts';

/** One HTTP request on its way to a handler. */
export type RequestContext = {
  readonly request: IncomingMessage;
  /** The caller's own `X-Request-Id` if it is a plain one, else a new one. */
  readonly requestId: string;
  /** The path as received, without query string and without a trailing slash. */
  readonly path: string;
  /** The query string as received, without the `?`; parameters are read by `readQuery`. */
  readonly queryText: string;
  /** Aborted with a `cancelled` GatewayError when the caller goes away. */
  readonly signal: AbortSignal;
  readonly facts: RequestFacts;
  /**
   * Reads the whole request body as UTF-8 text.
   * @throws GatewayError `body_too_large`, `invalid_body`, `cancelled`; `too_many_requests`, `overloaded` if too much is being read
   */
  readBody(maxBytes: number): Promise<string>;
  /** The query string, to read its parameters: a short one at once, a long one when its caller has a turn of the event loop. */
  readQuery(): string | Promise<string>;
};

/** Facts for the log line of a request besides its HTTP message; filled in while it is answered. */
export type RequestFacts = {
  /** Names of the saved queries that it read, comma-separated. */
  endpoint?: string | undefined;
  /** Cache states of their rows, comma-separated. */
  cache?: string | undefined;
  tokenId?: string | undefined;
  rows?: number | undefined;
  /** The id of the trace that it belongs to. */
  traceId?: string | undefined;
  /** The code of the error with which it was answered; drop-in mode answers several of them alike. */
  code?: string | undefined;
};

type ContextOptions = {
  readonly requestId: string;
  readonly facts: RequestFacts;
  /** The body, if it was read already. */
  readonly bodyBytes: Buffer | undefined;
  /** Maximum milliseconds to wait for each next part of the body. */
  readonly receiveTimeoutMs: number;
  /** The abort controllers of the requests in flight. */
  readonly aborts: Set<AbortController>;
};

/** Reads what every route needs of a request; its signal aborts when the caller goes away or the gateway stops. */
export function openRequestContext(
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, facts, bodyBytes, receiveTimeoutMs: timeoutMs, aborts }: ContextOptions,
): RequestContext {
  const caller = new AbortController();
  aborts.add(caller);
  response.once('close', () => {
    aborts.delete(caller);
    if (!response.writableFinished) caller.abort(new GatewayError('cancelled', 'The caller went away'));
  });
  return {
    request,
    requestId,
    path: pathOf(request),
    queryText: splitTarget(request)[1],
    signal: caller.signal,
    facts,
    async readBody(maxBytes) {
      if (bodyBytes) return inTurn(request, decodeBody(bodyBytes));
      const length = Math.min(Number(request.headers['content-length'] ?? maxBytes), maxBytes);
      const read = () => readBody(request, { maxBytes, timeoutMs }).then(text => inTurn(request, text));
      if (length <= maxUncountedBytes) return read();
      const release = shares.take(callerOf(request), length);
      return read().finally(release);
    },
    readQuery() {
      const [, text] = splitTarget(request);
      return text.length > maxSharedLength ? inTurn(request, text) : text;
    },
  };
}

/** Bodies of up to this many bytes are always read, however many others wait. */
const maxUncountedBytes = 32 * 1024;

/**
 * Maximum characters of a body or a query string that shares a turn of the event loop with others. A megabyte of JSON takes up to 50 ms,
 * and 64 KiB of SQL 15 ms, until their cache key is known: hundreds of them would keep all callers waiting for seconds.
 */
const maxSharedLength = 2048;

const ownTurn = createOwnTurns();

async function inTurn(request: IncomingMessage, text: string): Promise<string> {
  if (text.length > maxSharedLength) await ownTurn(callerOf(request));
  return text;
}

/** Bodies that are arriving, or wait for their turn. */
const shares = createByteShares('read');

/** The sender of a request, for fair queuing: the presented token, which is accepted by the time the body is read. */
const callerOf = ({ headers }: IncomingMessage) => readCredentials(headers) ?? '';

/** The caller's own `X-Request-Id` if it is a plain one, else a new one. */
export function readRequestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Whether the request announces a body; `Content-Length: 0` means none, whatever the Content-Type. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The path as received, without a trailing slash. */
export function pathOf(request: IncomingMessage): string {
  const [path] = splitTarget(request);
  return path.length > 1 ? path.replace(/\/$/, '') : '/';
}

/** Path and query string; a target may be a whole URL (RFC 9112, section 3.2.2). */
function splitTarget({ url = '' }: IncomingMessage): [string, string] {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const at = target.indexOf('?');
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
}

/** The facts about one requested saved query; `cache` and `rows` once it is answered. */
type EndpointFacts = {
  readonly endpoint: string;
  readonly tokenId: string;
  readonly cache?: string;
  readonly rows?: number;
};

/** Adds the facts about one saved query; a GraphQL operation may read several. */
export function addFacts(facts: RequestFacts, { endpoint, tokenId, cache, rows }: EndpointFacts): void {
  facts.endpoint = withName(facts.endpoint, endpoint);
  facts.tokenId = tokenId;
  if (cache !== undefined) facts.cache = withName(facts.cache, cache);
  if (rows !== undefined) facts.rows = (facts.rows ?? 0) + rows;
}

function withName(names: string | undefined, name: string): string {
  if (names === undefined || names === name) return name;
  return names.split(',').includes(name) ? names : `${names},${name}`;
}
