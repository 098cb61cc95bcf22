import { createServer, type IncomingMessage, type Server } from 'node:http';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, ReadyContent, Reply, WholeRequest } from '../exchange.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { answerExplain, asksToExplain } from './answer-explain.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { answerRaw, clientFault } from './answer-raw.ts';
import { createRestDoor, type RestDoor } from './answer-rest.ts';
import { answerWarm } from './answer-warm.ts';
import { type CorsPolicy, preflightHeaders } from './cors.ts';
import type { HttpEvent } from './http-events.ts';
import { maxHeaderBytes, maxUrlLength } from './http-limits.ts';
import { matchRoute, routeMethods } from './match-route.ts';
import { openExchange, pathOf, readRequestId, splitTarget } from './open-exchange.ts';
import { hasBody, readShortBody } from './read-body.ts';
import { type Compat, renderError } from './render-error.ts';
import { addCommonHeaders, createReadyHeads, type Incoming, sendReady, sendReply } from './send-reply.ts';

export type HttpDeps = {
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
  readonly openapi: () => object;
  readonly cors: CorsPolicy;
  readonly compat: Compat;
  readonly emit: (event: HttpEvent) => void;
};

/** Makes the HTTP server of all routes; it does not listen yet. */
export function createHttpServer(deps: HttpDeps): Server {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    requireHostHeader: false,
    keepAliveTimeout: 65_000,
  });
  const rest = createRestDoor(deps.pipeline, (request, headers) => addCommonHeaders(deps, request, headers));
  const heads = createReadyHeads(deps);
  server.on('request', (request, response) => {
    const incoming = {
      server,
      request,
      response,
      requestId: readRequestId(request),
      startedMs: performance.now(),
    };
    const later = (bodyBytes?: Buffer) => {
      handle(deps, rest, incoming, bodyBytes).catch((cause: unknown) => {
        deps.emit({ type: 'http.bug', requestId: incoming.requestId, cause });
        response.destroy();
      });
    };
    if (!server.listening) return later();
    if (isShortGraphql(request)) {
      readShortBody(request, bytes => {
        const text = graphqlText(request, bytes);
        const ready = deps.graphql.answerAtOnce(text, incoming.requestId);
        if (ready) sendReady(deps, incoming, heads(request, ready));
        else later(bytes);
      });
      return;
    }
    const ready = rest.answerAtOnce(request, incoming.requestId);
    if (ready) sendReady(deps, incoming, ready);
    else later();
  });
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    answerRaw(deps, socket, clientFault(error));
  });
  server.on('connect', (_request, socket) => {
    answerRaw(
      deps,
      socket,
      new GatewayError('method_not_allowed', 'CONNECT is not offered: this is no proxy'),
    );
  });
  return server;
}

async function handle(
  deps: HttpDeps,
  rest: RestDoor,
  incoming: Incoming,
  bodyBytes: Buffer | undefined,
): Promise<void> {
  const { server, request, response, requestId } = incoming;
  const exchange = openExchange(request, response, requestId, bodyBytes);
  let reply: Reply;
  try {
    reply = await answer(deps, rest, exchange);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === 'internal') deps.emit({ type: 'http.bug', requestId, cause: error.cause });
    reply = renderError(error, requestId, deps.compat);
    if (error.code === 'method_not_allowed') reply = withAllow(reply, exchange.path);
  }
  const mustClose = !server.listening || (!request.complete && hasBody(request));
  sendReply(deps, { ...incoming, mustClose }, reply);
}

/** Longer bodies are read once the token is known. */
const maxGraphqlAtOnce = 64 * 1024;

function isShortGraphql(request: IncomingMessage): boolean {
  const { method, headers } = request;
  return (
    method === 'POST' &&
    Number(headers['content-length'] ?? Infinity) <= maxGraphqlAtOnce &&
    pathOf(request) === '/graphql'
  );
}

function graphqlText(request: IncomingMessage, bytes: Buffer): WholeRequest {
  const { method, headers } = request;
  return { method, headers, queryText: splitTarget(request)[1], body: bytes.toString('latin1') };
}

async function answer(deps: HttpDeps, rest: RestDoor, exchange: Exchange): Promise<Reply> {
  const { method = '', url = '', headers } = exchange.request;
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
  switch (route.name) {
    case 'rest':
      return asksToExplain(exchange)
        ? answerExplain(deps.pipeline, exchange, route.endpoint)
        : rest.answer(exchange, route.endpoint);
    case 'graphql':
      return deps.graphql.answer(exchange);
    case 'openapi':
      return json(deps.openapi());
    case 'metrics':
      return deps.metrics();
    case 'invalidate':
      return answerInvalidate(deps.pipeline, exchange);
    case 'warm':
      return answerWarm(deps.pipeline.tokens, deps.schedule, exchange);
    case 'health':
      return json({ status: 'ok', cache: deps.pipeline.cache.storeHealth().isUp ? 'up' : 'down' });
    case 'home':
      return json({
        service: 'saved-query-gateway',
        graphql: '/graphql',
        openapi: '/openapi.json',
        health: '/health',
        metrics: '/metrics',
      });
  }
}

const noBody = Buffer.alloc(0);

function json(value: object): Reply {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
    body: Buffer.from(JSON.stringify(value)),
  };
}

function allow(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ');
}

/** RFC 9110, section 15.5.6: a 405 says what is allowed. */
function withAllow(reply: Reply, path: string): Reply {
  return { ...reply, headers: { ...reply.headers, allow: allow(routeMethods[matchRoute(path).name]) } };
}
