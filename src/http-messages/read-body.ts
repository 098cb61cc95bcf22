import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { releaseBytes } from '../base/bytes.ts';
import { GatewayError } from '../base/errors.ts';
import { afterReading } from './after-reading.ts';

/** Chunks that a body may have in addition to one per `bytesPerChunk` bytes. */
const maxSmallChunks = 2000;
const bytesPerChunk = 16;

/** Requests whose bodies have too many chunks; they may not be read yet. */
const overChunked = new WeakSet<IncomingMessage>();

/**
 * Fails a body with more chunks than its length explains. A chunk of one byte is six bytes on the wire and costs more than a microsecond
 * of the event loop, so a megabyte of them would hold it for half a second.
 */
export function limitChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  let chunks = 0;
  let bytes = 0;
  const push = request.push;
  // Node calls it for each chunk, whether or not the body is being read.
  request.push = (chunk, encoding) => {
    if (chunk === null) return push.call(request, chunk, encoding);
    chunks++;
    bytes += chunk.length;
    if (chunks <= maxSmallChunks + bytes / bytesPerChunk) return push.call(request, chunk, encoding);
    // Drops the chunks that the parser still has, and all bytes that it has not; `false` pauses the connection.
    request.push = () => false;
    request.socket.removeAllListeners('data');
    overChunked.add(request);
    failBody(request, tooManyChunks());
    return false;
  };
}

/** The limits of a body. */
export type BodyLimits = {
  readonly maxBytes: number;
  /** Maximum milliseconds to wait for each next part. */
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
  try {
    return decodeBody(bytes);
  } finally {
    releaseBytes(bytes);
  }
}

/**
 * Decodes a body as UTF-8 text.
 * @throws GatewayError `invalid_body`
 */
export function decodeBody(bytes: Buffer): string {
  // Most bodies are ASCII, which needs no decoding.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw new GatewayError('invalid_body', 'The request body is not UTF-8 text');
}

/** Milliseconds for which the rest of a refused body is dropped. */
const lingerMs = 2000;

/**
 * Drops the rest of a body of known length behind its response, for up to two seconds, instead of closing the connection at once: unread bytes would
 * reset it, and a client that sends its whole body before it reads, as nginx does, would get no response. Call it before the response is written.
 */
export function dropRest(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls it behind the last response of a connection.
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
  request.removeAllListeners('data').removeAllListeners('readable').on('data', releaseBytes).resume();
}

/** Requests whose bodies are being read, with the function that fails the reading. */
const reading = new WeakMap<IncomingMessage, (error: GatewayError) => void>();

/**
 * Fails the reading of a body whose rest is unreadable.
 * @returns whether it was being read; if so, its reader answers with the error
 */
export function failBody(request: IncomingMessage, error: GatewayError): boolean {
  const fail = reading.get(request);
  fail?.(error);
  return fail !== undefined;
}

/** Maximum chunks of a body that are kept before they are joined. */
const maxLoose = 1000;

/**
 * Collects a body's bytes by events: an async iterator over the stream would cost as much as the rest of a hit.
 * @param done called once; never if the caller goes away, because there is no one to answer
 */
export function collectBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
  done: (result: Buffer | GatewayError) => void,
): void {
  // Without a body there is no `end` (`optimizeEmptyRequests`).
  if (request.readableEnded) {
    done(Buffer.alloc(0));
    return;
  }
  const chunks: Buffer[] = [];
  let joined = 0;
  let length = 0;
  let isDone = false;
  let timer: NodeJS.Timeout | undefined;
  // A short body arrives in one piece with its head, and has been parsed by the next tick.
  process.nextTick(() => {
    if (isDone || request.complete) return;
    timer = setTimeout(() => void expire(), timeoutMs);
  });
  // Bytes that arrived while the event loop was busy are in time, and restart the timer.
  const expire = async () => {
    const before = length;
    await afterReading();
    if (length === before && !request.destroyed) finish(tooSlow(timeoutMs));
  };
  const finish = (result: Buffer | GatewayError) => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    reading.delete(request);
    if (result instanceof GatewayError) request.pause();
    for (const chunk of chunks.splice(0)) if (chunk !== result) releaseBytes(chunk);
    done(result);
  };
  reading.set(request, finish);
  request.on('data', (chunk: Buffer) => {
    if (isDone) return releaseBytes(chunk);
    length += chunk.length;
    chunks.push(chunk);
    // A body may arrive byte by byte, and each Buffer takes some 200 bytes.
    if (chunks.length - joined > maxLoose) chunks.push(Buffer.concat(chunks.splice(joined++)));
    timer?.refresh();
    if (length > maxBytes) finish(tooLarge(maxBytes));
  });
  request.once('end', () => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) finish(tooLarge(maxBytes));
  if (overChunked.has(request)) finish(tooManyChunks());
}

/**
 * Reads a body's bytes as they arrive; a slow consumer slows the caller down.
 * @throws GatewayError `body_too_large`, `request_timeout`, `cancelled`
 */
export async function* streamBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (overChunked.has(request)) throw tooManyChunks();
  if (request.readableEnded) return;
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  reading.set(request, failed.reject);
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>; // bytes, because no encoding is set
  let length = 0;
  try {
    for (;;) {
      let isOver = false;
      const expire = async () => {
        await afterReading();
        if (!isOver) failed.reject(tooSlow(timeoutMs));
      };
      const timer = setTimeout(() => void expire(), timeoutMs);
      const next = await Promise.race([chunks.next(), failed.promise])
        .catch(cause => {
          throw cause instanceof GatewayError ? cause : wentAway(cause);
        })
        .finally(() => {
          isOver = true;
          clearTimeout(timer);
        });
      if (next.done) return;
      length += next.value.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      yield next.value;
    }
  } finally {
    reading.delete(request);
    request.pause();
  }
}

function wentAway(cause: unknown): GatewayError {
  return new GatewayError('cancelled', 'The caller went away before the end of the request body', { cause });
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('body_too_large', `The request body is over the limit of ${maxBytes} bytes`);
}

function tooManyChunks(): GatewayError {
  const message = `The request body has too many chunks; allowed: ${maxSmallChunks}, and one more for each ${bytesPerChunk} bytes`;
  return new GatewayError('body_too_large', message);
}

function tooSlow(timeoutMs: number): GatewayError {
  return new GatewayError('request_timeout', `Nothing of the request body arrived within ${timeoutMs} ms`);
}
