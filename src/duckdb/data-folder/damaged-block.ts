import { open } from 'node:fs/promises';

/**
 * Reads in an error of DuckDB where it found a file damaged: a block whose checksum is wrong, or that ends too early.
 * @returns a place in that block, in bytes from the beginning of its file; undefined for other errors
 */
export function damagedPlace(error: unknown): number | undefined {
  const text = error instanceof Error ? error.message : String(error);
  const place =
    /checksum \d+ does not match .* in block at location (\d+)/.exec(text)?.[1] ??
    /Could not read enough bytes from file .* from location (\d+)/.exec(text)?.[1];
  return place === undefined ? undefined : Number(place);
}

/** DuckDB's file begins with three headers; the two latter say how many blocks there are, and the one written last counts. */
const headerBytes = 4096;
export const headersBytes = 3 * headerBytes;

/** What a file says of its blocks. @param headers its first bytes, `headersBytes` of them */
export function readBlockCount(headers: Buffer): { readonly blocks: number; readonly blockBytes: number } {
  const [first, second] = [headerBytes, 2 * headerBytes].map(at => ({
    iteration: headers.readBigUInt64LE(at + 8),
    blocks: Number(headers.readBigUInt64LE(at + 32)),
    blockBytes: Number(headers.readBigUInt64LE(at + 40)),
  })) as [Latest, Latest]; // of two places
  return first.iteration > second.iteration ? first : second;
}

type Latest = ReturnType<typeof readBlockCount> & { readonly iteration: bigint };

/** Whether the block, or the header, at a place of a file is damaged: DuckDB does not say in which of several files it found one. */
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
    // One file may have more blocks than the other.
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
