import { createReadStream } from 'node:fs';
import { constants, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { BodyError } from './split-events.ts';

/** The largest window of zstd, 8 MB, which a decoder needs as memory. Source: RFC 9659, which forbids larger ones. */
const windowLogMax = 23;

/** Content encodings of a body with events. */
const decoders = {
  gzip: createGunzip,
  deflate: createInflate,
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: windowLogMax } }),
};
export type BodyEncoding = keyof typeof decoders;

export const bodyEncodings = Object.keys(decoders) as readonly BodyEncoding[]; // the keys of a literal

/** Maximum bytes of a body after decoding; Vector's batches have at most ten million. */
export const maxEventsBytes = 16 * 1024 * 1024;

/**
 * Reads a file into memory, decoded.
 * @throws BodyError if it is not of that encoding, or too large; the system's error
 */
export async function readEncoded(file: string, encoding: BodyEncoding | undefined): Promise<Buffer> {
  const raw = createReadStream(file);
  const plain = encoding ? raw.pipe(decoders[encoding]()) : raw;
  raw.on('error', error => plain.destroy(error));
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of plain) {
      length += part.length;
      if (length > maxEventsBytes) {
        throw new BodyError(`has more than ${maxEventsBytes} bytes when decoded`, 'body_too_large');
      }
      parts.push(part);
    }
  } catch (cause) {
    if (cause instanceof BodyError || raw.errored) throw cause;
    throw new BodyError(`is not ${encoding}: ${cause instanceof Error ? cause.message : cause}`);
  } finally {
    raw.destroy();
    plain.destroy();
  }
  return Buffer.concat(parts);
}
