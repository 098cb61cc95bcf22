import { availableParallelism } from 'node:os';
import { pipeline, Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib';
import { ownMemory } from '../base/bytes.ts';
import { createJoined, createPermits, type Joined, type JoinedCallers } from '../base/turns.ts';
import { keepDerivedBytes } from './derived-bytes.ts';

/** Whether a browser requests a page: Accept names `text/html`, with no lower weight than `application/json`. */
export function prefersHtml(accept = ''): boolean {
  const weights = weightsOf(accept);
  const html = weights.get('text/html') ?? 0;
  return html > 0 && html >= (weights.get('application/json') ?? 0);
}

/**
 * Chooses a media type: the one with the highest weight; among equal weights, the one that is accepted first.
 * @param accept the `Accept` header; absent or empty: anything is accepted
 * @param offered media types, by the media ranges that match them
 */
export function preferredType(
  accept: string | undefined,
  offered: ReadonlyMap<string, string>,
): string | undefined {
  let best: string | undefined;
  let highest = 0;
  for (const [range, weight] of weightsOf(accept || '*/*')) {
    const type = offered.get(range);
    if (type !== undefined && weight > highest) [best, highest] = [type, weight];
  }
  return best;
}

/** Cheap levels: a body of 200 KB is compressed in well under a millisecond, and higher levels save little more. */
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const gzipOptions = { level: 1 };

/** The content encodings, in our order of preference (RFC 8878, RFC 7932, RFC 1952). */
const encoders = {
  zstd: {
    inline: (body: Buffer) => zstdCompressSync(body, zstdOptions),
    inThreadPool: (body: Buffer) => promisify(zstdCompress)(body, zstdOptions),
    open: () => createZstdCompress(zstdOptions),
  },
  br: {
    inline: (body: Buffer) => brotliCompressSync(body, brotliOptions),
    inThreadPool: (body: Buffer) => promisify(brotliCompress)(body, brotliOptions),
    open: () => createBrotliCompress(brotliOptions),
  },
  gzip: {
    inline: (body: Buffer) => gzipSync(body, gzipOptions),
    inThreadPool: (body: Buffer) => promisify(gzip)(body, gzipOptions),
    open: () => createGzip(gzipOptions),
  },
} satisfies Record<string, Encoder>;

type Encoder = {
  inline: (body: Buffer) => Buffer;
  inThreadPool: (body: Buffer) => Promise<Buffer>;
  /** Opens an encoder for a body that comes in parts. */
  open: () => Transform;
};

export type ContentEncoding = keyof typeof encoders;

/** All of them, in that order. */
const allEncodings = Object.keys(encoders) as readonly ContentEncoding[]; // the keys of a literal

/** Shorter bodies are sent as they are. */
const minEncodedBytes = 1024;

/** The choice for each Accept-Encoding header seen so far; clients send few different ones. */
const choices = new Map<string, ContentEncoding | undefined>();
const maxChoices = 500;
const maxKeptLength = 200;

/**
 * Chooses the content encoding of a body.
 * @param accept the `Accept-Encoding` header
 * @param length of the body, in bytes
 * @returns undefined if the body is sent as it is
 */
export function chooseEncoding(accept: string | undefined, length: number): ContentEncoding | undefined {
  if (accept === undefined || length < minEncodedBytes) return undefined;
  // Long headers are not remembered: five hundred of them would be 64 MB.
  if (accept.length > maxKeptLength) return preferredEncoding(accept, allEncodings);
  if (choices.has(accept)) return choices.get(accept);
  if (choices.size >= maxChoices) choices.clear();
  const choice = preferredEncoding(accept, allEncodings);
  choices.set(accept, choice);
  return choice;
}

/** The weights of an Accept or Accept-Encoding header by lower-case name. Other parameters are ignored: clients send `application/json; charset=utf-8`. */
export function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of listStart(header).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map(text => text.trim());
    // A weight that is not a number becomes NaN, which is never the highest.
    weights.set(name, Number(parameters.find(text => text.startsWith('q='))?.slice(2) ?? '1'));
  }
  return weights;
}

