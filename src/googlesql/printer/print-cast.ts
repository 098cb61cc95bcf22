import { utc } from '../functions/times/time-arguments.ts';
import { plainTemporalPatterns } from '../times/read-temporal.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { anyValueOf } from '../tree/coercion.ts';
import { duckDbType, fieldName } from '../tree/duckdb-type.ts';
import { quoteText } from '../tree/quote-text.ts';
import { nullsOf } from '../tree/storage.ts';
import { type ArrayType, isRange, type SqlType, type StructType, sameType } from '../tree/types.ts';
import { printIntervalText } from './print-interval-text.ts';
import { asList, convertStorage, isPresent, lambdaName, printField } from './print-storage.ts';

type Cast = Extract<BoundExpression, { kind: 'cast' }>;

/**
 * Prints a cast with BigQuery's meaning: DuckDB's own reads `'1.5'` as an integer and `'t'` as a BOOL, and rounds
 * halves to even.
 */
export function printCast(sql: string, { of, type: to, safe }: Pick<Cast, 'of' | 'type' | 'safe'>): string {
  const from = of.type;
  if (sameType(from, to)) {
    // A table stores an empty array as NULL; a computed LIST must be empty.
    const stored = from.kind === 'ARRAY' ? { ...from, nulls: nullsOf(of) } : from;
    const isStoredList = stored.kind === 'ARRAY' && !stored.single && stored.nulls === undefined;
    const filled = isStoredList && to.kind === 'ARRAY' ? { ...to, nulls: 'NULL' as const } : to;
    return convertStorage(sql, stored, filled);
  }
  // A call that always fails has no type, and is printed as a text.
  if (from.kind === 'NULL') return `cast(cast(${sql} as varchar) as ${duckDbType(to)})`;
  const duckCast = safe ? 'try_cast' : 'cast';
  switch (to.kind) {
    case 'ARRAY':
      return from.kind === 'ARRAY' ? printElements(sql, from, to) : `cast(${sql} as ${duckDbType(to)})`;
    case 'STRUCT':
      return from.kind === 'STRUCT' ? printFields(sql, from, to) : `cast(${sql} as ${duckDbType(to)})`;
    case 'STRING':
      return safe && from.kind === 'BYTES'
        ? `try(${printAsText(sql, from.kind)})`
        : printAsText(sql, from.kind);
    case 'INT64':
      if (from.kind === 'STRING') return safe ? `bq_safe_int64(${sql})` : `bq_int64(${sql})`;
      return from.kind === 'BOOL' ? `cast(${sql} as bigint)` : `${duckCast}(round(${sql}) as bigint)`;
    case 'BOOL':
      if (from.kind === 'STRING') return safe ? `bq_safe_bool(${sql})` : `bq_bool(${sql})`;
      return `(${sql} <> 0)`;
    case 'FLOAT64':
    case 'NUMERIC':
    case 'BIGNUMERIC':
      if (from.kind === 'FLOAT64') return printAsNumeric(sql, of, safe);
      if (from.kind === 'NUMERIC' && to.kind === 'FLOAT64') return `bq_float_of_numeric(${sql})`;
      if (from.kind === 'STRING' && to.kind === 'FLOAT64')
        return safe ? `bq_safe_float64(${sql})` : `bq_float64(${sql})`;
      if (from.kind === 'STRING') return safe ? `bq_safe_text_numeric(${sql})` : `bq_text_numeric(${sql})`;
      return `${duckCast}(${sql} as ${duckDbType(to)})`;
    case 'BYTES':
      return `encode(${sql})`;
    case 'TIMESTAMP':
      if (from.kind !== 'STRING') return `timezone('UTC', cast(${sql} as timestamp))`;
      return printAsTemporal(sql, of, to, safe);
    default:
      if (from.kind === 'TIMESTAMP') return `cast(${utc.civil(sql)} as ${duckDbType(to)})`;
      if (from.kind === 'STRING') return printAsTemporal(sql, of, to, safe);
      return `${duckCast}(${sql} as ${duckDbType(to)})`;
  }
}

