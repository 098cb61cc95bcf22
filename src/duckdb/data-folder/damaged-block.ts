import { open } from 'node:fs/promises';

/**
 * Reads in an error of DuckDB which block it found damaged.
 * @returns where the block begins in its file, in bytes; undefined for other errors
 */
export function damagedPlace(error: unknown): number | undefined {
  const text = error instanceof Error ? error.message : String(error);
  const place = /checksum \d+ does not match .* in block at location (\d+)/.exec(text)?.[1];
  return place === undefined ? undefined : Number(place);
}

/** Where a DuckDB file says how many bytes its blocks have. */
const blockBytesPlace = 4096 + 40;

/** Whether the block at a place of a file is damaged: DuckDB does not say in which of several files it found one. */
export async function isDamagedAt(path: string, place: number): Promise<boolean> {
  const file = await open(path).catch(() => undefined);
  if (!file) return false;
  try {
    const { buffer: header } = await file.read(Buffer.alloc(8), 0, 8, blockBytesPlace);
    const blockBytes = Number(header.readBigUInt64LE());
    const { buffer, bytesRead } = await file.read(Buffer.alloc(blockBytes), 0, blockBytes, place);
    // The first eight bytes are the checksum of the others.
    return bytesRead < blockBytes || buffer.readBigUInt64LE(0) !== checksumOf(buffer.subarray(8));
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
