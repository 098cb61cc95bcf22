import type { Column, ColumnType } from '../../base/rows.ts';
import type { OutputColumn } from '../tree/bound-tree.ts';
import { fieldName } from '../tree/duckdb-type.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { SqlType } from '../tree/types.ts';

export type ResultForms = {
  /** Whether an INTERVAL comes as a text, as BigQuery writes it. Default: no, it is refused. */
  readonly intervalsAsText?: boolean;
};

/**
 * The columns of a result in the words of BigQuery's result schema.
 * @throws GatewayError `invalid_query` when two columns have one name, or a type has no wire form
 */
export function resultColumns(columns: readonly OutputColumn[], forms: ResultForms = {}): readonly Column[] {
  const seen = new Set<string>();
  return columns.map(({ name, type }) => {
    const key = name.toLowerCase();
    if (seen.has(key)) {
      throw invalidQuery(
        `Duplicate column names in the result are not supported. Found duplicate(s): ${name}`,
        { line: 1, column: 1 },
      );
    }
    seen.add(key);
    return resultColumn(name, type, forms);
  });
}

function resultColumn(name: string, type: SqlType, forms: ResultForms): Column {
  const isArray = type.kind === 'ARRAY';
  const value = isArray ? type.element : type;
  const mode = isArray ? 'REPEATED' : 'NULLABLE';
  if (value.kind !== 'STRUCT') return { name, type: columnType(name, value, forms), mode };
  const fields = value.fields.map((field, i) => resultColumn(fieldName(field.name, i), field.type, forms));
  return { name, type: 'STRUCT', mode, fields };
}

function columnType(name: string, { kind }: SqlType, { intervalsAsText = false }: ResultForms): ColumnType {
  if (kind === 'NULL') return 'INT64';
  if (kind === 'INTERVAL' && intervalsAsText) return 'STRING';
  if (kind === 'INTERVAL' || kind === 'ARRAY' || kind === 'STRUCT') {
    throw invalidQuery(`Column ${name} has type ${kind}, which a result cannot hold`, { line: 1, column: 1 });
  }
  return kind;
}