function printElements(sql: string, from: ArrayType, to: ArrayType): string {
  const element = lambdaName(from);
  return `list_transform(${asList(sql, from)}, lambda ${element}: ${printPart(element, from.element, to.element)})`;
}

function printFields(sql: string, from: StructType, to: StructType): string {
  const fields = from.fields.map(({ name, type }, i) => {
    const field = to.fields[i]!;
    const value = printPart(printField(sql, name, i), type, field.type);
    return `${quoteText(fieldName(field.name, i))}: ${value}`;
  });
  return `(case when ${isPresent(sql, from)} then {${fields.join(', ')}} end)`;
}

/** The cast of a part of a value, which is named by its text. */
function printPart(sql: string, from: SqlType, to: SqlType): string {
  return printCast(sql, { of: anyValueOf(from), type: to, safe: false });
}

/** A literal keeps its digits, of which FLOAT64 might lose some. */
function printAsNumeric(sql: string, of: BoundExpression, safe: boolean): string {
  if (of.kind !== 'literal') return safe ? `bq_safe_numeric(${sql})` : `bq_numeric(${sql})`;
  const text = quoteText(of.value);
  if (/e/i.test(of.value)) return safe ? `bq_safe_text_numeric(${text})` : `bq_text_numeric(${text})`;
  return `${safe ? 'try_cast' : 'cast'}(${text} as decimal(38, 9))`;
}

/** A text as a date or time; `bq_date` and its like are among the macros. */
function printAsTemporal(sql: string, of: BoundExpression, to: SqlType, safe: boolean): string {
  if (!safe && isOverParameter(of)) return `cast(${checkedParameter(sql, to.kind)} as ${duckDbType(to)})`;
  return `${safe ? 'bq_safe' : 'bq'}_${to.kind.toLowerCase()}(${sql})`;
}

/** A parameter, or a call of one with literals: `NULLIF(@end, '')`. */
function isOverParameter(expression: BoundExpression): boolean {
  if (expression.kind !== 'call') return expression.kind === 'parameter';
  const [first, ...others] = expression.arguments;
  return first !== undefined && isOverParameter(first) && others.every(({ kind }) => kind === 'literal');
}

/**
 * The text of a parameter as a date or time. Parameters are planned for each run, and the macro would take 0.8 ms. A text that BigQuery
 * would not read (`epoch`, `infinity`) keeps a prefix, so that DuckDB does not read it either.
 */
function checkedParameter(sql: string, kind: string): string {
  const prefix = `not a supported ${kind}: `;
  const pattern = `^${prefix}(${plainTemporalPatterns[kind]}${kind === 'TIMESTAMP' ? namedZone : ''})$`;
  return `regexp_replace(${quoteText(prefix)} || ${sql}, ${quoteText(pattern)}, '\\1')`;
}

const namedZone = '(?: [A-Z][A-Za-z]+(?:/[A-Za-z_]+)+)?';

/** The functions of DuckDB that write a scalar as CAST does; DuckDB's own cast writes the others. */
const textFunctions: Partial<Record<SqlType['kind'], string>> = {
  TIMESTAMP: 'bq_timestamp_text',
  DATETIME: 'bq_datetime_text',
  TIME: 'bq_time_text',
  FLOAT64: 'bq_float_text',
  NUMERIC: 'bq_wire_numeric',
  BIGNUMERIC: 'bq_wire_numeric',
  BYTES: 'decode',
};

/** Prints the cast of a scalar to STRING. */
export function printAsText(sql: string, kind: SqlType['kind']): string {
  if (kind === 'INTERVAL' || isRange(kind)) return printIntervalText(sql, kind);
  const write = textFunctions[kind];
  return write ? `${write}(${sql})` : `cast(${sql} as varchar)`;
}
