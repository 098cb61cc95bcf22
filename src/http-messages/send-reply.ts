import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { addCorsHeaders, type CorsPolicy } from './cors.ts';
import type { ReadyContent, ReadyReply, Reply } from './exchange.ts';
import { flatHead } from './flat-head.ts';
import type { HttpEvent } from './http-events.ts';
import { pathOf } from './open-exchange.ts';
import type { UnreadAnswers } from './unread-answers.ts';

export type SendDeps = {
  readonly cors: CorsPolicy;
  readonly unread: UnreadAnswers;
  readonly emit: (event: HttpEvent) => void;
};

/** One request, and what is known of it before it is read. */
export type Incoming = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedMs: number;
};

type Sending = Incoming & {
  /** End the connection after this answer. */
  readonly mustClose: boolean;
};

/** Writes a reply. */
export function sendReply(
  deps: SendDeps,
  { request, response, requestId, startedMs, mustClose }: Sending,
  reply: Reply,
): void {
  const { status, headers, body } = reply;
  headers['x-request-id'] = requestId;
  // A 304 has no body, and must not say how long it is (RFC 9110, section 8.6).
  if (status !== 204 && status !== 304) headers['content-length'] = body.length;
  if (mustClose) headers.connection = 'close';
  addCommonHeaders(deps, request, headers);
  response.writeHead(status, headers);
  // As a string of its bytes' codes a short body goes out together with the head, in one system call.
  if (body.length <= maxJoinedBytes || request.method === 'HEAD') {
    response.end(body.toString('latin1', 0, maxJoinedBytes), 'latin1');
    deps.unread.watch(response);
  } else deps.unread.write(response, body);
  tellAnswered(deps, { request, requestId, startedMs }, status, body.length);
}

/** Longer bodies are sent as buffers: there the copy costs more than a second system call. */
const maxJoinedBytes = 64 * 1024;

/** Writes a reply that is ready: the shortest way to the socket. */
export function sendReady(deps: SendDeps, incoming: Incoming, { head, text }: ReadyReply): void {
  const { response, requestId } = incoming;
  head[head.length - 1] = requestId;
  response.writeHead(200, head);
  response.end(text, 'latin1');
  deps.unread.watch(response);
  tellAnswered(deps, incoming, 200, text.length);
}

/** Heads that were completed once; there are as many as origins of pages that ask. */
const maxHeads = 100;

/** Completes the head of a GraphQL answer with what all routes have. */
export function createReadyHeads(deps: SendDeps) {
  const heads = new Map<string, string[]>();
  return (request: IncomingMessage, { contentType, text }: ReadyContent): ReadyReply => {
    const key = `${contentType}\n${request.headers.origin ?? ''}`;
    let head = heads.get(key);
    if (!head) {
      if (heads.size >= maxHeads) heads.clear();
      const headers = { 'content-type': contentType, 'cache-control': 'no-store', vary: 'Accept-Encoding' };
      addCommonHeaders(deps, request, headers);
      head = [...flatHead(headers), 'content-length', '', 'x-request-id', ''];
      heads.set(key, head);
    }
    head[head.length - 3] = String(text.length);
    return { head, text };
  };
}

/** What every answer says, whatever its route. */
export function addCommonHeaders(
  deps: Pick<SendDeps, 'cors'>,
  request: IncomingMessage,
  headers: OutgoingHttpHeaders,
): void {
  headers['x-content-type-options'] = 'nosniff';
  addCorsHeaders(deps.cors, request.headers, headers);
}

function tellAnswered(
  { emit }: SendDeps,
  { request, requestId, startedMs }: Pick<Incoming, 'request' | 'requestId' | 'startedMs'>,
  status: number,
  bytes: number,
): void {
  const ms = performance.now() - startedMs;
  const { method = '' } = request;
  emit({ type: 'http.answered', requestId, method, path: pathOf(request), status, bytes, ms });
}
