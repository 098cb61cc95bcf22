import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, ReadyReply, Reply } from '../exchange.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { answerRaw, clientFault } from './answer-raw.ts';
import { createRestDoor, type RestDoor } from './answer-rest.ts';
import { addCorsHeaders, type CorsPolicy, preflightHeaders } from './cors.ts';
import type { HttpEvent } from './http-events.ts';
import { maxHeaderBytes, maxUrlLength } from './http-limits.ts';
import { matchRoute, routeMethods } from './match-route.ts';
import { openExchange, pathOf, readRequestId } from './open-exchange.ts';
import { hasBody } from './read-body.ts';
import { type Compat, renderError } from './render-error.ts';

export type HttpDeps = {
  readonly pipeline: PipelineDeps;
  readonly graphql: {
    answer(exchange: Exchange): Promise<Reply>;
    answerAtOnce(request: GraphqlText, requestId: string): ReadyReply | undefined;
  };
  /** The metrics as a scraper reads them. */
  readonly metrics: () => Promise<Reply>;
  /** The OpenAPI document of what is served now. */
  readonly openapi: () => object;
  readonly cors: CorsPolicy;
  readonly compat: Compat;
  readonly emit: (event: HttpEvent) => void;
};

/** A GraphQL request, its body read. */
type GraphqlText = Pick<IncomingMessage, 'method' | 'headers'> & {
  readonly queryText: string;
  readonly body: string;
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
      sendReady(deps, { request, response, requestId, startedMs }, ready);
      return;
    }
    handle(deps, rest, { server, request, response, requestId, startedMs }).catch((cause: unknown) => {
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

/** One request, and what is known of it before it is read. */
type Incoming = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedMs: number;
};

async function handle(
  deps: HttpDeps,
  rest: RestDoor,
  { server, ...incoming }: Incoming & { server: Server },
): Promise<void> {
  const { request, response, requestId } = incoming;
  let exchange = openExchange(request, response, requestId);
  let reply: Reply;
  try {
    if (server.listening && isShortGraphql(request)) {
      const body = await exchange.readBody(maxGraphqlAtOnce);
      const { method, headers } = request;
      const { queryText } = exchange;
      const ready = deps.graphql.answerAtOnce({ method, headers, queryText, body }, requestId);
      if (ready) return sendReady(deps, incoming, withCommonHeaders(deps, request, ready));
      exchange = { ...exchange, readBody: async () => body };
    }
    reply = await answer(deps, rest, exchange);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === 'internal') deps.emit({ type: 'http.bug', requestId, cause: error.cause });
    reply = renderError(error, requestId, deps.compat);
    if (error.code === 'method_not_allowed') reply = withAllow(reply, exchange.path);
  }
  const mustClose = !server.listening || (!request.complete && hasBody(request));
  send(deps, { ...incoming, mustClose }, reply);
}

/** Longer bodies are read once the token is known. */
const maxGraphqlAtOnce = 64 * 1024;

function isShortGraphql({ url = '', method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    url.startsWith('/graphql') &&
    Number(headers['content-length'] ?? Infinity) <= maxGraphqlAtOnce
  );
}

type Sending = Incoming & {
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
  // As a string of its bytes' codes a short body goes out together with the head, in one system call.
  if (body.length <= maxJoinedBytes) response.end(body.toString('latin1'), 'latin1');
  else response.end(body);
  tellAnswered(deps, { request, requestId, startedMs }, status, body.length);
}

/** Longer bodies are sent as buffers: there the copy costs more than a second system call. */
const maxJoinedBytes = 64 * 1024;

/** The shortest way to the socket. */
function sendReady(deps: HttpDeps, incoming: Incoming, { head, text }: ReadyReply): void {
  const { response, requestId } = incoming;
  response.writeHead(200, [...head, 'x-request-id', requestId]);
  response.end(text, 'latin1');
  tellAnswered(deps, incoming, 200, text.length);
}

function withCommonHeaders(deps: HttpDeps, request: IncomingMessage, { head, text }: ReadyReply): ReadyReply {
  const headers: OutgoingHttpHeaders = { 'content-length': text.length };
  for (let at = 0; at < head.length; at += 2) headers[head[at]!] = head[at + 1];
  addCommonHeaders(deps, request, headers);
  return { head: Object.entries(headers).flatMap(([name, value]) => [name, String(value)]), text };
}

/** What every answer says, whatever its route. */
function addCommonHeaders(deps: HttpDeps, request: IncomingMessage, headers: OutgoingHttpHeaders): void {
  headers['x-content-type-options'] = 'nosniff';
  addCorsHeaders(deps.cors, request.headers, headers);
}

function tellAnswered(
  { emit }: HttpDeps,
  { request, requestId, startedMs }: Omit<Incoming, 'response'>,
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
      return deps.graphql.answer(exchange);
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
