import { GatewayError } from '../errors.ts';
import type { Column, ColumnType } from '../rows.ts';
import type { Field } from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';

/** BigQuery's names of types, the older ones among them. */
const types: Readonly<Record<string, ColumnType>> = {
  STRING: 'STRING',
  BYTES: 'BYTES',
  BOOL: 'BOOL',
  BOOLEAN: 'BOOL',
  INT64: 'INT64',
  INTEGER: 'INT64',
  FLOAT64: 'FLOAT64',
  FLOAT: 'FLOAT64',
  NUMERIC: 'NUMERIC',
  BIGNUMERIC: 'BIGNUMERIC',
  TIMESTAMP: 'TIMESTAMP',
  DATETIME: 'DATETIME',
  DATE: 'DATE',
  TIME: 'TIME',
  JSON: 'JSON',
  STRUCT: 'STRUCT',
  RECORD: 'STRUCT',
};

/**
 * The columns of a result in our own words. A name with `$`, or none, is an emulator's for a column that nobody named: `ours`,
 * what our own front-end calls the columns, has the name that BigQuery would give.
 * @throws GatewayError `engine_failed` for a type that has no wire form: contract section 2 knows none for it
 */
export function columnsOf(fields: readonly Field[], ours: readonly Column[] = []): readonly Column[] {
  return fields.map(({ name: given, type: written, mode, fields: inner = [] }, at) => {
    const own = ours[at];
    const name = own && /^$|\$/.test(given) ? own.name : given;
    const type = types[written];
    if (!type) {
      const allowed = [...new Set(Object.values(types))].join(', ');
      throw new GatewayError('engine_failed', `Column ${name} has the type ${written}; allowed: ${allowed}`);
    }
    const column = { name, type, mode: mode === 'REPEATED' ? 'REPEATED' : 'NULLABLE' } as const;
    return type === 'STRUCT' ? { ...column, fields: columnsOf(inner, own?.fields) } : column;
  });
}

/**
 * Renders rows of BigQuery's JSON, `{"f":[{"v":…}]}`, as the wire form of contract section 2. No value becomes a number
 * on the way: digits are copied.
 * @returns one JSON object for each row
 * @throws BigQueryFailure `brokenAnswer` where a row does not fit its columns
 */
export function renderRows(columns: readonly Column[], rows: readonly unknown[]): string[] {
  const keyed = keyColumns(columns);
  return rows.map(row => renderRecord(keyed, row));
}

/** A column with its key as JSON text, made once for all rows. */
type KeyedColumn = {
  readonly key: string;
  readonly type: ColumnType;
  readonly isRepeated: boolean;
  readonly fields: readonly KeyedColumn[];
};

function keyColumns(columns: readonly Column[]): KeyedColumn[] {
  return columns.map(({ name, type, mode, fields = [] }) => ({
    key: `${JSON.stringify(name)}:`,
    type,
    isRepeated: mode === 'REPEATED',
    fields: keyColumns(fields),
  }));
}

function renderRecord(columns: readonly KeyedColumn[], record: unknown): string {
  const cells = isObject(record) ? record.f : undefined;
  if (!Array.isArray(cells) || cells.length !== columns.length) throw misfit('a record', record);
  let text = '{';
  for (const [at, column] of columns.entries()) {
    text += (at === 0 ? '' : ',') + column.key + renderCell(column, valueIn(cells[at]));
  }
  return `${text}}`;
}

function renderCell(column: KeyedColumn, value: unknown): string {
  if (!column.isRepeated) return renderValue(column, value);
  if (value === null) return '[]';
  if (!Array.isArray(value)) throw misfit('an array', value);
  return `[${value.map(element => renderValue(column, valueIn(element))).join(',')}]`;
}

function renderValue({ type, fields }: KeyedColumn, value: unknown): string {
  if (value === null) return 'null';
  if (type === 'STRUCT') return renderRecord(fields, value);
  if (typeof value !== 'string') throw misfit(type, value);
  switch (type) {
    case 'BOOL':
      if (value !== 'true' && value !== 'false') throw misfit(type, value);
      return value;
    case 'INT64':
      return digitsOf(type, value);
    case 'TIMESTAMP':
      return /^-?\d+$/.test(value) ? value : microsOf(value);
    case 'FLOAT64':
      return renderFloat(value);
    default:
      return JSON.stringify(value);
  }
}

function digitsOf(type: ColumnType, value: string): string {
  if (!/^-?\d+$/.test(value)) throw misfit(type, value);
  return value;
}

/** Microseconds in the forms of servers that don't know `useInt64Timestamp`, or not inside of records: seconds, or a date. */
function microsOf(value: string): string {
  const micros = (fraction = '') => BigInt(fraction.slice(0, 6).padEnd(6, '0'));
  const [, sign, seconds, part] = /^(-?)(\d+)\.(\d+)$/.exec(value) ?? [];
  if (seconds !== undefined) {
    const size = BigInt(seconds) * 1_000_000n + micros(part);
    return String(sign === '-' ? -size : size);
  }
  const [, date, time, fraction] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|\+00(?::00)?)$/.exec(value) ?? [];
  const millis = date ? Date.parse(`${date}T${time}Z`) : Number.NaN;
  if (!Number.isNaN(millis)) return String(BigInt(millis) * 1000n + micros(fraction));
  // `1.768471319999999E9`: the microseconds of our time fit a double.
  const rounded = Math.round(Number(value) * 1e6);
  if (!Number.isSafeInteger(rounded)) throw misfit('TIMESTAMP', value);
  return String(rounded);
}

function renderFloat(value: string): string {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)) return value;
  const special = /^([+-]?)(nan|inf(?:inity)?)$/i.exec(value);
  if (!special) throw misfit('FLOAT64', value);
  if (special[2]?.toLowerCase() === 'nan') return '"NaN"';
  return special[1] === '-' ? '"-Infinity"' : '"Infinity"';
}

function valueIn(cell: unknown): unknown {
  if (!isObject(cell) || !('v' in cell)) throw misfit('a cell', cell);
  return cell.v;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** The value stays out: it may be a secret, and the message goes to the log. */
function misfit(expected: string, value: unknown): BigQueryFailure {
  const found = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;
  return new BigQueryFailure('brokenAnswer', `A row has ${found} where ${expected} was expected`);
}
