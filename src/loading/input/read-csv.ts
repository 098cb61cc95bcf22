import { isAscii } from 'node:buffer';
import { type CsvDialect, findDelimiter, readCsvRecords } from '../../base/csv-records.ts';
import { parseExactNumbers } from '../../base/json.ts';
import { decoderFor, encodingOf, type TextEncoding } from '../../duckdb/files/text-encoding.ts';
import type { CsvForm } from '../../endpoints/csv-form.ts';
import { timeReader } from '../../endpoints/load-mapping.ts';
import { columnOf, type Source, type SourceField } from '../../endpoints/source.ts';
import type { ReadRow } from '../accept-rows.ts';

/**
 * Reads CSV as rows of text, to be read by the declared types: each line becomes a row or is refused with a reason, in any encoding and
 * with any line endings. An empty value is NULL.
 * @param head the beginning of the stream
 */
export async function* readCsv(
  stream: AsyncIterable<Buffer>,
  head: Buffer,
  source: Source,
): AsyncIterable<ReadRow> {
  const { csv = {} } = source;
  const encoding = encodingOf(head, csv.encoding);
  const quote = csv.quote ?? '"';
  const beginning = skipLines(decoderFor(encoding).decode(head), csv.skip ?? 0);
  const dialect: CsvDialect = {
    delimiter: csv.delimiter ?? (await findDelimiter(beginning, quote)),
    quote,
    escape: csv.escape ?? quote,
  };
  let readers: ((cell: string) => unknown)[] | undefined;
  let names: readonly string[] = [];
  for await (const { line, cells, unclosed } of readCsvRecords(
    decode(stream, encoding, csv.encoding),
    dialect,
  )) {
    if (line <= (csv.skip ?? 0)) continue;
    if (!readers) {
      const hasNames = csv.header ?? true;
      names = hasNames
        ? uniqueNames(cells.map(cell => cell.trim()))
        : cells.map((_, at) => numbered(at, cells.length));
      readers = names.map(name => createReader(source, columnOf(source, name)));
      if (hasNames) continue;
    }
    const text = () => unclosed ?? cells.map(cell => written(cell, dialect)).join(dialect.delimiter);
    if (unclosed !== undefined) yield { line, text: text(), problem: 'has a quote that is never closed' };
    else if (cells.length !== names.length) {
      yield { line, text: text(), problem: `has ${cells.length} values; allowed: ${names.length}` };
    } else {
      const row: Record<string, unknown> = {};
      for (const [at, cell] of cells.entries()) if (cell !== '') row[names[at]!] = readers[at]!(cell);
      yield { line, text: text(), row };
    }
  }
}

/** A cell as written in a file, so that a refused line can be corrected and loaded. */
function written(cell: string, { delimiter, quote, escape: before }: CsvDialect): string {
  const isPlain =
    !cell.includes(delimiter) && !/[\r\n]/.test(cell) && (quote === '' || !cell.includes(quote));
  return isPlain || quote === '' ? cell : `${quote}${cell.replaceAll(quote, before + quote)}${quote}`;
}

/** @param declared the encoding, if known; otherwise an ASCII beginning does not decide about the rest */
async function* decode(
  stream: AsyncIterable<Buffer>,
  encoding: TextEncoding,
  declared: CsvForm['encoding'],
): AsyncIterable<string> {
  let decoder = declared === undefined && encoding === 'utf-8' ? undefined : decoderFor(encoding);
  for await (const part of stream) {
    if (!decoder && !isAscii(part)) decoder = decoderFor(encodingOf(part));
    yield decoder ? decoder.decode(part, { stream: true }) : part.toString('latin1');
  }
  if (decoder) yield decoder.decode();
}

function skipLines(text: string, lines: number): string {
  return lines === 0
    ? text
    : text
        .split(/\r\n|\n|\r/)
        .slice(lines)
        .join('\n');
}

/** Numbers columns with the same name, so that none hides another. */
function uniqueNames(names: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name, at) => {
    const own = name === '' ? numbered(at, names.length) : name;
    const times = seen.get(own.toLowerCase()) ?? 0;
    seen.set(own.toLowerCase(), times + 1);
    return times === 0 ? own : `${own}_${times}`;
  });
}

/** The name of an unnamed column, as in DuckDB: all of the same length. */
function numbered(at: number, columns: number): string {
  return `column${String(at).padStart(String(columns - 1).length, '0')}`;
}

const numbers: readonly SourceField[] = ['INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC'];

/** Makes the reader of a column's values, if the dialect of the file says more than the type. */
function createReader({ columns, csv = {} }: Source, column: string): (cell: string) => unknown {
  const field = columns[column];
  // A cell of an array or a record contains its JSON.
  if (field !== undefined && typeof field !== 'string') return parseNested;
  if (field !== undefined && numbers.includes(field)) {
    const { thousands, decimal } = csv;
    return cell => {
      const whole = cell.trim().replaceAll(thousands ?? '', '');
      return decimal === ',' ? whole.replace(',', '.') : whole;
    };
  }
  const form =
    field === 'DATE' ? csv.date : field === 'DATETIME' || field === 'TIMESTAMP' ? csv.timestamp : undefined;
  if (form === undefined) return field === 'STRING' ? cell => cell : cell => cell.trim();
  const read = timeReader(form);
  return cell => {
    const time = read(cell);
    return field === 'TIMESTAMP' ? (time ?? cell) : (time?.replace(/Z$/, '') ?? cell);
  };
}

function parseNested(cell: string): unknown {
  try {
    return parseExactNumbers(cell);
  } catch {
    // Returned unchanged, to be refused as a value.
    return cell;
  }
}
