import { GatewayError } from '../base/errors.ts';
import { formatTimestamp } from '../base/format-timestamp.ts';
import { keptDigits, mayHaveBigInteger, parseExactJson } from '../base/json.ts';
import { type Column, type ColumnType, findRows, firstRowAt } from '../base/rows.ts';
import type { Turns } from '../base/turns.ts';

/** One row, by column name. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of an answer in the wire form of REST (contract 2.12), integers exact at any size, and their columns. */
export type Rows<Item = Row> = {
  readonly columns: readonly Column[];
  readonly rows: readonly Item[];
  /** Bytes of the rows in the wire form. */
  readonly bytes: number;
};

/** A row, or a value of one, that is written as it came, without being parsed. */
export class RowText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Used by writers that do not know this class. */
  toJSON(): unknown {
    return parseExactJson(this.text);
  }
}

/** A value that the executor does not take for a promise, as it does any object with a member `then`: such an object becomes text. */
export function withoutThen<Value>(value: Value): Value | RowText {
  const isAwaited = typeof value === 'object' && value !== null && 'then' in value;
  return isAwaited ? new RowText(JSON.stringify(value)) : value;
}

/** Longer bodies are parsed row by row. */
const maxUnslicedBytes = 64 * 1024;

/** Maximum bytes of a row that is parsed, which happens in one piece; and of one with exact integers, which takes ten times as long. Documented in `docs/graphql.md`. */
const maxRowBytes = 1024 * 1024;
const maxExactRowBytes = 256 * 1024;

/**
 * Reads the rows of a REST body `{"result":[…]}`.
 * @throws GatewayError `result_too_large` for a row over the limit
 */
export async function readRows(body: Buffer, turns: Turns): Promise<readonly Row[]> {
  return body.length <= maxUnslicedBytes ? parseRows(body) : eachRow(body, turns, parseRow);
}

/** Reads the rows of a REST body `{"result":[…]}` whose fields nobody reads; those of a long body stay texts. */
export async function readRowTexts(body: Buffer, turns: Turns): Promise<readonly (Row | RowText)[]> {
  return body.length <= maxUnslicedBytes
    ? parseRows(body).map(withoutThen)
    : eachRow(body, turns, (json, start, end) => new RowText(json.toString('utf8', start, end)));
}

function parseRows(body: Buffer): readonly Row[] {
  return (parseExactJson(body.toString()) as { result: Row[] }).result; // our own rendering
}

async function eachRow<Item>(
  body: Buffer,
  turns: Turns,
  read: (body: Buffer, start: number, end: number) => Item,
): Promise<readonly Item[]> {
  const rows: Item[] = [];
  for (const { start, end } of findRows(body, firstRowAt)) {
    rows.push(read(body, start, end));
    while (turns.isOver()) await turns.next();
  }
  return rows;
}

function parseRow(body: Buffer, start: number, end: number): Row {
  const length = end - start;
  if (length > maxRowBytes) throw rowTooLarge(length, maxRowBytes);
  const text = body.toString('utf8', start, end);
  if (length > maxExactRowBytes && mayHaveBigInteger(text)) throw rowTooLarge(length, maxExactRowBytes);
  return parseExactJson(text) as Row; // an object, by its first brace
}

function rowTooLarge(length: number, max: number): GatewayError {
  const which = max === maxRowBytes ? '' : ' where it has integers beyond 2^53';
  return new GatewayError(
    'result_too_large',
    `A row has ${length} bytes; allowed in GraphQL${which}: ${max}. REST takes longer ones`,
  );
}

/** Upper bound of the bytes of columns as JSON, without their own fields. */
export function columnsBytes(columns: readonly Column[]): number {
  return columns.reduce((bytes, { name }) => bytes + 2 * name.length + 32, 0);
}

/** Makes a converter of rows from the wire form of REST to that of GraphQL's scalars: timestamps become text, JSON text becomes values. */
export function rowConverter(columns: readonly Column[]): (row: Row) => Row {
  const converted = columns.filter(({ type }) => converters[type] !== undefined);
  const hasThen = columns.some(({ name }) => name === 'then');
  if (converted.length === 0 && !hasThen) return row => row;
  return row => {
    const copy: Record<string, unknown> = { ...row };
    for (const column of converted) copy[column.name] = convert(column, row[column.name]);
    // The executor would await the row, see `withoutThen`.
    if (hasThen) delete copy.then;
    return copy;
  };
}

function convert({ type, mode }: Column, value: unknown): unknown {
  const converter = converters[type];
  if (!converter || value === null || value === undefined) return value;
  return mode === 'REPEATED' && Array.isArray(value) ? value.map(converter) : converter(value);
}

const converters: Partial<Record<ColumnType, (value: unknown) => unknown>> = {
  // `formatTimestamp` writes six digits; trailing zeros are dropped.
  TIMESTAMP: micros => formatTimestamp(BigInt(keptDigits(micros) ?? String(micros))).replace(/\.?0+Z$/, 'Z'),
  DATETIME: text => `${text}Z`,
  JSON: text => parseExactJson(String(text)),
};
