import type { SqlPosition } from '../../base/errors.ts';
import { fieldName } from './duckdb-type.ts';
import { invalidQuery } from './sql-error.ts';
import { type SqlType, type StructType, structOf } from './types.ts';

/** Maximum depth of nested arrays within a type. DuckDB plans each of them twice for the one around it. BigQuery: 15 levels of records in a result. */
const maxArrayLevels = 15;

/**
 * A STRUCT type that a statement makes.
 * @throws GatewayError `invalid_query` if two fields have the same name, which no DuckDB record can, or if arrays are nested too deeply
 */
export function distinctStruct(fields: StructType['fields'], at: SqlPosition): StructType {
  const seen = new Set<string>();
  for (const [i, field] of fields.entries()) {
    const name = fieldName(field.name, i).toLowerCase();
    if (seen.has(name)) throw invalidQuery(`Duplicate field name ${name} in a STRUCT is not supported`, at);
    seen.add(name);
  }
  if (fields.some(({ type }) => arrayLevels(type) > maxArrayLevels)) {
    throw invalidQuery(`Arrays are nested too deeply; the limit is ${maxArrayLevels} levels`, at);
  }
  return structOf(fields);
}

function arrayLevels(type: SqlType): number {
  if (type.kind === 'ARRAY') return 1 + arrayLevels(type.element);
  return type.kind === 'STRUCT' ? Math.max(0, ...type.fields.map(field => arrayLevels(field.type))) : 0;
}
