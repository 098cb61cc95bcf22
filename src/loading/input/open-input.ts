import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isDeepStrictEqual } from 'node:util';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { encodingOf } from '../../duckdb/files/text-encoding.ts';
import { splitLines } from '../../duckdb/split-lines.ts';
import { formatOf as namedFormatOf } from '../../endpoints/parse-source.ts';
import type { Source } from '../../endpoints/source.ts';
import type { ReadRow } from '../accept-rows.ts';
import { type Reject, readByDuckDb } from './read-by-duckdb.ts';
import { readCsv } from './read-csv.ts';

/** Formats of rows. */
export const inputFormats = ['ndjson', 'json', 'csv', 'parquet', 'lines', 'logflare'] as const;
export type InputFormat = (typeof inputFormats)[number];

/** Columns of the tables that Logflare keeps in Postgres. Source: its migration of `log_events`. */
const logflareColumns = ['body', 'event_message', 'id', 'timestamp'];

/** Rows from a file or a stream. */
export type RowsInput = {
  /** Bytes read so far; 0 for Parquet files and JSON arrays, which DuckDB reads. */
  readBytes(): number;
  /** For the format `logflare`, lines that are not rows at all, once all others are read. */
  rejects(): Promise<readonly Reject[]>;
  close(): Promise<void>;
} & (
  | { readonly format: 'logflare' /** Events. */; readonly lines: AsyncIterable<string> }
  | {
      readonly format: Exclude<InputFormat, 'logflare'>;
      /** Rows, or their JSON texts; for the format `lines`, lines of text. */
      readonly lines: AsyncIterable<string | ReadRow>;
    }
);

/** Bytes from which a format is recognised. */
const headBytes = 64 * 1024;

/**
 * Opens rows, compressed or not, whatever the name of their file.
 * @param from a path, or a stream
 * @param format default: recognised by the content
 * @throws the system's error
 */
export async function openInput(
  from: string | Readable,
  source: Source,
  format?: InputFormat,
): Promise<RowsInput> {
  let bytes = 0;
  const raw = typeof from === 'string' ? (await open(from)).createReadStream() : from;
  const counted = async function* () {
    for await (const part of raw) {
      bytes += part.length;
      yield part as Buffer;
    }
  };
  const plain = await decompress(await peek(Readable.from(counted(), { objectMode: false })));
  const isCsv = typeof from === 'string' && namedFormatOf(from) === 'csv';
  const found = format ?? formatOf(plain.head, source, isCsv);
  const close = async () => {
    raw.destroy();
    plain.stream.destroy();
  };
  if (found === 'ndjson' || found === 'lines') {
    return {
      format: found,
      lines: splitLines(plain.stream),
      readBytes: () => bytes,
      rejects: async () => [],
      close,
    };
  }
  if (found === 'csv') {
    return {
      format: found,
      lines: readCsv(plain.stream, plain.head, source),
      readBytes: () => bytes,
      rejects: async () => [],
      close,
    };
  }
  // DuckDB reads these by path; a stream is written to a file first.
  const isFile = typeof from === 'string' && !plain.isCompressed;
  const folder = isFile ? undefined : await mkdtemp(join(tmpdir(), 'import-'));
  const path = folder ? join(folder, 'rows') : String(from);
  const removeFolder = () => folder && rm(folder, { recursive: true, force: true });
  try {
    if (folder) await pipeline(plain.stream, createWriteStream(path));
    else await close();
    const shape = textOf(plain.head).startsWith('[') ? 'array' : 'unstructured';
    const reading = await readByDuckDb(path, found, source, shape);
    return {
      ...reading,
      format: found,
      readBytes: () => bytes,
      async close() {
        await close();
        reading.close();
        await removeFolder();
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** A stream and its beginning. */
type Peeked = { readonly head: Buffer; readonly stream: Readable };

async function peek(stream: Readable): Promise<Peeked> {
  const parts: Buffer[] = [];
  let length = 0;
  const iterator = stream[Symbol.asyncIterator]();
  while (length < headBytes) {
    const { done, value } = await iterator.next();
    if (done) break;
    parts.push(value);
    length += value.length;
  }
  const head = Buffer.concat(parts);
  const all = async function* () {
    if (head.length > 0) yield head;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) return;
      yield value as Buffer;
    }
  };
  return { head, stream: Readable.from(all(), { objectMode: false }) };
}

async function decompress({ head, stream }: Peeked): Promise<Peeked & { readonly isCompressed: boolean }> {
  const magic = head.toString('hex', 0, 4);
  const decoder = magic.startsWith('1f8b')
    ? createGunzip()
    : magic === '28b52ffd'
      ? createZstdDecompress()
      : undefined;
  if (!decoder) return { head, stream, isCompressed: false };
  // Errors come out of the decoder.
  pipeline(stream, decoder).catch(() => undefined);
  return { ...(await peek(decoder)), isCompressed: true };
}

/** @param isCsv whether the name says so */
function formatOf(head: Buffer, { load, columns }: Source, isCsv: boolean): InputFormat {
  if (head.toString('latin1', 0, 4) === 'PAR1') return 'parquet';
  if (load?.pattern) return 'lines';
  const text = textOf(head);
  const names = /^[^\r\n]*/.exec(text)?.[0].split(',').sort() ?? [];
  if (columns.body === undefined && isDeepStrictEqual(names, logflareColumns)) return 'logflare';
  if (isCsv || encodingOf(head).startsWith('utf-16')) return 'csv';
  if (text.startsWith('[')) return 'json';
  if (!text.startsWith('{')) return 'csv';
  // If objects extend over several lines, or share one, no line is an object.
  return text.split('\n').some(isObject) || !text.includes('}') ? 'ndjson' : 'json';
}

function textOf(head: Buffer): string {
  return head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
}

function isObject(line: string): boolean {
  try {
    return line.startsWith('{') && typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
