import type { Column, ColumnType } from '../../base/rows.ts';
import type { OutputColumn } from '../tree/bound-tree.ts';
import { fieldName } from '../tree/duckdb-type.ts';
import { invalidQuery, startOfText } from '../tree/sql-error.ts';
import { isRange, type SqlType } from '../tree/types.ts';

/**
 * The columns of a result in the words of BigQuery's result schema.
 * @throws GatewayError `invalid_query` when two columns have one name, or a type has no wire form
 */
export function resultColumns(columns: readonly OutputColumn[]): readonly Column[] {
  const seen = new Set<string>();
  return columns.map(({ name, type }) => {
    const key = name.toLowerCase();
    if (seen.has(key)) {
      throw invalidQuery(
        `Duplicate column names in the result are not supported. Found duplicate(s): ${name}`,
        startOfText,
      );
    }
    seen.add(key);
    return resultColumn(name, type);
  });
}

function resultColumn(name: string, type: SqlType): Column {
  const isArray = type.kind === 'ARRAY';
  const value = isArray ? type.element : type;
  const mode = isArray ? 'REPEATED' : 'NULLABLE';
  if (value.kind !== 'STRUCT') return { name, type: columnType(name, value), mode };
  const fields = value.fields.map((field, i) => resultColumn(fieldName(field.name, i), field.type));
  return { name, type: 'STRUCT', mode, fields };
}

function columnType(name: string, { kind }: SqlType): ColumnType {
  if (kind === 'NULL') return 'INT64';
  // Contract 2.12 has no form for these: they are text, as written by BigQuery.
  if (kind === 'INTERVAL' || isRange(kind)) return 'STRING';
  if (kind === 'ARRAY' || kind === 'STRUCT') {
    throw invalidQuery(`Column ${name} has type ${kind}, which a result cannot hold`, startOfText);
  }
  return kind;
}
