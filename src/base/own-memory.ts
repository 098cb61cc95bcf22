/**
 * The same bytes in memory of their own, for what is kept: they may be a slice of a far larger buffer, as what zlib has compressed is one of 16 KiB.
 * Bytes that share no memory are not copied.
 */
export function ownMemory(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
