import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Span } from '@opentelemetry/api';
import { requireScope } from '../auth/caller.ts';
import type { Scope } from '../auth/scopes.ts';
import { claimedTokenId } from '../auth/token-text.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { isTracing, traceIdOf, within } from '../base/spans.ts';
import type { RowFormatter } from '../formats/row-formatter.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { Connections, RequestPair } from '../http-messages/connections.ts';
import { type CorsPolicy, preflightHeaders } from '../http-messages/cors.ts';
import type { HttpEvent } from '../http-messages/http-events.ts';
import { maxUrlLength } from '../http-messages/http-limits.ts';
import { collectBody } from '../http-messages/read-body.ts';
import { type Compat, renderError } from '../http-messages/render-error.ts';
import {
  hasBody,
  openRequestContext,
  pathOf,
  type RequestContext,
  readRequestId,
} from '../http-messages/request-context.ts';
import type { RequestFacts } from '../http-messages/request-facts.ts';
import { openRequestSpan } from '../http-messages/request-span.ts';
import { createRequestsInFlight, type RequestsInFlight } from '../http-messages/requests-in-flight.ts';
import { type HttpResponse, type Incoming, sendResponse } from '../http-messages/send-response.ts';
import type { UnreadAnswers } from '../http-messages/unread-answers.ts';
import { redactError } from '../pipeline/representation.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { answerCatalogue } from './answer-catalogue.ts';
import { answerCheck } from './answer-check.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { answerLogs } from './answer-logs.ts';
import { answerPages, type PageDeps } from './answer-pages.ts';
import { createRestHandler, type RestHandler } from './answer-rest.ts';
import { answerRows, type LoadingDeps } from './answer-rows.ts';
import { answerWarm } from './answer-warm.ts';
import { createFastPath, type FastPath, requestKey } from './hits/fast-path.ts';
import { createRepeatedBytes, type RepeatedBytes } from './hits/repeated-bytes.ts';
import { documentBytes, json } from './json-response.ts';
import { matchRoute, type Route, routeMethods, tracedRoute } from './match-route.ts';

/** Whether requests should be sent here, and what is degraded. */
export type Health = {
  readonly isReady: boolean;
  /** Words such as `store_down`. */
  readonly reasons: readonly string[];
  /** Places in files of saved queries and sources that are wrong, such as `a.sql:3: name`. Absent: none that may be shown. */
  readonly broken?: readonly string[];
};

/** What the routes need. */
export type HandlerDeps = PageDeps & {
  readonly pipeline: PipelineDeps;
  /** Writes rows in other formats. */
  readonly formatter: Pick<RowFormatter, 'format' | 'open'>;
  readonly graphql: (context: RequestContext) => Promise<HttpResponse>;
  /** Agents' messages. */
  readonly mcp: (context: RequestContext) => Promise<HttpResponse>;
  /** Where rows are loaded; absent: the warehouse is filled by its owner. */
  readonly loading: LoadingDeps | undefined;
  /** For `GET /admin/warm`. */
  readonly schedule: Pick<WarmSchedule, 'state'>;
  /** Renders the metrics for a scraper. */
  readonly metrics: () => Promise<HttpResponse>;
  /** Whether the metrics are for tokens with the scope `metrics` alone. */
  readonly metricsNeedToken: boolean;
  /** Whether the documents that list all saved queries are for tokens with the scope `introspect` alone. */
  readonly documentsNeedToken: boolean;
  /** The OpenAPI document of what is served now. */
  readonly openapi: () => Promise<Buffer>;
  /** The page for language models of what is served now. */
  readonly llmsText: () => Promise<Buffer>;
  readonly health: () => Health;
  /** Milliseconds within which each next part of a body must arrive. */
  readonly receiveTimeoutMs: number;
  readonly cors: CorsPolicy;
  readonly compat: Compat;
  readonly emit: (event: HttpEvent) => void;
  readonly unread: UnreadAnswers;
  /** Connections that may be open at the same time. */
  readonly maxConnections: number;
  readonly connections: Pick<Connections, 'beginRepeated' | 'inFlight' | 'setWaiting'>;
  /** Whether this is the latest request of its connection. */
  readonly isLast: (pair: RequestPair) => boolean;
};

