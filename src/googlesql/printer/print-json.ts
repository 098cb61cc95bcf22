import { fieldName } from '../tree/duckdb-type.ts';
import { quoteName, quoteText } from '../tree/quote-text.ts';
import { leavesOf, type SqlType, type StructType } from '../tree/types.ts';
import { printWireInterval } from './print-interval-text.ts';
import { isPresent, lambdaName } from './print-storage.ts';

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
    case 'TIMESTAMP':
      return `bq_wire_timestamp(${sql})`;
    case 'DATETIME':
      return `bq_wire_datetime(${sql})`;
    case 'FLOAT64':
      return `bq_wire_float(${sql})`;
    case 'NUMERIC':
    case 'BIGNUMERIC':
      return `bq_wire_numeric(${sql})`;
    case 'BYTES':
      return `to_base64(${sql})`;
    case 'DATE':
      return `bq_wire_date(${sql})`;
    case 'TIME':
      return `bq_wire_time(${sql})`;
    case 'INTERVAL':
    case 'RANGE<DATE>':
    case 'RANGE<DATETIME>':
    case 'RANGE<TIMESTAMP>':
      return printWireInterval(sql, type.kind);
    case 'JSON':
      return `cast(${sql} as varchar)`;
    default:
      return sql;
  }
}

/** A record that is known to be there. */
function printRecord(sql: string, { fields }: StructType): string {
  const printed = fields.map((field, i) => {
    const name = fieldName(field.name, i);
    return `${quoteText(name)}: ${printJson(`(${sql}).${quoteName(name)}`, field.type)}`;
  });
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
