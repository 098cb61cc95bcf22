import { open } from 'node:fs/promises';
import { messageOf } from '../../base/errors.ts';

/**
 * Finds in an error of DuckDB where a file is damaged: a block with a wrong checksum, or one that ends too early.
 * @returns a position in that block, in bytes from the start of its file; undefined for other errors
 */
export function damagedPlace(error: unknown): number | undefined {
  const text = messageOf(error);
  const place =
    /checksum \d+ does not match .* in block at location (\d+)/.exec(text)?.[1] ??
    /Could not read enough bytes from file .* from location (\d+)/.exec(text)?.[1];
  return place === undefined ? undefined : Number(place);
}

/** Bytes of a header. A file of DuckDB begins with three; the last two have the number of blocks, and the more recent one counts. */
const headerBytes = 4096;
export const headersBytes = 3 * headerBytes;

/** The number and size of a file's blocks. @param headers its first `headersBytes` bytes */
export function readBlockCount(headers: Buffer): { readonly blocks: number; readonly blockBytes: number } {
  const [first, second] = [headerBytes, 2 * headerBytes].map(at => ({
    iteration: headers.readBigUInt64LE(at + 8),
    blocks: Number(headers.readBigUInt64LE(at + 32)),
    blockBytes: Number(headers.readBigUInt64LE(at + 40)),
  })) as [Latest, Latest]; // of two places
  return first.iteration > second.iteration ? first : second;
}

type Latest = ReturnType<typeof readBlockCount> & { readonly iteration: bigint };

/** Whether the block or header at a position of a file is damaged: DuckDB does not say in which of several files it found one. */
export async function isDamagedAt(path: string, place: number): Promise<boolean> {
  const file = await open(path).catch(() => undefined);
  if (!file) return false;
  try {
    const { buffer: headers, bytesRead: found } = await file.read(
      Buffer.alloc(headersBytes),
      0,
      headersBytes,
      0,
    );
    if (found < headersBytes) return true;
    const { blocks, blockBytes } = readBlockCount(headers);
    const isHeader = place < headersBytes;
    const [bytes, first] = isHeader ? [headerBytes, 0] : [blockBytes, headersBytes];
    const block = Math.floor((place - first) / bytes);
    // The other file may have more blocks.
    if (!isHeader && block >= blocks) return false;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, first + block * bytes);
    // The first eight bytes are the checksum of the others.
    return bytesRead < bytes || buffer.readBigUInt64LE(0) !== checksumOf(buffer.subarray(8));
  } finally {
    await file.close();
  }
}

/** DuckDB's checksum of a whole number of 64-bit words. */
function checksumOf(bytes: Buffer): bigint {
  let sum = 5381n;
  for (let at = 0; at < bytes.length; at += 8) {
    sum ^= BigInt.asUintN(64, bytes.readBigUInt64LE(at) * 0xbf58476d1ce4e5b9n);
  }
  return sum;
}
