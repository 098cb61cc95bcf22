import type { SqlType, StructType } from '../tree/types.ts';
import { printAsText } from './print-cast.ts';
import { isPresent, lambdaName, printField, printText, type TextStyle } from './print-storage.ts';

/** How FORMAT writes a value: `%t` as a text, `%T` as a literal of SQL. */
export type TextForm = 'text' | 'literal';

const styleOf = (form: TextForm): TextStyle => ({
  absent: 'NULL',
  separator: ', ',
  scalar: form === 'text' ? scalarText : scalarLiteral,
  record: (sql, type) => printFields(sql, type, form),
});

const styles = { text: styleOf('text'), literal: styleOf('literal') };

/** Prints a value as its text: `NULL` for NULL, so that it is never NULL itself. */
export function printSqlText(sql: string, type: SqlType, form: TextForm): string {
  return printText(sql, type, styles[form]);
}

function printFields(sql: string, { fields }: StructType, form: TextForm): string {
  const values = fields.map((field, i) => printSqlText(printField(sql, field.name, i), field.type, form));
  const opening = form === 'literal' && fields.length === 1 ? "'STRUCT('" : "'('";
  return `(${[opening, values.join(" || ', ' || "), "')'"].join(' || ')})`;
}

function scalarText(sql: string, kind: SqlType['kind']): string {
  if (kind === 'FLOAT64') return `bq_float_with_point(${sql})`;
  return kind === 'BYTES' ? `bq_bytes_text(${sql})` : printAsText(sql, kind);
}

function scalarLiteral(sql: string, kind: SqlType['kind']): string {
  switch (kind) {
    case 'STRING':
      return `bq_string_literal(${sql})`;
    case 'BYTES':
      return `bq_bytes_literal(${sql})`;
    case 'FLOAT64':
      return `bq_float_literal(${sql})`;
    case 'JSON':
      return `'JSON ' || bq_string_literal(cast(${sql} as varchar))`;
    case 'DATE':
    case 'TIMESTAMP':
    case 'DATETIME':
    case 'TIME':
    case 'NUMERIC':
      return `'${kind} "' || ${scalarText(sql, kind)} || '"'`;
    default:
      return scalarText(sql, kind);
  }
}

/**
 * Prints whether a text is found in a value: in one of the fields of a record, in one of the elements of an array. If it is in none of
 * them, a part that is NULL makes the answer NULL.
 * @param wanted folded, see `bq_folded`
 */
export function printContains(sql: string, type: SqlType, wanted: string): string {
  switch (type.kind) {
    case 'STRUCT': {
      const fields = type.fields.map((field, i) =>
        printContains(printField(sql, field.name, i), field.type, wanted),
      );
      return `(${fields.join(' or ')})`;
    }
    case 'ARRAY': {
      if (type.single)
        return `(case when ${isPresent(sql, type)} then ${printContains(sql, type.element, wanted)} else false end)`;
      const element = lambdaName(type);
      const tests = `list_transform(${sql}, lambda ${element}: ${printContains(element, type.element, wanted)})`;
      // What a table stores as NULL is empty.
      const unknown = type.nulls
        ? `${element} is null or list_count(${element}) < len(${element})`
        : `list_count(${element}) < len(${element})`;
      return `list_extract(list_transform([${tests}], lambda ${element}: case when list_contains(${element}, true) then true when ${unknown} then null else false end), 1)`;
    }
    case 'STRING':
      return `contains(bq_folded(${sql}), ${wanted})`;
    default:
      return `contains(lower(${printAsText(sql, type.kind)}), ${wanted})`;
  }
}
