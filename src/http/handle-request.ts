import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { RequestPair } from '../http-messages/connections.ts';
import { type CorsPolicy, preflightHeaders } from '../http-messages/cors.ts';
import type { Exchange, ReadyContent, Reply, WholeRequest } from '../http-messages/exchange.ts';
import type { HttpEvent } from '../http-messages/http-events.ts';
import { maxUrlLength } from '../http-messages/http-limits.ts';
import { openExchange, pathOf, readRequestId, splitTarget } from '../http-messages/open-exchange.ts';
import { collectBody, hasBody } from '../http-messages/read-body.ts';
import { type Compat, renderError } from '../http-messages/render-error.ts';
import {
  addCommonHeaders,
  createReadyHeads,
  type Incoming,
  sendReady,
  sendReply,
} from '../http-messages/send-reply.ts';
import type { UnreadAnswers } from '../http-messages/unread-answers.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { answerExplain, asksToExplain } from './answer-explain.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { createRestDoor, type RestDoor } from './answer-rest.ts';
import { answerWarm } from './answer-warm.ts';
import { matchRoute, routeMethods } from './match-route.ts';

/** Whether requests should come here, and what does not work; the reasons are words such as `store_down`. */
export type Health = { readonly isReady: boolean; readonly reasons: readonly string[] };

/** What the routes answer from. */
export type HandlerDeps = {
  readonly pipeline: PipelineDeps;
  readonly graphql: {
    answer(exchange: Exchange): Promise<Reply>;
    answerAtOnce(request: WholeRequest, requestId: string): ReadyContent | undefined;
  };
  /** When what is warmed. */
  readonly schedule: Pick<WarmSchedule, 'state'>;
  /** The metrics as a scraper reads them. */
  readonly metrics: () => Promise<Reply>;
  /** The OpenAPI document of what is served now. */
  readonly openapi: () => Buffer;
  readonly health: () => Health;
  /** Milliseconds in which at least a part of a body must arrive. */
  readonly receiveTimeoutMs: number;
  readonly cors: CorsPolicy;
  readonly compat: Compat;
  readonly emit: (event: HttpEvent) => void;
  readonly unread: UnreadAnswers;
  /** Whether no other request has come on the connection since. */
  readonly isLast: (pair: RequestPair) => boolean;
};

/** Answers the requests of one server. */
export type RequestHandler = {
  /** Answers a request, at once where nothing is left to be found out. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a request with an error. */
  refuse(request: IncomingMessage, response: ServerResponse, error: GatewayError): void;
  /** From now on the gateway says that it is not ready. */
  saysUnready(): void;
  /** From now on each answer closes its connection. */
  closesConnections(): void;
  /** Answers what is under way with `unavailable`. */
  abort(): void;
};

type Serving = HandlerDeps & {
  readonly rest: RestDoor;
  /** What aborts the exchanges under way. */
  readonly aborts: Set<AbortController>;
  isStopping: boolean;
  /** Every answer is the last on its connection. */
  isClosing: boolean;
};

/** Makes the handler of all routes. */
export function createRequestHandler(deps: HandlerDeps): RequestHandler {
  const serving: Serving = {
    ...deps,
    rest: createRestDoor(deps.pipeline, (request, headers) => addCommonHeaders(deps, request, headers)),
    aborts: new Set(),
    isStopping: false,
    isClosing: false,
  };
  const listen = createRequestListener(serving);
  return {
    handle: (request, response) => listen(receive(request, response)),
    refuse: (request, response, error) => refuse(serving, receive(request, response), error),
    saysUnready() {
      serving.isStopping = true;
    },
    closesConnections() {
      serving.isClosing = true;
    },
    abort() {
      const stopping = new GatewayError('unavailable', 'The gateway stops');
      for (const controller of serving.aborts) controller.abort(stopping);
    },
  };
}

function receive(request: IncomingMessage, response: ServerResponse): Incoming {
  return { request, response, requestId: readRequestId(request), startedMs: performance.now() };
}

function createRequestListener(serving: Serving): (incoming: Incoming) => void {
  const { rest, graphql, receiveTimeoutMs } = serving;
  const heads = createReadyHeads(serving);
  const bodyLimits = { maxBytes: maxGraphqlAtOnce, timeoutMs: receiveTimeoutMs };

  return incoming => {
    const { request, requestId } = incoming;
    const later = (bodyBytes?: Buffer) => void handle(serving, incoming, bodyBytes);
    if (serving.isClosing || lacksHost(request)) return later();
    if (isShortGraphql(request)) {
      collectBody(request, bodyLimits, result => {
        if (result instanceof GatewayError) return refuse(serving, incoming, result);
        const ready = graphql.answerAtOnce(graphqlText(request, result), requestId);
        if (ready && !serving.isClosing) sendReady(serving, incoming, heads(request, ready));
        else later(result);
      });
      return;
    }
    const ready = rest.answerAtOnce(request, requestId);
    if (ready) sendReady(serving, incoming, ready);
    else later();
  };
}

