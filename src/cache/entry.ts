import { hash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { digestBytes, joinBytes, ownMemory } from '../base/bytes.ts';
import { bodyClosing, bodyOpening, type Column, type ResultSet } from '../base/rows.ts';
import { createPermits, type JoinedCallers } from '../base/turns.ts';
import { versionBytes } from '../store/store.ts';
import type { CacheKey } from './cache-request.ts';

/** The rows of one cache key as they are kept: before redaction, rendered as the exact REST body. */
export type Entry = {
  /** `versionBytes` random bytes as latin1, unique to each entry. A string because a short Buffer would keep a whole pool slab alive. */
  readonly version: string;
  /** The key's canonical text. */
  readonly canonical: string;
  /** The generation of the key's group when the query began. */
  readonly generation: string;
  /** When the query began; milliseconds since 1970. */
  readonly createdAtMs: number;
  /** Milliseconds the query took. */
  readonly loadMs: number;
  /** Whether the worker made it, rather than a request. */
  readonly isWarmed: boolean;
  /** Bytes that the query read, where the engine counts them. */
  readonly readBytes?: number | undefined;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** Whether the query had more rows. */
  readonly isTruncated: boolean;
  /** Digest of the body, base64url: equal bodies have equal ones, whenever they were made. */
  readonly bodyDigest: string;
  /** `{"result":[…]}`, UTF-8. */
  readonly body: Buffer;
};

/**
 * Renders rows as the entry of a key, and the entry as the value of a store. Long bodies are hashed in slices of the event loop, and compressed
 * on other threads.
 * @param maxBytes of the body; a longer one gets no value
 */
export async function makeEntry(
  facts: Pick<Entry, 'canonical' | 'generation' | 'createdAtMs' | 'loadMs' | 'isWarmed' | 'readBytes'>,
  { columns, rowsJson, rowCount, isTruncated = false }: ResultSet,
  maxBytes: number,
): Promise<{ entry: Entry; value: Buffer | undefined }> {
  const rendered = await renderBody(rowsJson);
  const version = randomBytes(versionBytes).toString('latin1');
  const bodyDigest = await digestBytes(rendered);
  const all = { version, ...facts, columns, rowCount, isTruncated, bodyDigest, body: rendered };
  if (rendered.length > maxBytes) return { entry: all, value: undefined };
  const value = await encodeEntry(all);
  // A body that is stored uncompressed is kept once: as a part of the store's value.
  const isPart = rendered.length < minCompressedBytes && value.length - rendered.length <= maxBesideBytes;
  return { entry: { ...all, body: isPart ? value.subarray(-rendered.length) : rendered }, value };
}

/** The body of a REST answer with these rows: `{"result":[…]}`. */
export function renderBody(rowsJson: Buffer): Promise<Buffer> {
  return joinBytes([Buffer.from(bodyOpening), rowsJson, Buffer.from(bodyClosing)]);
}

/**
 * Changes with the layout below. An entry of another layout is not read, and has another key: otherwise versions that run at the same time
 * would replace each other's entries.
 */
const layoutVersion = 4;

/** The key of the entry of a group for this canonical text. */
export function cacheKey(group: string, canonical: string): CacheKey {
  return { group, digest: hash('sha256', `${layoutVersion} ${canonical}`, 'hex'), canonical };
}

/** Longer bodies are compressed on other threads; below this, handing over to the thread pool costs more than the work itself. */
const maxBytesNow = 256 * 1024;

/** Shorter bodies are stored uncompressed: decompressing them would cost more than it saves. */
const minCompressedBytes = 16 * 1024;

/** Maximum bytes beside a body that an entry keeps alive: a header holds the caller's SQL, which may be far longer than its rows. */
const maxBesideBytes = 4 * 1024;

const zstdCompressAsync = promisify(zstdCompress);

/** Higher levels take longer and save little more on JSON rows. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/**
 * Encodes an entry for a store: its version, the length of its header (4 bytes, big-endian), the header as JSON, then the body, compressed
 * with Zstandard (RFC 8878) if it is long.
 */
export async function encodeEntry({ version, body, ...facts }: Entry): Promise<Buffer> {
  const isCompressed = body.length >= minCompressedBytes;
  const ofBody = { isCompressed, bodyBytes: body.length };
  const header = Buffer.from(JSON.stringify({ layout: layoutVersion, ...ofBody, ...facts }));
  const headerLength = Buffer.alloc(4);
  headerLength.writeUInt32BE(header.length);
  return joinBytes([
    versionInBytes(version),
    headerLength,
    header,
    isCompressed ? await compress(body) : body,
  ]);
}

async function compress(body: Buffer): Promise<Buffer> {
  // Given the length, it allocates no more than that.
  const options = { ...compression, pledgedSrcSize: body.length };
  return body.length > maxBytesNow ? zstdCompressAsync(body, options) : zstdCompressSync(body, options);
}

/** The callers who wait for an entry to be decoded. */
type Decoding = { readonly caller?: string | undefined; readonly joined?: JoinedCallers | undefined };

/**
 * Decodes a stored entry; undefined if the bytes have another layout, belong to another key, or are damaged. Long bodies are
 * decompressed on other threads, in turns between callers.
 */
export async function decodeEntry(
  bytes: Buffer,
  canonical: string,
  by: Decoding = {},
): Promise<Entry | undefined> {
  try {
    const { isCompressed, bodyStart: start, bodyBytes, facts } = readHeader(bytes);
    if (facts.canonical !== canonical) return undefined;
    const stored = bytes.subarray(start);
    const body = isCompressed ? await decompress(stored, by, bodyBytes) : ownBody(stored, bytes.length);
    return { version: versionOf(bytes), ...facts, body };
  } catch {
    return undefined;
  }
}

const zstdDecompressAsync = promisify(zstdDecompress);

/** Long bodies are decompressed one at a time: a few hundred bytes may become eight million, and the threads of the pool have the priority of the event loop. */
const takePermit = createPermits(1);

/** @param length bytes of the plain body; absent if unknown */
async function decompress(
  stored: Buffer,
  { caller = '', joined }: Decoding,
  length = Infinity,
): Promise<Buffer> {
  if (length <= maxBytesNow) return ownMemory(zstdDecompressSync(stored));
  const release = await takePermit(caller, joined);
  try {
    // One byte more than the body, so that it comes in one piece.
    return await zstdDecompressAsync(stored, length < Infinity ? { chunkSize: length + 1 } : {});
  } finally {
    release();
  }
}

type Header = {
  readonly isCompressed: boolean;
  /** Bytes of the plain body; absent in entries of older gateways. */
  readonly bodyBytes: number | undefined;
  /** Where the body begins. */
  readonly bodyStart: number;
  readonly facts: Omit<Entry, 'version' | 'body'>;
};

/** Parsed headers by version: when every hit asks the store, most values have a header that was parsed before. */
const headers = new LRUCache<string, Header>({
  maxSize: 4 * 1024 * 1024,
  // A header contains the caller's SQL, which may be long.
  sizeCalculation: ({ bodyStart }) => bodyStart,
});

/** Bytes of the body of a stored entry, if decoding it means work on another thread; else 0. */
export function decompressedBytes(bytes: Buffer): number {
  try {
    const { isCompressed, bodyBytes = 0 } = readHeader(bytes);
    return isCompressed && bodyBytes > maxBytesNow ? bodyBytes : 0;
  } catch {
    return 0;
  }
}

function readHeader(bytes: Buffer): Header {
  const version = versionOf(bytes);
  const known = headers.get(version);
  if (known) return known;
  const header = parseHeader(bytes);
  headers.set(version, header);
  return header;
}

/** @throws RangeError, SyntaxError or Error for bytes that `encodeEntry` did not write */
function parseHeader(bytes: Buffer): Header {
  const start = versionBytes + 4;
  const bodyStart = start + bytes.readUInt32BE(versionBytes);
  const { layout, isCompressed, bodyBytes, ...facts } = JSON.parse(bytes.toString('utf8', start, bodyStart));
  if (layout !== layoutVersion) throw new Error('An entry of another layout');
  return { isCompressed, bodyStart, bodyBytes, facts };
}

/** Copies a body that is a slice of a larger buffer than its value, or of a far longer value: the entry would keep these alive. */
function ownBody(body: Buffer, valueLength: number): Buffer {
  const isTight = body.buffer.byteLength <= valueLength && valueLength - body.length <= maxBesideBytes;
  return isTight ? body : ownMemory(body);
}

/** The version of a stored value, of whichever layout. */
export function versionOf(bytes: Buffer): string {
  return bytes.toString('latin1', 0, versionBytes);
}

/** The bytes of a version. */
export function versionInBytes(version: string): Buffer {
  return Buffer.from(version, 'latin1');
}