/** Answers the requests of one server. */
export type RequestHandler = {
  /** Looks at what a new connection brings. */
  watch(socket: Socket): void;
  /** Notes a request for another protocol, before it is handled as any other. */
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
  readonly inFlight: RequestsInFlight;
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
    inFlight: createRequestsInFlight(deps.maxConnections),
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
  if (lacksHost(request)) {
    const message = 'The Host header is missing; HTTP/1.1 demands it';
    refuse(serving, incoming, new GatewayError('invalid_request', message));
  } else if (!isShortGraphql(request)) answerFast(serving, incoming, undefined);
  else {
    collectBody(request, { maxBytes: maxShortGraphql, timeoutMs }, body => {
      if (body instanceof GatewayError) refuse(serving, incoming, body);
      else answerFast(serving, incoming, body);
    });
  }
}

/** Answers by what is remembered of the same words, if the memory of this process or the store confirms it; else by the handler. */
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
  // A trace shows what the cache and the store do.
  const confirmation = key === undefined || span ? undefined : fastPath.confirm(key);
  if (!confirmation) return void handle(serving, incoming, body);
  const proceed = (isConfirmed: boolean) => {
    if (response.destroyed) refuse(serving, incoming, new GatewayError('cancelled', 'The caller went away'));
    else if (!isConfirmed || !answerAgain(startedMs)) void handle(serving, incoming, body);
  };
  // What went wrong is for the handler to say.
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
    const answered = await answer(serving, context);
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
    if (error.code === 'internal') serving.emit({ type: 'http.bug', requestId, cause: error.cause });
    const rendered = renderError(error, requestId, serving.compat);
    const isMethod = error.code === 'method_not_allowed';
    send(serving, incoming, isMethod ? withAllow(rendered, pathOf(request)) : rendered, facts);
  } catch (cause) {
    // The response itself can't be written.
    serving.emit({ type: 'http.bug', requestId, cause });
    response.destroy();
  }
}

function send(serving: Serving, incoming: Incoming, response: HttpResponse, facts: RequestFacts): void {
  const { request } = incoming;
  const mustClose =
    (serving.isClosing && serving.isLast(incoming)) || (!request.complete && hasBody(request));
  // Refused before it was known whose it is, or because of whose it is: the operator wants to know.
  if (response.status >= 400) facts.tokenId ??= claimedTokenId(readCredentials(request.headers));
  if (response.status === 408) serving.emit({ type: 'http.connection_ended', reason: 'slow_sender' });
  sendResponse(serving, { ...incoming, facts, mustClose }, response);
}

/** Bytes of a body that is read before its token is checked. */
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

/** RFC 9112, section 3.2. */
function lacksHost({ headers, httpVersionMinor }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersionMinor > 0;
}

async function answer(deps: Serving, context: RequestContext): Promise<HttpResponse> {
  const { url = '' } = context.request;
  if (url.length > maxUrlLength) {
    throw new GatewayError(
      'uri_too_long',
      `The URL has ${url.length} bytes; allowed: ${maxUrlLength}. POST takes more`,
    );
  }
  let route: Route | undefined;
  try {
    route = matchRoute(context.path);
    return await answerMethod(deps, context, route);
  } catch (thrown) {
    // It may repeat a path, a name, a header or a body (contract 9.6). What is redacted for a saved query the pipeline knows, and has done.
    throw route?.name === 'rest' ? thrown : redactError(thrown, deps.pipeline.redactKinds);
  }
}

