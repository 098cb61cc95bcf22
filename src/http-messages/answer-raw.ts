import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../base/errors.ts';
import { addCorsHeaders, type CorsPolicy } from './cors.ts';
import { maxHeaderBytes, maxHeaders, maxUrlLength } from './http-limits.ts';
import { type Compat, renderError } from './render-error.ts';

/** The error for a request that Node's parser refused. */
export function clientFault(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): GatewayError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return error.rawPacket?.includes('\n')
        ? new GatewayError(
            'headers_too_large',
            `The request headers are over the limit of ${maxHeaderBytes} bytes or ${maxHeaders} headers`,
          )
        : // In the middle of a long text it is unknown how it began.
          new GatewayError(
            'uri_too_long',
            `The URL is over the limit of ${maxUrlLength} bytes, or a header over that of ${maxHeaderBytes}`,
          );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout', 'The request did not arrive in time');
    case 'HPE_INVALID_URL':
      return new GatewayError(
        'invalid_request',
        'The URL is malformed; what is not ASCII must be percent-encoded',
      );
    default:
      return new GatewayError('invalid_request', 'The request is not well-formed HTTP/1.1');
  }
}

/** Answers on the bare socket, since there is no request object, and closes it. */
export function answerRaw(
  { cors, compat }: { cors: CorsPolicy; compat: Compat },
  socket: Duplex,
  error: GatewayError,
): void {
  // The parser may report bytes after the first error as further errors.
  if (socket.writableEnded) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const { status, headers, body } = renderError(error, requestId, compat);
  const all: OutgoingHttpHeaders = {
    date: new Date().toUTCString(),
    ...headers,
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'content-length': body.length,
    connection: 'close',
  };
  addCorsHeaders(cors, undefined, all);
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${error.code}\r\n${lines.join('')}\r\n`), body]));
  dropInput(socket);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/**
 * Reads and drops further bytes on a connection that a response is going to end: they will not be answered. Closing with unread bytes would
 * reset the connection before the client has read the response.
 */
export function dropInput(socket: Duplex): void {
  socket.removeAllListeners('data');
  socket.resume();
}

/** Milliseconds that a refused client has to read its response. */
const lingerMs = 2000;
