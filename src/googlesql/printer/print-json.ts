import { fieldName } from '../tree/duckdb-type.ts';
import { quoteText } from '../tree/quote-text.ts';
import { isRange, leavesOf, type ScalarKind, type SqlType, type StructType } from '../tree/types.ts';
import { printWireInterval } from './print-interval-text.ts';
import { isPresent, lambdaName, printField } from './print-storage.ts';

/** Prints a value as what DuckDB's `to_json` turns into the wire form of contract 2.12. */
export function printJson(sql: string, type: SqlType): string {
  switch (type.kind) {
    case 'ARRAY': {
      if (type.single) {
        const { element } = type;
        // One test for the array and its record: the planner pays for every expression.
        const record = element.kind === 'STRUCT' ? printRecord(sql, element) : printJson(sql, element);
        return `(case when ${isPresent(sql, type)} then [${record}] else [] end)`;
      }
      const list = `coalesce(${sql}, [])`;
      if (isPlain(type.element)) return list;
      const element = lambdaName(type);
      return `list_transform(${list}, lambda ${element}: ${printJson(element, type.element)})`;
    }
    case 'STRUCT':
      if (isPlain(type)) return sql;
      return `(case when ${isPresent(sql, type)} then ${printRecord(sql, type)} end)`;
    case 'JSON':
      return `cast(${sql} as varchar)`;
    default: {
      if (type.kind === 'INTERVAL' || isRange(type.kind)) return printWireInterval(sql, type.kind);
      const write = wireFunctions[type.kind];
      return write ? `${write}(${sql})` : sql;
    }
  }
}

/** The functions of DuckDB that write a scalar in its wire form; `to_json` by itself writes the other kinds in theirs. */
const wireFunctions: Partial<Record<ScalarKind, string>> = {
  TIMESTAMP: 'bq_wire_timestamp',
  DATETIME: 'bq_wire_datetime',
  DATE: 'bq_wire_date',
  TIME: 'bq_wire_time',
  FLOAT64: 'bq_wire_float',
  NUMERIC: 'bq_wire_numeric',
  BIGNUMERIC: 'bq_wire_numeric',
  BYTES: 'to_base64',
};

/** A record that is known to be there. */
function printRecord(sql: string, { fields }: StructType): string {
  const printed = fields.map(
    ({ name, type }, i) => `${quoteText(fieldName(name, i))}: ${printJson(printField(sql, name, i), type)}`,
  );
  return `{${printed.join(', ')}}`;
}

/** Whether `to_json` alone already writes the wire form. An ARRAY that is NULL is written as an empty one. */
function isPlain(type: SqlType): boolean {
  if (type.kind === 'STRUCT') return !type.presence && type.fields.every(field => isPlain(field.type));
  return type.kind === 'STRING' || type.kind === 'INT64' || type.kind === 'BOOL';
}

/**
 * How much DuckDB does to prepare the JSON of records: for each scalar, it looks at all that each record around the scalar holds, and more
 * often the deeper that record is. Fits measured times within a factor of three.
 * @param depth of the type, 1 for a column
 */
export function jsonWork(type: SqlType, depth = 1): number {
  if (type.kind === 'ARRAY') return jsonWork(type.element, depth);
  if (type.kind !== 'STRUCT' || isPlain(type)) return 0;
  return type.fields.reduce(
    (sum, field) => sum + jsonWork(field.type, depth + 1),
    depth * leavesOf(type) ** 2,
  );
}
