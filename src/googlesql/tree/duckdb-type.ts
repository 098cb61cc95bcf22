import { quoteName } from './quote-text.ts';
import type { ScalarKind, SqlType } from './types.ts';

const scalarNames: Readonly<Record<ScalarKind, string>> = {
  STRING: 'varchar',
  BYTES: 'blob',
  BOOL: 'boolean',
  INT64: 'bigint',
  FLOAT64: 'double',
  NUMERIC: 'decimal(38, 9)',
  BIGNUMERIC: 'decimal(38, 9)',
  TIMESTAMP: 'timestamptz',
  DATETIME: 'timestamp',
  DATE: 'date',
  TIME: 'time',
  JSON: 'json',
  INTERVAL: 'interval',
  'RANGE<DATE>': 'struct(s date, e date)',
  'RANGE<DATETIME>': 'struct(s timestamp, e timestamp)',
  'RANGE<TIMESTAMP>': 'struct(s timestamptz, e timestamptz)',
  NULL: 'bigint',
};

/** The DuckDB type in which a value of a BigQuery type is stored and computed. */
export function duckDbType(type: SqlType): string {
  if (type.kind === 'ARRAY') return type.single ? duckDbType(type.element) : `${duckDbType(type.element)}[]`;
  if (type.kind !== 'STRUCT') return scalarNames[type.kind];
  const presence = type.presence ? ['"_p" boolean'] : [];
  const fields = type.fields.map(
    (field, i) => `${quoteName(fieldName(field.name, i))} ${duckDbType(field.type)}`,
  );
  return `struct(${[...presence, ...fields].join(', ')})`;
}

/** A STRUCT field without a name is `_field_1`, as in BigQuery's own results. */
export function fieldName(name: string, index: number): string {
  return name || `_field_${index + 1}`;
}
