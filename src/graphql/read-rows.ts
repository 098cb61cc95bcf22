import { parseExactJson } from '../exact-json.ts';
import { formatTimestamp } from '../parse-timestamp.ts';
import type { Column, ColumnType } from '../rows.ts';

/** One row, by column name. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of an answer in the wire form of REST (contract section 2), integers exact at any size, and their columns. */
export type Rows = { readonly columns: readonly Column[]; readonly rows: readonly Row[] };

/** Reads the rows of a REST body `{"result":[…]}`. */
export function readRows(body: Buffer): Row[] {
  return (parseExactJson(body.toString()) as { result: Row[] }).result; // our own rendering
}

/** Brings rows from the wire form of REST into that of GraphQL's scalars: instants are text, JSON is JSON. */
export function toGraphqlRows({ columns, rows }: Rows): readonly Row[] {
  const converted = columns.filter(({ type }) => converters[type] !== undefined);
  if (converted.length === 0) return rows;
  return rows.map(row => ({
    ...row,
    ...Object.fromEntries(converted.map(column => [column.name, convert(column, row[column.name])])),
  }));
}

function convert({ type, mode }: Column, value: unknown): unknown {
  const converter = converters[type];
  if (!converter || value === null || value === undefined) return value;
  return mode === 'REPEATED' && Array.isArray(value) ? value.map(converter) : converter(value);
}

const converters: Partial<Record<ColumnType, (value: unknown) => unknown>> = {
  // Six digits are always there; those that say nothing go.
  TIMESTAMP: micros => formatTimestamp(BigInt(String(micros))).replace(/\.?0+Z$/, 'Z'),
  DATETIME: text => `${text}Z`,
  JSON: text => parseExactJson(String(text)),
};
