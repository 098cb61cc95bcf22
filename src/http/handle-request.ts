import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Span } from '@opentelemetry/api';
import { claimedTokenId } from '../auth/token-text.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { isTracing, traceIdOf, within } from '../base/spans.ts';
import type { RowFormatter } from '../formats/row-formatter.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { Connections, RequestPair } from '../http-messages/connections.ts';
import type { CorsPolicy } from '../http-messages/cors.ts';
import type { HttpEvent } from '../http-messages/http-events.ts';
import { collectBody, dropRest } from '../http-messages/read-body.ts';
import { type Compat, renderError } from '../http-messages/render-error.ts';
import type { RequestFacts } from '../http-messages/request-context.ts';
import { hasBody, openRequestContext, pathOf, readRequestId } from '../http-messages/request-context.ts';
import { openRequestSpan } from '../http-messages/request-span.ts';
import { type HttpResponse, type Incoming, sendResponse } from '../http-messages/send-response.ts';
import type { UnreadAnswers } from '../http-messages/unread-answers.ts';
import { createRestHandler, type RestHandler } from './answer-rest.ts';
import { answerRoute, withAllow } from './answer-route.ts';
import { createFastPath, type FastPath, requestKey } from './hits/fast-path.ts';
import { createRepeatedBytes, type RepeatedBytes } from './hits/repeated-bytes.ts';
import { type RouteDeps, tracedRoute } from './routes.ts';

/** What the handler of all routes needs. */
export type HandlerDeps = RouteDeps & {
  /** Writes rows in other formats. */
  readonly formatter: Pick<RowFormatter, 'claim' | 'format' | 'open'>;
  readonly cors: CorsPolicy;
  readonly compat: Compat;
  readonly emit: (event: HttpEvent) => void;
  readonly unread: UnreadAnswers;
  readonly connections: Pick<Connections, 'beginRepeated' | 'endsNext' | 'enter' | 'inFlight' | 'setWaiting'>;
  /** Whether this is the latest request of its connection. */
  readonly isLast: (pair: RequestPair) => boolean;
};

/** Answers the requests of one server. */
export type RequestHandler = {
  /** Reads the bytes of a new connection before the parser does. */
  watch(socket: Socket): void;
  /** Records a request for another protocol (`Upgrade`), before it is handled like any other. */
  beginUpgrade(request: IncomingMessage): void;
  /** Answers a request. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a request with an error. */
  refuse(request: IncomingMessage, response: ServerResponse, error: GatewayError): void;
  /** From now on the gateway reports that it is not ready. */
  saysUnready(): void;
  /** From now on each response closes its connection. */
  closesConnections(): void;
  /** Answers the requests in flight with `unavailable`. */
  abort(): void;
};

type Serving = HandlerDeps & {
  readonly rest: RestHandler;
  readonly fastPath: FastPath;
  readonly repeatedBytes: RepeatedBytes;
  /** Aborts the requests in flight. */
  readonly aborts: Set<AbortController>;
  isStopping: boolean;
  /** Every response is the last on its connection. */
  isClosing: boolean;
};

/** Makes the handler of all routes. */
export function createRequestHandler(deps: HandlerDeps): RequestHandler {
  const fastPath = createFastPath(deps);
  const serving: Serving = {
    ...deps,
    rest: createRestHandler({ ...deps.pipeline, formatter: deps.formatter }),
    fastPath,
    repeatedBytes: createRepeatedBytes(deps, fastPath),
    aborts: new Set(),
    isStopping: false,
    isClosing: false,
  };
  return {
    watch: socket => serving.repeatedBytes.watch(socket),
    beginUpgrade: request => serving.repeatedBytes.beginUpgrade(request),
    handle(request, response) {
      serving.repeatedBytes.begin(request);
      listen(serving, receive(request, response));
    },
    refuse: (request, response, error) => refuse(serving, receive(request, response), error),
    saysUnready() {
      serving.isStopping = true;
    },
    closesConnections() {
      serving.isClosing = true;
      serving.repeatedBytes.stop();
    },
    abort() {
      const stopping = new GatewayError('unavailable', 'The gateway stops');
      for (const controller of serving.aborts) controller.abort(stopping);
    },
  };
}

function receive(request: IncomingMessage, response: ServerResponse): Incoming {
  const startedMs = performance.now();
  const span = isTracing() ? openSpan(request, response) : undefined;
  const traceId = traceIdOf(span, request.headers);
  return { request, response, requestId: readRequestId(request), startedMs, traceId, span };
}

function openSpan(request: IncomingMessage, response: ServerResponse): Span | undefined {
  const route = tracedRoute(pathOf(request));
  return route === false ? undefined : openRequestSpan(request, response, route);
}

/** Answers by the fast path, or else by the handler of the route. */
function listen(serving: Serving, incoming: Incoming): void {
  const { receiveTimeoutMs: timeoutMs } = serving;
  const { request } = incoming;
  const hostFault = faultOfHost(request);
  if (hostFault !== undefined) refuse(serving, incoming, new GatewayError('invalid_request', hostFault));
  else if (!isShortGraphql(request)) answerFast(serving, incoming, undefined);
  else {
    collectBody(request, { maxBytes: maxShortGraphql, timeoutMs }, body => {
      if (body instanceof GatewayError) refuse(serving, incoming, body);
      else answerFast(serving, incoming, body);
    });
  }
}

