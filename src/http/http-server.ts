import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, Reply } from '../exchange.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { answerRaw, clientFault } from './answer-raw.ts';
import { createRestDoor, type ReadyReply, type RestDoor } from './answer-rest.ts';
import { addCorsHeaders, type CorsPolicy, preflightHeaders } from './cors.ts';
import type { HttpEvent } from './http-events.ts';
import { maxHeaderBytes, maxUrlLength } from './http-limits.ts';
import { matchRoute, routeMethods } from './match-route.ts';
import { openExchange, pathOf, readRequestId } from './open-exchange.ts';
import { hasBody } from './read-body.ts';
import { type Compat, renderError } from './render-error.ts';

export type HttpDeps = {
  readonly pipeline: PipelineDeps;
  readonly graphql: (exchange: Exchange) => Promise<Reply>;
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
  server.on('request', (request, response) => {
    const startedMs = performance.now();
    const requestId = readRequestId(request);
    const ready = server.listening ? rest.answerAtOnce(request, requestId) : undefined;
    if (ready) {
      sendReady(response, requestId, ready);
      tellAnswered(deps, { request, requestId, startedMs }, 200, ready.text.length);
      return;
    }
    handle(deps, rest, server, request, response, requestId, startedMs).catch((cause: unknown) => {
      deps.emit({ type: 'http.bug', requestId, cause });
      response.destroy();
    });
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
  server: Server,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  startedMs: number,
): Promise<void> {
  const exchange = openExchange(request, response, requestId);
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
  send(deps, { request, response, requestId, startedMs, mustClose }, reply);
}

type Sending = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedMs: number;
  /** End the connection after this answer. */
  readonly mustClose: boolean;
};

function send(
  deps: HttpDeps,
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
  response.end(body);
  tellAnswered(deps, { request, requestId, startedMs }, status, body.length);
}

/** The shortest way from a hit to the socket. */
function sendReady(
  response: ServerResponse,
  requestId: string,
  { head, serverTiming, text }: ReadyReply,
): void {
  response.writeHead(200, [...head, 'x-request-id', requestId, 'server-timing', serverTiming]);
  response.end(text, 'latin1');
}

/** What every answer says, whatever its route. */
function addCommonHeaders(deps: HttpDeps, request: IncomingMessage, headers: OutgoingHttpHeaders): void {
  headers['x-content-type-options'] = 'nosniff';
  addCorsHeaders(deps.cors, request.headers, headers);
}

function tellAnswered(
  { emit }: HttpDeps,
  { request, requestId, startedMs }: Pick<Sending, 'request' | 'requestId' | 'startedMs'>,
  status: number,
  bytes: number,
): void {
  const ms = performance.now() - startedMs;
  const { method = '' } = request;
  emit({ type: 'http.answered', requestId, method, path: pathOf(request), status, bytes, ms });
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
      return rest.answer(exchange, route.endpoint);
    case 'graphql':
      return deps.graphql(exchange);
    case 'openapi':
      return json(deps.openapi());
    case 'metrics':
      return deps.metrics();
    case 'invalidate':
      return answerInvalidate(deps.pipeline, exchange);
    case 'health':
      return json({ status: 'ok', cache: deps.pipeline.cache.isStoreUp ? 'up' : 'down' });
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
