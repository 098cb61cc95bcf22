import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../base/errors.ts';
import { afterReading } from '../http-messages/after-reading.ts';
import { answerRaw, clientFault, dropInput } from '../http-messages/answer-raw.ts';
import { createConnections, type RequestPair } from '../http-messages/connections.ts';
import type { EndReason } from '../http-messages/http-events.ts';
import { keepAliveMs, maxHeaderBytes, maxHeaders, maxPipelined } from '../http-messages/http-limits.ts';
import { failBody, limitChunks } from '../http-messages/read-body.ts';
import { createUnreadAnswers } from '../http-messages/unread-answers.ts';
import { createRequestHandler, type HandlerDeps } from './handle-request.ts';
import { type StopOptions, stopServer } from './stop-server.ts';

/** Limits on clients' connections. Times are milliseconds. */
export type ConnectionLimits = {
  /** Time within which the request headers must arrive, and each next part of a body. */
  readonly receiveTimeoutMs: number;
  /** Time within which the client must read at least a part of its response. */
  readonly sendTimeoutMs: number;
  /** Maximum bytes of responses that wait for their readers, over all connections. */
  readonly maxUnreadBytes: number;
  readonly maxConnections: number;
};

export type HttpDeps = Omit<HandlerDeps, 'connections' | 'isLast' | 'receiveTimeoutMs' | 'unread'> & {
  readonly limits: ConnectionLimits;
};

/** The HTTP server. */
export type HttpServer = {
  readonly server: Server;
  /** Open connections. */
  connections(): number;
  /** Bytes of responses that wait for their readers. */
  unreadBytes(): number;
  /** Answers the requests that have arrived, then ends; resolves when the last connection is closed. */
  stop(options: StopOptions): Promise<void>;
};

/** Makes the HTTP server of all routes; it does not listen yet. */
export function createHttpServer(deps: HttpDeps): HttpServer {
  const { limits, emit } = deps;
  const server = openServer(limits.receiveTimeoutMs, request => handler.beginUpgrade(request));
  const onEnded = (reason: EndReason) => emit({ type: 'http.connection_ended', reason });
  const { sendTimeoutMs: timeoutMs, maxUnreadBytes: maxBytes } = limits;
  const unread = createUnreadAnswers({ timeoutMs, maxBytes, onEnded });
  const connections = createConnections({
    max: limits.maxConnections,
    isAccepted: deps.pipeline.tokens.isAccepted,
    onEvicted: () => onEnded('connection_limit'),
  });
  const isLast = ({ request, response }: RequestPair) => {
    const last = connections.inFlight(request.socket);
    return last === undefined || last.response === response;
  };
  const handler = createRequestHandler({ ...deps, ...limits, unread, isLast, connections });

  /** Answers a malformed request, after the requests that preceded it on the connection. */
  function refuse(socket: Duplex, error: GatewayError): void {
    const pair = connections.inFlight(socket);
    // If the malformed part is the body of a request in flight, the reader of that body answers.
    if (pair && !pair.request.complete && failBody(pair.request, error)) return;
    if (error.code === 'request_timeout') onEnded('slow_sender');
    if (!pair) return void answerRaw(deps, socket, error);
    // Otherwise the parser would report each further piece as another error.
    dropInput(socket);
    pair.response.once('close', () => answerRaw(deps, socket, error));
  }

  /** Refuses the first request over the limit of its connection, and ends the connection with that response. */
  function refusePipelined(request: IncomingMessage, response: ServerResponse): void {
    dropInput(request.socket);
    response.shouldKeepAlive = false;
    const message = `${maxPipelined} requests are waiting on this connection already; allowed: ${maxPipelined}`;
    handler.refuse(request, response, new GatewayError('too_many_requests', message));
  }

  /** Answers a request, unless its connection has too many waiting. */
  function receive(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    // The connection was refused already, because there were too many.
    if (request.socket.writableEnded) return;
    const admission = connections.begin(request, response);
    if (admission === 'answer') {
      limitChunks(request);
      answer();
    }
    if (admission === 'refuse') refusePipelined(request, response);
  }

  server.on('connection', socket => {
    // Connections whose clients have stopped reading make room, too.
    if (connections.add(socket) || (unread.endStopped() && connections.add(socket))) {
      handler.watch(socket);
      return;
    }
    onEnded('connection_limit');
    const message = `${limits.maxConnections} connections are open, and none of them may be closed for another`;
    answerRaw(deps, socket, new GatewayError('overloaded', message));
  });
  server.on('request', (request, response) =>
    receive(request, response, () => handler.handle(request, response)),
  );
  server.on('checkExpectation', (request, response) => {
    const error = new GatewayError('expectation_failed', 'Expect may only be 100-continue');
    receive(request, response, () => handler.refuse(request, response, error));
  });
  server.on('clientError', (error, socket) => refuse(socket, clientFault(error)));
  server.on('timeout', endUnlessRead);
  server.on('connect', (_request, socket) => {
    // Node has removed its parser and listeners from this connection: an unhandled error would end the process.
    socket.on('error', () => socket.destroy());
    dropInput(socket);
    refuse(socket, new GatewayError('method_not_allowed', 'CONNECT is not offered: this is not a proxy'));
  });

  return {
    server,
    connections: () => connections.count,
    unreadBytes: () => unread.bytes,
    async stop(options) {
      handler.saysUnready();
      emit({ type: 'http.stopping', connections: connections.count });
      await stopServer(server, connections, handler, options);
      unread.close();
    },
  };
}

/** Ends a connection that has been idle for too long, unless its client has just sent something. */
async function endUnlessRead(socket: Socket): Promise<void> {
  const { bytesRead } = socket;
  await afterReading();
  if (socket.bytesRead === bytesRead) socket.destroy();
}

/** @param onUpgrade called with each request for another protocol, before it is handled like any other */
function openServer(receiveTimeoutMs: number, onUpgrade: (request: IncomingMessage) => void): Server {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    requireHostHeader: false,
    keepAliveTimeout: keepAliveMs,
    // A request without a body is complete with its head: it emits no `data` or `end`, and costs no turns for them.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback(request) {
      onUpgrade(request);
      return false;
    },
    headersTimeout: receiveTimeoutMs,
    // Limits clients that send byte by byte, where each byte counts as progress.
    requestTimeout: 4 * receiveTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, Math.ceil(receiveTimeoutMs / 4)),
  });
  server.maxHeadersCount = maxHeaders;
  return server;
}