async function handle(serving: Serving, incoming: Incoming, bodyBytes: Buffer | undefined): Promise<void> {
  const { request, response, requestId } = incoming;
  try {
    const exchange = openExchange(request, response, {
      requestId,
      bodyBytes,
      receiveTimeoutMs: serving.receiveTimeoutMs,
      aborts: serving.aborts,
    });
    send(serving, incoming, await answer(serving, exchange));
  } catch (thrown) {
    refuse(serving, incoming, toGatewayError(thrown));
  }
}

/** Answers with an error. */
function refuse(serving: Serving, incoming: Incoming, error: GatewayError): void {
  const { request, response, requestId } = incoming;
  try {
    if (error.code === 'internal') serving.emit({ type: 'http.bug', requestId, cause: error.cause });
    const reply = renderError(error, requestId, serving.compat);
    send(serving, incoming, error.code === 'method_not_allowed' ? withAllow(reply, pathOf(request)) : reply);
  } catch (cause) {
    // The answer itself can't be written.
    serving.emit({ type: 'http.bug', requestId, cause });
    response.destroy();
  }
}

function send(serving: Serving, incoming: Incoming, reply: Reply): void {
  const { request } = incoming;
  const mustClose =
    (serving.isClosing && serving.isLast(incoming)) || (!request.complete && hasBody(request));
  if (reply.status === 408) serving.emit({ type: 'http.connection_ended', reason: 'slow_sender' });
  sendReply(serving, { ...incoming, mustClose }, reply);
}

/** Longer bodies are read once the token is known. */
const maxGraphqlAtOnce = 64 * 1024;

function isShortGraphql(request: IncomingMessage): boolean {
  const { method, headers } = request;
  return (
    method === 'POST' &&
    Number(headers['content-length'] ?? Infinity) <= maxGraphqlAtOnce &&
    headers['content-encoding'] === undefined &&
    pathOf(request) === '/graphql'
  );
}

function graphqlText(request: IncomingMessage, bytes: Buffer): WholeRequest {
  const { method, headers } = request;
  return { method, headers, queryText: splitTarget(request)[1], body: bytes.toString('latin1') };
}

/** RFC 9112, section 3.2. */
function lacksHost({ headers, httpVersionMinor }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersionMinor > 0;
}

async function answer(deps: Serving, exchange: Exchange): Promise<Reply> {
  const { method = '', url = '', headers } = exchange.request;
  if (lacksHost(exchange.request)) {
    throw new GatewayError('invalid_request', 'The Host header is missing; HTTP/1.1 demands it');
  }
  if (url.length > maxUrlLength) {
    throw new GatewayError(
      'uri_too_long',
      `The URL has ${url.length} bytes; allowed: ${maxUrlLength}. POST takes more`,
    );
  }
  const route = matchRoute(exchange.path);
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
  const coding = headers['content-encoding'];
  if (coding !== undefined && hasBody(exchange.request)) {
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Encoding is ${JSON.stringify(coding)}; allowed: a body without one`,
    );
  }
  switch (route.name) {
    case 'rest':
      return asksToExplain(exchange)
        ? answerExplain(deps.pipeline, exchange, route.endpoint)
        : deps.rest.answer(exchange, route.endpoint);
    case 'graphql':
      return deps.graphql.answer(exchange);
    case 'openapi':
      return jsonBytes(deps.openapi());
    case 'metrics':
      return deps.metrics();
    case 'invalidate':
      return answerInvalidate(deps.pipeline, exchange);
    case 'warm':
      return answerWarm(deps.pipeline.tokens, deps.schedule, exchange);
    case 'health':
      return json({ status: 'ok', cache: deps.pipeline.cache.storeHealth().isUp ? 'up' : 'down' });
    case 'livez':
      return json({ status: 'alive' });
    case 'readyz':
      return answerReady(deps);
    case 'home':
      return json({
        service: 'saved-query-gateway',
        graphql: '/graphql',
        openapi: '/openapi.json',
        health: '/health',
        live: '/livez',
        ready: '/readyz',
        metrics: '/metrics',
      });
  }
}

/** Whether a balancer should send requests here: 503 while not, with the reasons; what merely works less well is a reason too. */
function answerReady({ health, isStopping }: Serving): Reply {
  const { isReady, reasons } = health();
  if (isReady && !isStopping) return json({ status: 'ready', reasons });
  const reply = json({ status: 'unready', reasons: isStopping ? ['stopping', ...reasons] : reasons });
  return { ...reply, status: 503, headers: { ...reply.headers, 'retry-after': '2' } };
}

const noBody = Buffer.alloc(0);

const json = (value: object): Reply => jsonBytes(Buffer.from(JSON.stringify(value)));

function jsonBytes(body: Buffer): Reply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
    body,
  };
}

function allow(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ');
}

/** RFC 9110, section 15.5.6: a 405 says what is allowed. */
function withAllow(reply: Reply, path: string): Reply {
  return { ...reply, headers: { ...reply.headers, allow: allow(routeMethods[matchRoute(path).name]) } };
}
