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
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (request.complete) throw new GatewayError('invalid_body', 'The request body is not UTF-8 text');
    throw new GatewayError('cancelled', 'The caller went away before the end of the request body', {
      cause: error,
    });
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('body_too_large', `The request body is over the limit of ${maxBytes} bytes`);
}
