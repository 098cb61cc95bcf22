import { keptDigits, parseExactJson } from '../../src/base/json.ts';
import type { Column, ResultSet } from '../../src/base/rows.ts';
import type { ParameterType, QueryParameter } from '../../src/engine/engine.ts';
import type { Field } from './bigquery-resources.ts';

type Format = {
  /** Timestamps as whole microseconds. Default, as BigQuery's: seconds, with all the doubts of a double. */
  readonly isInt64?: boolean;
};

/** The rows of a result as BigQuery has them. */
export function toRecords({ columns, rowsJson }: ResultSet, format: Format = {}): object[] {
  // Our engine renders an array of rows.
  const rows = parseExactJson(rowsJson.toString()) as Record<string, unknown>[];
  return rows.map(row => toRecord(columns, row, format));
}

type RestParameter = {
  readonly name: string;
  readonly parameterType: {
    readonly type: ParameterType | 'ARRAY';
    readonly arrayType?: { readonly type: ParameterType };
  };
  readonly parameterValue: {
    readonly value?: string | null;
    readonly arrayValues?: readonly { value: string }[];
  };
};

/** Parameters of a request, as the engine takes them. */
export function readParameters(parameters: unknown): QueryParameter[] {
  // The adapter under test wrote it.
  const all = (parameters ?? []) as readonly RestParameter[];
  return all.map(({ name, parameterType, parameterValue: { value, arrayValues } }) => {
    const type = parameterType.type === 'ARRAY' ? parameterType.arrayType?.type : parameterType.type;
    const values = parameterType.type === 'ARRAY' && (arrayValues ?? []).map(element => element.value);
    return { name, value: values || (value ?? null), ...(type && type !== 'STRING' ? { type } : {}) };
  });
}

/** BigQuery still answers with the types' older names. */
const olderNames: Readonly<Record<string, string>> = {
  INT64: 'INTEGER',
  FLOAT64: 'FLOAT',
  BOOL: 'BOOLEAN',
  STRUCT: 'RECORD',
};

/** A column as BigQuery's schema has it. */
export function toField({ name, type, mode, fields }: Column): Field {
  return { name, type: olderNames[type] ?? type, mode, ...(fields ? { fields: fields.map(toField) } : {}) };
}

function toRecord(columns: readonly Column[], row: Record<string, unknown>, format: Format): object {
  return { f: columns.map(column => ({ v: toCell(column, row[column.name], format) })) };
}

/** A value as BigQuery's rows have it: every scalar a text. */
function toCell(column: Column, value: unknown, format: Format): unknown {
  if (Array.isArray(value))
    return value.map(element => ({ v: toCell({ ...column, mode: 'NULLABLE' }, element, format) }));
  if (value === null) return null;
  // A value of this type is an object of its fields.
  if (column.type === 'STRUCT')
    return toRecord(column.fields ?? [], value as Record<string, unknown>, format);
  const text = keptDigits(value) ?? String(value);
  if (column.type === 'TIMESTAMP' && !format.isInt64) return doubleText(Number(text) / 1e6);
  return column.type === 'FLOAT64' && Number.isFinite(Number(text)) ? doubleText(Number(text)) : text;
}

/** A double as BigQuery writes it, which is Java's way: `1.0`, `1.768471319999999E9`. */
function doubleText(value: number): string {
  const size = Math.abs(value);
  const [digits = '', exponent] = (
    size === 0 || (size >= 1e-3 && size < 1e7) ? `${value}` : value.toExponential()
  ).split('e');
  const whole = digits.includes('.') ? digits : `${digits}.0`;
  return exponent === undefined ? whole : `${whole}E${Number(exponent)}`;
}
