import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { GatewayError } from '../../src/base/errors.ts';
import type { Column } from '../../src/base/rows.ts';
import { prepareConnection } from '../../src/duckdb/prepare-connection.ts';
import { type CompiledStatement, compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../../src/googlesql/functions/duckdb-macros.ts';
import { finishRow } from '../../src/googlesql/printer/finish-row.ts';
import { duckDbType, fieldName } from '../../src/googlesql/tree/duckdb-type.ts';
import type { SqlType } from '../../src/googlesql/tree/types.ts';
import type { SmallTable, TableRow, TableValue } from './small-tables.ts';
import { floatText, jsonText, type WireColumn, type WireValue } from './wire-values.ts';

/** What a statement gives here: rows, a refusal by the front-end, or a failure while it runs. */
export type EngineAnswer =
  | { readonly columns: readonly WireColumn[]; readonly rows: readonly (readonly WireValue[])[] }
  | { readonly refusal: string }
  | { readonly error: string; readonly sql: string };

export type SmallEngine = {
  /** Replaces every row of every table. */
  fill(rows: Readonly<Record<string, readonly TableRow[]>>): Promise<void>;
  evaluate(sql: string, parameters: Readonly<Record<string, string | null>>): Promise<EngineAnswer>;
  stop(): void;
};

/** DuckDB in this process, behind our front-end, with tables to read. */
export async function openSmallEngine(tables: readonly SmallTable[]): Promise<SmallEngine> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run("set default_null_order = 'nulls_first_on_asc_last_on_desc'");
  await prepareConnection(connection, duckDbMacros);
  for (const { name, columns } of tables) {
    const list = columns.map(column => `"${column.name}" ${duckDbType(column.type)}`).join(', ');
    await connection.run(`create table "${name}" (${list})`);
  }
  return {
    fill: rows => fill(connection, tables, rows),
    evaluate: (sql, parameters) => evaluate(connection, tables, sql, parameters),
    stop: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function fill(
  connection: DuckDBConnection,
  tables: readonly SmallTable[],
  rows: Readonly<Record<string, readonly TableRow[]>>,
): Promise<void> {
  for (const { name, columns } of tables) {
    await connection.run(`delete from "${name}"`);
    const values = (rows[name] ?? []).map(row => columns.map(c => stored(c.type, row[c.name] ?? null)));
    if (values.length === 0) continue;
    const list = values.map(row => `(${row.join(', ')})`).join(', ');
    await connection.run(`insert into "${name}" values ${list}`);
  }
}

/** A value as DuckDB text, in the storage of its type. */
function stored(type: SqlType, value: TableValue): string {
  const typed = (text: string) => `cast(${text} as ${duckDbType(type)})`;
  if (value === null) return typed('null');
  if (type.kind === 'ARRAY') {
    // A test writes an array where the column is one.
    const elements = value as readonly TableValue[];
    if (!type.single) return typed(`[${elements.map(element => stored(type.element, element)).join(', ')}]`);
    return elements[0] === undefined ? typed('null') : stored(type.element, elements[0]);
  }
  if (type.kind === 'STRUCT') {
    const record = value as Readonly<Record<string, TableValue>>; // as above, with objects
    const presence = type.presence ? ["'_p': true"] : [];
    const fields = type.fields.map(
      ({ name, type: inner }, i) =>
        `'${fieldName(name, i)}': ${stored(inner, record[fieldName(name, i)] ?? null)}`,
    );
    return typed(`{${[...presence, ...fields].join(', ')}}`);
  }
  if (type.kind === 'BYTES') return `from_base64('${String(value)}')`;
  const zone = type.kind === 'TIMESTAMP' ? '+00' : '';
  return typed(`'${String(value).replaceAll("'", "''")}${zone}'`);
}

async function evaluate(
  connection: DuckDBConnection,
  tables: readonly SmallTable[],
  sql: string,
  parameters: Readonly<Record<string, string | null>>,
): Promise<EngineAnswer> {
  let compiled: CompiledStatement;
  try {
    const catalog = new Map(tables.map(table => [table.name, table]));
    compiled = compileForDuckDb({ sql, catalog, parameterNames: Object.keys(parameters), maxRows: 10_000 });
  } catch (error) {
    if (error instanceof GatewayError) return { refusal: error.message };
    throw error;
  }
  try {
    const { columns } = compiled;
    const rows = await runCompiled(connection, compiled, parameters);
    return { columns, rows: rows.map(row => columns.map(column => wireValue(column, row[column.name]))) };
  } catch (error) {
    return { error: String(error), sql: compiled.sql };
  }
}

/** Each row as its JSON object, with the digits of every number. */
async function runCompiled(
  connection: DuckDBConnection,
  { sql, shape, parameters: wanted }: CompiledStatement,
  parameters: Readonly<Record<string, string | null>>,
): Promise<Readonly<Record<string, unknown>>[]> {
  const prepared = await connection.prepare(sql);
  for (const { name, placeholder, kind } of wanted) {
    const index = prepared.parameterIndex(placeholder);
    const value = parameters[name];
    if (kind === 'NOW') prepared.bindTimestampTZ(index, new DuckDBTimestampTZValue(1_768_478_400_000_000n));
    else if (value == null) prepared.bindNull(index);
    else prepared.bindVarchar(index, value);
  }
  const result = await prepared.runAndReadAll();
  return result.getRows().map(([json]) => {
    const row = shape ? finishRow(String(json), shape) : String(json);
    // The printed statement answers one text: an object.
    return parseDigits(row) as Readonly<Record<string, unknown>>;
  });
}

/** Marks a number that JSON wrote, so that its digits are not lost and it is not taken for a text. */
class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** `JSON.parse` with ES2026's source text access, which the compiler's library does not know yet. */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source: string }) => unknown,
) => unknown;

function parseDigits(json: string): unknown {
  return parseWithSource(json, (_key, value, { source }) =>
    typeof value === 'number' ? new Digits(source) : value,
  );
}

function wireValue({ type, mode, fields = [] }: Column, value: unknown): WireValue {
  if (mode === 'REPEATED') {
    if (!Array.isArray(value)) throw new Error(`An ARRAY came as ${JSON.stringify(value)}`);
    return value.map(element => wireValue({ name: '', type, mode: 'NULLABLE', fields }, element));
  }
  if (value === null || value === undefined) return null;
  if (type === 'STRUCT') {
    const record = value as Readonly<Record<string, unknown>>; // the wire form of a STRUCT
    return fields.map(field => wireValue(field, record[field.name]));
  }
  const text = value instanceof Digits ? value.text : String(value);
  if (value instanceof Digits && !['INT64', 'FLOAT64', 'TIMESTAMP'].includes(type))
    throw new Error(`A ${type} came as the number ${text}`);
  if (type === 'FLOAT64') return floatText(Number(text));
  if (type === 'JSON') return jsonText(text);
  return typeof value === 'boolean' ? value : text;
}
