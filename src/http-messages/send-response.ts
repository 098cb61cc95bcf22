import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import { toGatewayError } from '../base/errors.ts';
import { addCorsHeaders, type CorsPolicy } from './cors.ts';
import type { HttpEvent } from './http-events.ts';
import type { RequestFacts } from './request-context.ts';
import { pathOf } from './request-context.ts';
import { recordStatus } from './request-span.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** A handler's response. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  /** Empty if the body comes in parts. */
  readonly body: Buffer;
  /** A body that is sent while it is made. */
  readonly parts?: BodyParts | undefined;
  /** Answers later identical requests; absent if each request must be handled again. */
  readonly repeat?: Repeat | undefined;
};

/** Parts of a body that are made on demand. */
export type BodyParts = {
  /** Its `return` is called if its end is not reached. */
  readonly each: AsyncIterableIterator<Buffer>;
  /** Bytes of memory of the rows that the parts are made of. */
  readonly heldBytes: number;
};

/** How to repeat a 200, or a 304 in its place, as long as its rows are the same. */
export type Repeat = {
  /** Bytes of memory that it holds. */
  readonly bytes: number;
  /** The facts for the log line of each such request. */
  readonly facts: Readonly<RequestFacts>;
  /**
   * The response as it would be now, without the headers of all routes; undefined if the request must be handled.
   * @param confirmedSinceMs if the store has confirmed the rows, when it was asked, as `performance.now()`; absent: the rows must be those in memory
   */
  again(requestId: string, confirmedSinceMs?: number): RepeatedResponse | undefined;
  /** Asks the store whether the rows are still the same. */
  confirm(): Promise<boolean>;
};

export type RepeatedResponse = {
  /** The same object as long as the headers are the same. */
  readonly headers: Readonly<OutgoingHttpHeaders>;
  /** `Server-Timing`, which differs from response to response. */
  readonly timing?: string;
  /** The start of a long body, or all of it. */
  readonly start?: Buffer | undefined;
  /** The bytes of the body, or the rest after `start`, as latin1. */
  readonly text: string;
};

export type SendDeps = {
  readonly cors: CorsPolicy;
  readonly unread: UnreadAnswers;
  readonly emit: (event: HttpEvent) => void;
};

/** A request and its response, with what is known before it is handled. */
export type Incoming = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When it arrived, as `performance.now()`. */
  readonly startedMs: number;
  /** The id of the trace that it belongs to, if known. */
  readonly traceId: string | undefined;
  /** Present if an SDK records spans. */
  readonly span?: Span | undefined;
};

type Sending = Incoming & {
  readonly facts: Readonly<RequestFacts>;
  /** Whether the connection ends after this response. */
  readonly mustClose: boolean;
};

/** Sends a response. */
export function sendResponse(
  deps: SendDeps,
  sending: Sending,
  { status, headers, body, parts }: HttpResponse,
): void {
  const { request, response, requestId, facts, mustClose } = sending;
  headers['x-request-id'] = requestId;
  // A 304 must not state the length of a body (RFC 9110, section 8.6); that of a body in parts is not known yet.
  if (status !== 204 && status !== 304 && !parts) headers['content-length'] = body.length;
  if (mustClose) headers.connection = 'close';
  addCommonHeaders(deps, request.headers.origin, headers);
  response.writeHead(status, headers);
  if (parts) return void sendParts(deps, sending, status, parts);
  const caller = callerOf(status, facts);
  // As a latin1 string a short body is sent with the headers, in one system call.
  if (body.length <= maxJoinedBytes || request.method === 'HEAD') {
    response.end(body.toString('latin1', 0, maxJoinedBytes), 'latin1');
    deps.unread.watch(response, caller);
  } else deps.unread.write(response, body, caller);
  const { method } = request;
  reportAnswered(deps, sending, { method, path: pathOf(request), status, bytes: body.length, facts });
}

/** The caller of a response; none for a refused request, which only claims a token. */
const callerOf = (status: number, { tokenId = '' }: RequestFacts) => (status < 400 ? tokenId : '');

/** Sends a body while it is made. If a part can't be made, the connection ends before the body does. */
async function sendParts(
  deps: SendDeps,
  sending: Sending,
  status: number,
  { each, heldBytes }: BodyParts,
): Promise<void> {
  const { request, response, requestId, facts } = sending;
  let bytes = 0;
  try {
    bytes = await deps.unread.writeParts(response, each, heldBytes, callerOf(status, facts));
  } catch (cause) {
    deps.emit({ type: 'http.connection_ended', reason: 'unwritten' });
    if (toGatewayError(cause).code === 'internal') deps.emit({ type: 'http.bug', requestId, cause });
  }
  reportAnswered(deps, sending, { method: request.method, path: pathOf(request), status, bytes, facts });
}

/**
 * Longer bodies are sent as buffers. With its head, a text of this length fits into the 16 KiB that Node's wrapper of libuv has on its
 * stack; a longer one is copied to the heap before it is written.
 */
export const maxJoinedBytes = 15 * 1024;

/** Adds the headers of all responses, whatever their route. */
export function addCommonHeaders(
  deps: Pick<SendDeps, 'cors'>,
  origin: string | undefined,
  headers: OutgoingHttpHeaders,
): void {
  headers['x-content-type-options'] = 'nosniff';
  addCorsHeaders(deps.cors, origin, headers);
}

/** The facts about a response for its log line and metrics. */
export type Answered = {
  readonly method: string | undefined;
  /** The request's path, without query string. */
  readonly path: string;
  readonly status: number;
  /** Bytes of the body. */
  readonly bytes: number;
  readonly facts: Readonly<RequestFacts>;
};

/** Reports that a response was handed to the socket. */
export function reportAnswered(
  { emit }: SendDeps,
  { requestId, startedMs, traceId, span }: Pick<Incoming, 'requestId' | 'startedMs' | 'traceId' | 'span'>,
  { method = '', path, status, bytes, facts }: Answered,
): void {
  const { endpoint, cache, tokenId, rows, code } = facts;
  // Rounded to microseconds.
  const ms = Math.round((performance.now() - startedMs) * 1000) / 1000;
  if (span) recordStatus(span, requestId, status, { endpoint, cache, tokenId, rows });
  emit({
    type: 'http.answered',
    requestId,
    method,
    path,
    status,
    bytes,
    ms,
    endpoint,
    cache,
    tokenId,
    rows,
    traceId,
    code,
  });
}
