import { createHash, type Hash } from 'node:crypto';
import { takeTurns } from './turns.ts';

/** Bytes that are copied or hashed at a time: about a millisecond of work. */
const chunkBytes = 1024 * 1024;

/** Shared by all work on long buffers, so that many at once hold the event loop no longer than one. */
const turns = takeTurns();

/**
 * Joins bytes in memory of their own: short Buffers share a pool slab, and keeping one would keep the whole slab alive. Long ones are
 * copied in slices of the event loop: 60 MB take 40 ms.
 */
export async function joinBytes(parts: readonly Uint8Array[]): Promise<Buffer> {
  const all = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0));
  let end = 0;
  for (const part of parts) {
    const start = end;
    end += part.length;
    await inChunks(part, all.length, (chunk, at) => all.set(chunk, start + at));
  }
  return all;
}

/** The digest of short bytes: 128 bits of SHA-256 as base64url, enough to distinguish two bodies of one URL. */
export const digestShort = (bytes: Buffer) => finishDigest(createHash('sha256').update(bytes));

/** The same digest of bytes of any length: long ones are hashed in slices, because copying them to another thread would take as long. */
export async function digestBytes(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256');
  await inChunks(bytes, bytes.length, chunk => hash.update(chunk));
  return finishDigest(hash);
}

function finishDigest(hash: Hash): string {
  return hash.digest().toString('base64url', 0, 16);
}

/** @param length total bytes; short work is not split */
async function inChunks(
  bytes: Uint8Array,
  length: number,
  act: (chunk: Uint8Array, at: number) => void,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    if (length > chunkBytes) while (turns.isOver()) await turns.next();
    act(bytes.subarray(at, at + chunkBytes), at);
  }
}

/**
 * The same bytes in memory of their own, to be kept: they may be a slice of a far larger buffer, such as the 16 KiB of zlib's output.
 * Bytes that share no memory are not copied.
 */
export function ownMemory(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

/** Shorter memory is not worth the call, which takes a microsecond. */
const minReleasedBytes = 16 * 1024;

/**
 * Frees the memory of bytes that nobody reads again, now instead of when V8 collects: V8 lets 64 MB of dead bytes pass before it does. By
 * then they are scattered among live ones, and malloc can't return their pages to the system. Short bytes and slices of other memory stay.
 */
export function releaseBytes({ byteLength, buffer }: Uint8Array): void {
  if (byteLength < minReleasedBytes || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
