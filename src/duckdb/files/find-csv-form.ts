import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import * as streams from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { DuckDBConnection } from '@duckdb/node-api';
import { findDelimiter, readCsvRecords } from '../../base/csv-records.ts';
import type { CsvForm } from '../../endpoints/csv-form.ts';
import { quoteText } from '../../googlesql/tree/quote-text.ts';
import { csvOptions } from './csv-options.ts';
import { decoderFor, encodingOf, type TextEncoding } from './text-encoding.ts';

const headBytes = 256 * 1024;

/** DuckDB's names for the encodings that it reads. */
const encodings: Partial<Record<TextEncoding, CsvForm['encoding']>> = {
  'utf-16le': 'utf-16',
  'windows-1252': 'latin-1',
};

/**
 * Detects the dialect of a CSV file: only what differs from commas, double quotes, a header in the first line, UTF-8 and ISO dates.
 * @throws Error for an encoding that DuckDB does not read
 */
export async function findCsvForm(connection: DuckDBConnection, path: string): Promise<CsvForm> {
  const head = await readHead(path);
  const encoding = encodingOf(head);
  if (encoding !== 'utf-8' && !encodings[encoding]) {
    throw new Error(`${path} is ${encoding.toUpperCase()}, which can't be read in place${convert}`);
  }
  const text = decoderFor(encoding).decode(head);
  const delimiter = await findDelimiter(text);
  const known: CsvForm = {
    ...(delimiter === ',' ? {} : { delimiter }),
    ...(encodings[encoding] && { encoding: encodings[encoding] }),
  };
  const records = await readRecords(text, delimiter);
  const found = await sniff(connection, path, { ...known, delimiter });
  if (found && !skipsRows(records, found.skip)) {
    const { header, ...form } = found;
    return { ...known, ...form, ...(header === false && !isNumbered(records[0]) && { header }) };
  }
  const skip = findPreamble(records);
  // Not strict, so that lines of other lengths do not hide the form of dates.
  const { date, timestamp } = (await sniff(connection, path, { ...known, delimiter, strict: false })) ?? {};
  return {
    ...known,
    ...(skip !== undefined && { skip }),
    ...(date !== undefined && { date }),
    ...(timestamp !== undefined && { timestamp }),
  };
}

type TextRecord = { readonly line: number; readonly cells: readonly string[] };

async function readRecords(text: string, delimiter: string): Promise<TextRecord[]> {
  const records: TextRecord[] = [];
  const dialect = { delimiter, quote: '"', escape: '"' };
  for await (const { line, cells } of readCsvRecords(Readable.from([text]), dialect)) {
    records.push({ line, cells });
  }
  return records;
}

/** Whether a line numbers its columns, as pandas does for a matrix, perhaps with a name before or after: DuckDB takes it for a row. */
function isNumbered(record: TextRecord | undefined): boolean {
  const cells = record?.cells ?? [];
  const first = cells.indexOf('0');
  const numbers = cells.slice(first).filter((cell, at) => cell === String(at));
  return first >= 0 && numbers.length >= 3 && numbers.length >= cells.length - 2;
}

/** Whether the lines that DuckDB skips before a header are as long as those it keeps: lines that differ near the end make it take one of those as the header. */
function skipsRows(records: readonly TextRecord[], skip = 0): boolean {
  if (skip === 0) return false;
  const kept = records.filter(({ line }) => line > skip).length;
  return kept < records.length - kept;
}

/** The share of lines that must have as many values as the header if the lines before it are skipped. */
const minAlike = 0.6;

/** The number of lines before the header, in a file whose other lines differ in length too, for which DuckDB finds no form. */
function findPreamble(records: readonly TextRecord[]): number | undefined {
  const groups = Map.groupBy(records, ({ cells }) => cells.length);
  const [usual] = [...groups.values()].sort((one, other) => other.length - one.length);
  const header = usual?.[0];
  if (!header || header === records[0] || header.cells.length < 2) return undefined;
  const rest = records.filter(({ line }) => line >= header.line);
  return usual.length >= rest.length * minAlike ? header.line - 1 : undefined;
}

