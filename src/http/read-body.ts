import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';

/** Whether the request announces a body; `Content-Length: 0` is none, whatever the Content-Type says. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads a whole request body as UTF-8 text.
 * @throws GatewayError `body_too_large`, `invalid_body`, `cancelled`
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return decodeBody(await collect(request, maxBytes));
}

/**
 * Reads a body's bytes as UTF-8 text.
 * @throws GatewayError `invalid_body`
 */
export function decodeBody(bytes: Buffer): string {
  // Most bodies are ASCII, which needs no decoding.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw new GatewayError('invalid_body', 'The request body is not UTF-8 text');
}

/** Reads a short body that was announced; a caller who goes away before its end is not told of. */
export function readShortBody(request: IncomingMessage, done: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
}

/** By events: an async iterator over the stream costs as much as all else of a hit. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) {
        request.pause();
        reject(tooLarge(maxBytes));
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.once('error', cause => reject(wentAway(cause)));
    request.once('close', () => {
      // Also said after the end; an error is dear to make.
      if (!request.complete) reject(wentAway(undefined));
    });
  });
}

function wentAway(cause: unknown): GatewayError {
  return new GatewayError('cancelled', 'The caller went away before the end of the request body', { cause });
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('body_too_large', `The request body is over the limit of ${maxBytes} bytes`);
}
