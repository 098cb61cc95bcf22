import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../base/errors.ts';

/** Reads no more of a body in chunks than came with the head, until somebody collects it: what waits unread is counted in bytes, not chunks. */
export function holdChunks({ headers, socket }: IncomingMessage): void {
  if (headers['transfer-encoding'] !== undefined) socket.pause();
}

/** The limits of a body. */
export type BodyLimits = {
  readonly maxBytes: number;
  /** Milliseconds within which each next part must arrive. */
  readonly timeoutMs: number;
};

/**
 * Reads a whole request body as UTF-8 text.
 * @throws GatewayError `body_too_large`, `invalid_body`, `request_timeout`, `invalid_request`, `cancelled`
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<string> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    collectBody(request, limits, result =>
      result instanceof GatewayError ? reject(result) : resolve(result),
    );
    request.once('error', cause => failBody(request, wentAway(cause)));
    request.once('close', () => {
      // `close` also follows `end`; an Error is expensive to make.
      if (!request.complete) failBody(request, wentAway(undefined));
    });
  });
  return decodeBody(bytes);
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

/** Bodies that are being read, with the function that fails each. */
const reading = new WeakMap<IncomingMessage, (error: GatewayError) => void>();

/**
 * Fails the reading of a body, the rest of which is unreadable.
 * @returns whether it was being read; if so, its reader answers with the error
 */
export function failBody(request: IncomingMessage, error: GatewayError): boolean {
  const fail = reading.get(request);
  fail?.(error);
  return fail !== undefined;
}

/** Chunks of a body that are kept before they are joined. */
const maxLoose = 1000;

/** A body whose chunks are shorter on average than so many bytes, a thousand of them long, is read no faster than so many a second. */
const tinyBytes = 64;
const maxTinyPerSecond = 5000;

/**
 * Collects a body's bytes, by events: an async iterator over the stream costs as much as the rest of a hit.
 * @param done called once; never if the caller goes away, since there is nobody to answer
 */
export function collectBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
  done: (result: Buffer | GatewayError) => void,
): void {
  const chunks: Buffer[] = [];
  let joined = 0;
  let length = 0;
  let isDone = false;
  const timer = setTimeout(() => {
    if (!request.destroyed) finish(tooSlow(timeoutMs));
  }, timeoutMs);
  const finish = (result: Buffer | GatewayError) => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    reading.delete(request);
    if (result instanceof GatewayError) request.pause();
    done(result);
  };
  reading.set(request, finish);
  request.socket.resume(); // see holdChunks
  const pace = paceTinyChunks(request, timeoutMs / 2);
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    chunks.push(chunk);
    pace(chunk.length);
    // A body may arrive byte by byte, and each Buffer takes some 200 bytes.
    if (chunks.length - joined > maxLoose) chunks.push(Buffer.concat(chunks.splice(joined++)));
    timer.refresh();
    if (length > maxBytes) finish(tooLarge(maxBytes));
  });
  request.once('end', () => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) finish(tooLarge(maxBytes));
}

/**
 * Slows down a sender of tiny chunks: each costs the event loop a microsecond, and the system hands over up to two megabytes of them at
 * a time. So nothing more is read of the connection in this turn, and for as long after it as the chunks would take at the pace.
 * @param maxRestMs milliseconds that one rest may take
 * @returns to be called with the length of each chunk
 */
function paceTinyChunks({ socket }: IncomingMessage, maxRestMs: number): (length: number) => void {
  let chunks = 0;
  let bytes = 0;
  let isResting = false;
  const rest = () => {
    // Node resumes the socket at the end of a request.
    socket.pause();
    const restMs = Math.min(maxRestMs, (chunks / maxTinyPerSecond) * 1000);
    chunks = 0;
    bytes = 0;
    setTimeout(() => {
      isResting = false;
      socket.resume();
    }, restMs).unref();
  };
  return length => {
    chunks++;
    bytes += length;
    if (isResting || chunks < maxLoose) return;
    if (bytes < chunks * tinyBytes) {
      isResting = true;
      socket.pause();
      setImmediate(rest);
    } else {
      chunks = 0;
      bytes = 0;
    }
  };
}

function wentAway(cause: unknown): GatewayError {
  return new GatewayError('cancelled', 'The caller went away before the end of the request body', { cause });
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('body_too_large', `The request body is over the limit of ${maxBytes} bytes`);
}

function tooSlow(timeoutMs: number): GatewayError {
  return new GatewayError('request_timeout', `Nothing of the request body arrived within ${timeoutMs} ms`);
}