async function answerMethod(deps: Serving, context: RequestContext, route: Route): Promise<HttpResponse> {
  const { method = '', headers } = context.request;
  const methods = routeMethods[route.name];
  if (method === 'OPTIONS') {
    return {
      status: 204,
      headers: { allow: allow(methods), ...preflightHeaders(headers, methods) },
      body: noBody,
    };
  }
  if (!methods.includes(method)) {
    throw new GatewayError('method_not_allowed', `${method} is not offered here; allowed: ${allow(methods)}`);
  }
  if (route.name !== 'logs') rejectEncodedBody(context.request);
  const credentials = isProbe(route) ? undefined : readCredentials(headers);
  const leave = deps.inFlight.add(credentials);
  try {
    return await answerRoute(deps, context, route);
  } finally {
    leave();
  }
}

/** These say how the gateway is, to whoever asks. */
const isProbe = ({ name }: Route) => name === 'livez' || name === 'readyz' || name === 'health';

async function answerRoute(deps: Serving, context: RequestContext, route: Route): Promise<HttpResponse> {
  const { headers } = context.request;
  switch (route.name) {
    case 'rest':
      return deps.rest(context, route.endpoint);
    case 'catalogue':
      return answerCatalogue(deps.pipeline, context, route.endpoint);
    case 'rows':
      return answerRows(deps, context, route.source);
    case 'logs':
      return answerLogs(deps, context);
    case 'check':
      return answerCheck(deps.pipeline, context, route.endpoint);
    case 'graphql':
      return deps.graphql(context);
    case 'mcp':
      return deps.mcp(context);
    case 'llms':
      if (deps.documentsNeedToken) await requireScopeOf(deps, headers, 'introspect');
      return documentBytes(await deps.llmsText(), 'text/markdown');
    case 'openapi':
      if (deps.documentsNeedToken) await requireScopeOf(deps, headers, 'introspect');
      return documentBytes(await deps.openapi(), 'application/json');
    case 'metrics':
      if (deps.metricsNeedToken) await requireScopeOf(deps, headers, 'metrics');
      return deps.metrics();
    case 'invalidate':
      return answerInvalidate(deps.pipeline, context);
    case 'warm':
      return answerWarm(deps.pipeline.tokens, deps.schedule, context);
    case 'health':
      return json({ status: 'ok', cache: deps.pipeline.cache.storeHealth().isUp ? 'up' : 'down' });
    case 'livez':
      return json({ status: 'alive' });
    case 'readyz':
      return answerReady(deps);
    case 'home':
    case 'docs':
    case 'asset':
    case 'dialect':
    case 'sample':
      return answerPages(deps, context, route);
  }
}

/** @throws GatewayError `unauthorized`, `forbidden` */
async function requireScopeOf(
  { pipeline }: Pick<HandlerDeps, 'pipeline'>,
  headers: IncomingHttpHeaders,
  scope: Scope,
): Promise<void> {
  requireScope(await pipeline.tokens.authenticate(readCredentials(headers)), scope);
}

function rejectEncodedBody(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || !hasBody(request)) return;
  throw new GatewayError(
    'unsupported_media_type',
    `Content-Encoding is ${JSON.stringify(encoding)}; allowed: a body without one`,
  );
}

/** Answers a load balancer whether to send requests here: 503 if not. The reasons include what is merely degraded. */
function answerReady({ health, isStopping }: Serving): HttpResponse {
  const { isReady, reasons, ...more } = health();
  if (isReady && !isStopping) return json({ status: 'ready', reasons, ...more });
  const response = json({
    status: 'unready',
    reasons: isStopping ? ['stopping', ...reasons] : reasons,
    ...more,
  });
  return { ...response, status: 503, headers: { ...response.headers, 'retry-after': '2' } };
}

const noBody = Buffer.alloc(0);

function allow(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ');
}

/** A 405 lists the allowed methods (RFC 9110, section 15.5.6). */
function withAllow(response: HttpResponse, path: string): HttpResponse {
  return { ...response, headers: { ...response.headers, allow: allow(routeMethods[matchRoute(path).name]) } };
}
