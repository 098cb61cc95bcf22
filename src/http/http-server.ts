import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, Reply } from '../exchange.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { answerRaw, clientFault } from './answer-raw.ts';
import { answerRest } from './answer-rest.ts';
import { type CorsPolicy, corsHeaders, preflightHeaders } from './cors.ts';
import type { HttpEvent } from './http-events.ts';
import { maxHeaderBytes, maxUrlLength } from './http-limits.ts';
import { matchRoute, routeMethods } from './match-route.ts';
import { openExchange } from './open-exchange.ts';
import { hasBody } from './read-body.ts';
import { type Compat, renderError } from './render-error.ts';

export type HttpDeps = {
  readonly pipeline: PipelineDeps;
  readonly graphql: (exchange: Exchange) => Promise<Reply>;
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
  server.on('request', (request, response) => {
    handle(deps, server, request, response).catch((cause: unknown) => {
      deps.emit({ type: 'http.bug', requestId: '', cause });
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
  server: Server,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedMs = performance.now();
  const exchange = openExchange(request, response);
  let reply: Reply;
  try {
    reply = await answer(deps, exchange);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === 'internal')
      deps.emit({ type: 'http.bug', requestId: exchange.requestId, cause: error.cause });
    reply = renderError(error, exchange.requestId, deps.compat);
    if (error.code === 'method_not_allowed') reply = withAllow(reply, exchange.path);
  }
  const mustClose = !server.listening || (!request.complete && hasBody(request));
  response.writeHead(reply.status, {
    ...(reply.status === 204 ? {} : { 'content-length': String(reply.body.length) }),
    'x-request-id': exchange.requestId,
    'x-content-type-options': 'nosniff',
    ...(mustClose ? { connection: 'close' } : {}),
    ...reply.headers,
    ...mergeVary(corsHeaders(deps.cors, request.headers), reply.headers.vary),
  });
  response.end(reply.body);
  deps.emit({
    type: 'http.answered',
    requestId: exchange.requestId,
    method: request.method ?? '',
    path: exchange.path,
    status: reply.status,
    bytes: reply.body.length,
    ms: performance.now() - startedMs,
  });
}

async function answer(deps: HttpDeps, exchange: Exchange): Promise<Reply> {
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
      return answerRest(deps.pipeline, exchange, route.endpoint);
    case 'graphql':
      return deps.graphql(exchange);
    case 'openapi':
      return json(deps.openapi());
    case 'health':
      return json({ status: 'ok' });
    case 'home':
      return json({
        service: 'saved-query-gateway',
        graphql: '/graphql',
        openapi: '/openapi.json',
        health: '/health',
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

function mergeVary(headers: ReturnType<typeof corsHeaders>, vary: unknown): ReturnType<typeof corsHeaders> {
  return headers.vary && vary ? { ...headers, vary: `${vary}, ${headers.vary}` } : headers;
}