/** Repeats the answer to an identical request if the memory of this process or the store confirms it; otherwise calls the handler. */
function answerFast(serving: Serving, incoming: Incoming, body: Buffer | undefined): void {
  const { request, response, startedMs, span } = incoming;
  const { fastPath, repeatedBytes } = serving;
  const key = requestKey(request, body);
  const answerAgain = (confirmedSinceMs?: number) => {
    if (key === undefined || serving.isClosing) return false;
    if (!fastPath.answer(incoming, key, confirmedSinceMs)) return false;
    repeatedBytes.remember(incoming, key);
    return true;
  };
  if (answerAgain()) return;
  // A traced request takes the normal path, so that the trace shows what cache and store do.
  const confirmation = key === undefined || span ? undefined : fastPath.confirm(key);
  if (!confirmation) return void handle(serving, incoming, body);
  const proceed = (isConfirmed: boolean) => {
    if (response.destroyed) refuse(serving, incoming, new GatewayError('cancelled', 'The caller went away'));
    else if (!isConfirmed || !answerAgain(startedMs)) void handle(serving, incoming, body);
  };
  // If this fails, the handler reports why.
  confirmation.then(proceed, () => proceed(false));
}

function handle(serving: Serving, incoming: Incoming, bodyBytes: Buffer | undefined): Promise<void> {
  const { span } = incoming;
  const run = () => handleNow(serving, incoming, bodyBytes);
  return span ? within(span, run) : run();
}

async function handleNow(serving: Serving, incoming: Incoming, bodyBytes: Buffer | undefined): Promise<void> {
  const { request, response, requestId, traceId } = incoming;
  const facts: RequestFacts = { traceId };
  try {
    const context = openRequestContext(request, response, {
      requestId,
      facts,
      bodyBytes,
      receiveTimeoutMs: serving.receiveTimeoutMs,
      aborts: serving.aborts,
    });
    const answered = await answerRoute(serving, context);
    send(serving, incoming, answered, facts);
    if (answered.repeat) serving.fastPath.remember(request, bodyBytes, answered.repeat);
  } catch (thrown) {
    refuse(serving, incoming, toGatewayError(thrown), facts);
  }
}

/** Answers with an error. */
function refuse(serving: Serving, incoming: Incoming, error: GatewayError, facts: RequestFacts = {}): void {
  const { request, response, requestId } = incoming;
  try {
    serving.emit({ type: 'http.refused', code: error.code });
    facts.code = error.code;
    if (error.code === 'internal') serving.emit({ type: 'http.bug', requestId, cause: error.cause });
    const rendered = renderError(error, requestId, serving.compat);
    const isMethod = error.code === 'method_not_allowed';
    send(serving, incoming, isMethod ? withAllow(rendered, pathOf(request)) : rendered, facts);
  } catch (cause) {
    // The response itself could not be written.
    serving.emit({ type: 'http.bug', requestId, cause });
    response.destroy();
  }
}

function send(serving: Serving, incoming: Incoming, response: HttpResponse, facts: RequestFacts): void {
  const { request } = incoming;
  const isUnread = !request.complete && hasBody(request);
  const isEnding = serving.isClosing || serving.connections.endsNext(request.socket);
  const mustClose = isUnread || (isEnding && serving.isLast(incoming));
  if (isUnread && request.headers['content-length'] !== undefined && response.status !== 408)
    dropRest(request);
  // For a request that was refused before its token was accepted, the log names the token that it claims.
  if (response.status >= 400) facts.tokenId ??= claimedTokenId(readCredentials(request.headers));
  if (response.status === 408) serving.emit({ type: 'http.connection_ended', reason: 'slow_sender' });
  sendResponse(serving, { ...incoming, facts, mustClose }, response);
}

/** Maximum bytes of a GraphQL body that is read before its token is checked. */
const maxShortGraphql = 64 * 1024;

function isShortGraphql(request: IncomingMessage): boolean {
  const { method, headers } = request;
  return (
    method === 'POST' &&
    Number(headers['content-length'] ?? Infinity) <= maxShortGraphql &&
    headers['content-encoding'] === undefined &&
    pathOf(request) === '/graphql'
  );
}

/** The value of a Host header: a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port (RFC 9110, section 7.2; RFC 3986, section 3.2). */
const hostValue = /^(?:\[[\w.:~!$&'()*+,;=-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** RFC 9112, section 3.2. Of two Host headers, or of one with two hosts in it, a proxy may use another one than we do. */
function faultOfHost({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): string | undefined {
  if (headers.host === undefined) {
    return httpVersionMinor > 0 ? 'The Host header is missing; HTTP/1.1 requires it' : undefined;
  }
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  if (hosts > 1) return 'There is more than one Host header';
  return hostValue.test(headers.host) ? undefined : 'The Host header is malformed';
}
