import type { SqlPosition } from '../../base/errors.ts';
import { fieldName } from './duckdb-type.ts';
import { invalidQuery } from './sql-error.ts';
import { type StructType, structOf } from './types.ts';

/**
 * A STRUCT type that a statement makes.
 * @throws GatewayError `invalid_query` if two fields have the same name, which no DuckDB record can
 */
export function distinctStruct(fields: StructType['fields'], at: SqlPosition): StructType {
  const seen = new Set<string>();
  for (const [i, field] of fields.entries()) {
    const name = fieldName(field.name, i).toLowerCase();
    if (seen.has(name)) throw invalidQuery(`Duplicate field name ${name} in a STRUCT is not supported`, at);
    seen.add(name);
  }
  return structOf(fields);
}