/** The advice for an encoding that DuckDB does not read. */
export const convert = ': convert it to UTF-8, or load it (--load), for which every encoding is recognised';

/** Writes a copy of a file in UTF-8, if it is in another encoding. */
export async function toUtf8(path: string, target: string): Promise<boolean> {
  const encoding = encodingOf(await readHead(path));
  if (encoding === 'utf-8') return false;
  const decoder = decoderFor(encoding);
  await streams.pipeline(
    Readable.from(openPlain(path)),
    async function* (parts: AsyncIterable<Buffer>) {
      for await (const part of parts) yield decoder.decode(part, { stream: true });
    },
    createWriteStream(target),
  );
  return true;
}

async function readHead(path: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of openPlain(path)) {
    parts.push(part);
    length += part.length;
    if (length >= headBytes) break;
  }
  return Buffer.concat(parts);
}

/** The bytes of a file, decompressed by its name. */
function openPlain(path: string): AsyncIterable<Buffer> {
  const file = createReadStream(path);
  const decoder = /\.gz$/i.test(path)
    ? createGunzip()
    : /\.zst$/i.test(path)
      ? createZstdDecompress()
      : undefined;
  return decoder ? pipeline(file, decoder, () => undefined) : file;
}

/** The dialect that DuckDB detects; undefined if it finds lines of different lengths. */
async function sniff(
  connection: DuckDBConnection,
  path: string,
  known: CsvForm,
): Promise<CsvForm | undefined> {
  // The header, and the lines before it, are to be detected.
  const options = csvOptions(known).replace(
    /, header = \w+, skip = \d+, strict_mode = (\w+)/,
    known.strict === false ? ', strict_mode = $1' : '',
  );
  const sql = `SELECT Quote, Escape, SkipRows, HasHeader, DateFormat, TimestampFormat FROM sniff_csv(${quoteText(path)}${options})`;
  const sniffed = await connection.runAndReadAll(sql).catch(() => undefined);
  const [row] = sniffed?.getRows() ?? [];
  if (!row) return undefined;
  const [quote, escaping, skip, hasHeader, date, timestamp] = row;
  const isOwn = (value: unknown, usual: RegExp) =>
    typeof value === 'string' && value !== '' && !usual.test(value);
  return {
    ...(isOwn(quote, /^(?:"|\(empty\))$/) && { quote: String(quote) }),
    ...(isOwn(escaping, /^(?:"|\(empty\))$/) && { escape: String(escaping) }),
    // Without a header, lines of other lengths at the beginning are rows, which must not be skipped.
    ...(hasHeader && Number(skip) > 0 && { skip: Number(skip) }),
    ...(!hasHeader && Number(skip) === 0 && { header: false }),
    ...(isOwn(date, /^%Y-%m-%d$/) && { date: String(date) }),
    ...(isOwn(timestamp, /^%Y-%m-%d[ T]%H:%M:%S(?:\.%f)?(?:Z|%z)?$/) && { timestamp: String(timestamp) }),
  };
}

/** Finds a line of a CSV file with another length than the first; undefined if there is none. */
export async function findRaggedLine(path: string, csv: CsvForm): Promise<string | undefined> {
  const decoder = decoderFor(encodingOf(await readHead(path), csv.encoding));
  const texts = async function* () {
    for await (const part of openPlain(path)) yield decoder.decode(part, { stream: true });
  };
  const { delimiter = ',', quote = '"', skip = 0 } = csv;
  const dialect = { delimiter, quote, escape: csv.escape ?? quote };
  let length: number | undefined;
  for await (const { line, cells, unclosed } of readCsvRecords(texts(), dialect)) {
    if (line <= skip) continue;
    length ??= cells.length;
    if (unclosed !== undefined) return `line ${line} has a quote that is never closed`;
    if (cells.length !== length) return `line ${line} has ${cells.length} values, the first one ${length}`;
  }
  return undefined;
}
