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
import { flatHead } from './flat-head.ts';
import type { HttpEvent } from './http-events.ts';
import { maxHeaderBytes, maxUrlLength } from './http-limits.ts';
import { matchRoute, routeMethods } from './match-route.ts';
import { openExchange, pathOf, readRequestId, splitTarget } from './open-exchange.ts';
import { hasBody, readShortBody } from './read-body.ts';
import { type Compat, renderError } from './render-error.ts';

export type HttpDeps = {
  readonly pipeline: PipelineDeps;
  readonly graphql: {
    answer(exchange: Exchange): Promise<Reply>;
    answerAtOnce(request: GraphqlText, requestId: string): GraphqlReady | undefined;
  };
  /** The metrics as a scraper reads them. */
  readonly metrics: () => Promise<Reply>;
  /** The OpenAPI document of what is served now. */
  readonly openapi: () => object;
  readonly cors: CorsPolicy;
  readonly compat: Compat;
  readonly emit: (event: HttpEvent) => void;
};

/** A GraphQL result that is ready to be sent. */
type GraphqlReady = { readonly contentType: string; readonly text: string };

/** A GraphQL request, its body read: the bytes as latin1. */
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

/** One request, and what is known of it before it is read. */
type Incoming = {
  readonly server: Server;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedMs: number;
};

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

function graphqlText(request: IncomingMessage, bytes: Buffer): GraphqlText {
  const { method, headers } = request;
  return { method, headers, queryText: splitTarget(request)[1], body: bytes.toString('latin1') };
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
  head[head.length - 1] = requestId;
  response.writeHead(200, head);
  response.end(text, 'latin1');
  tellAnswered(deps, incoming, 200, text.length);
}

/** Heads that were completed once; there are as many as origins of pages that ask. */
const maxHeads = 100;

/** Completes the head of a GraphQL answer with what all routes have. */
function createReadyHeads(deps: HttpDeps) {
  const heads = new Map<string, string[]>();
  return (request: IncomingMessage, { contentType, text }: GraphqlReady): ReadyReply => {
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
function addCommonHeaders(deps: HttpDeps, request: IncomingMessage, headers: OutgoingHttpHeaders): void {
  headers['x-content-type-options'] = 'nosniff';
  addCorsHeaders(deps.cors, request.headers, headers);
}

function tellAnswered(
  { emit }: HttpDeps,
  { request, requestId, startedMs }: Pick<Incoming, 'request' | 'requestId' | 'startedMs'>,
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