/**
 * Chooses an encoding by RFC 9110, section 12.5.3: the highest weight wins; among equal weights, the first one offered.
 * @param accept the `Accept-Encoding` header
 */
export function preferredEncoding<Offered extends ContentEncoding>(
  accept: string,
  offered: readonly Offered[],
): Offered | undefined {
  const weights = weightsOf(accept);
  const weightOf = (encoding: string) => weights.get(encoding) ?? weights.get('*') ?? 0;
  // `*` does not apply to identity: the client asks for compression.
  const identityWeight = weights.get('identity') ?? 0;
  let best: Offered | undefined;
  for (const encoding of offered) {
    const weight = weightOf(encoding);
    if (weight > 0 && weight >= identityWeight && weight > (best ? weightOf(best) : 0)) best = encoding;
  }
  return best;
}

/** Encoded bodies. */
const kept = keepDerivedBytes();

/** For shorter bodies, handing over to the thread pool costs more than compressing inline. */
const maxInlineBytes = 64 * 1024;

/**
 * Long bodies that are encoded at the same time: on half of the processors, because the thread pool has the priority of the event loop, and two at most, because
 * its four threads are for files, digests and entries of the cache as well.
 */
const permitOf = createPermits(Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2))));

/** Bodies that are being encoded and will be kept, by the same key, and who waits for them. */
const making = new Map<string, { readonly encoded: Promise<Buffer>; readonly joined: Joined }>();

async function encodeNow(
  body: Buffer,
  encoding: ContentEncoding,
  caller: string,
  joined?: JoinedCallers,
): Promise<Buffer> {
  const { inline, inThreadPool } = encoders[encoding];
  if (body.length <= maxInlineBytes) return inline(body);
  const release = await permitOf(caller, joined);
  return inThreadPool(body).finally(release);
}

function encodeToKeep(key: string, body: Buffer, encoding: ContentEncoding, caller: string) {
  const joined = createJoined();
  const encoded = encodeNow(body, encoding, caller, joined)
    .then(ownMemory)
    .finally(() => making.delete(key));
  return { encoded, joined };
}

/**
 * Encodes a body.
 * @param options.isKept whether the same body may be sent again: its encoded form is then kept as long as there is room
 * @param options.caller who waits for it: callers take turns with long ones
 */
export async function encodeBody(
  body: Buffer,
  encoding: ContentEncoding,
  { isKept, caller }: { readonly isKept: boolean; readonly caller: string },
): Promise<Buffer> {
  if (!isKept) return encodeNow(body, encoding, caller);
  const key = kept.keyOf(body, encoding);
  const known = kept.get(key);
  if (known) return known;
  const shared = making.get(key) ?? encodeToKeep(key, body, encoding, caller);
  making.set(key, shared);
  shared.joined.add(caller);
  const encoded = await shared.encoded;
  kept.set(key, encoded);
  return encoded;
}

/**
 * Encodes a body that comes in parts, as it is read.
 * @param parts ended by `return` if the result is
 */
export function encodeParts(
  parts: AsyncIterable<Buffer>,
  encoding: ContentEncoding,
): AsyncIterableIterator<Buffer> {
  const encoder = encoders[encoding].open();
  // An error of the parts destroys the encoder, whose reader throws it.
  pipeline(Readable.from(parts), encoder, () => undefined);
  const encoded = encoder[Symbol.asyncIterator]();
  const each: AsyncIterableIterator<Buffer> = {
    next: () => encoded.next(),
    async return() {
      // The encoder's own iterator would not destroy it if nothing was read yet.
      encoder.destroy();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => each,
  };
  return each;
}

/** Maximum characters read of a header that lists what a client accepts. Documented in `docs/rest.md`. */
const maxListLength = 1000;

/** The start of a list in a header, cut at a comma: no client needs more, and reading 128 KiB takes 25 ms. */
export function listStart(header: string): string {
  if (header.length <= maxListLength) return header;
  return header.slice(0, Math.max(0, header.lastIndexOf(',', maxListLength)));
}
