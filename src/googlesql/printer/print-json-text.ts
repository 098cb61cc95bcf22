import { quoteText } from '../tree/quote-text.ts';
import type { SqlType, StructType } from '../tree/types.ts';
import { printField, printText, type TextStyle } from './print-storage.ts';

/**
 * How BigQuery writes numbers in JSON: `text` in TO_JSON_STRING, as strings if FLOAT64 would not hold them; `value` in TO_JSON, as numbers;
 * `wide` in TO_JSON with `stringify_wide_numbers`.
 */
export type JsonForm = 'text' | 'value' | 'wide';

const styleOf = (form: JsonForm): TextStyle => ({
  absent: 'null',
  separator: ',',
  scalar: (sql, kind) => scalarText(sql, kind, form),
  record: (sql, type) => printMembers(sql, type, form),
});

const styles = { text: styleOf('text'), value: styleOf('value'), wide: styleOf('wide') };

/** Prints a value as the text of its JSON: `null` for NULL, so that it is never NULL itself. */
export function printJsonText(sql: string, type: SqlType, form: JsonForm): string {
  return printText(sql, type, styles[form]);
}

function printMembers(sql: string, { fields }: StructType, form: JsonForm): string {
  const members = fields.map((field, i) => ({
    name: JSON.stringify(field.name),
    text: printJsonText(printField(sql, field.name, i), field.type, form),
  }));
  if (form !== 'text') members.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  // A JSON value has each name once; TO_JSON_STRING writes duplicates, too.
  const kept = form === 'text' ? members : members.filter(({ name }, i) => members[i - 1]?.name !== name);
  const printed = kept.map(({ name, text }, i) => `${quoteText(`${i > 0 ? ',' : ''}${name}:`)} || ${text}`);
  return `('{' || ${[...printed, "'}'"].join(' || ')})`;
}

const quoted = (sql: string) => `'"' || ${sql} || '"'`;

function scalarText(sql: string, kind: SqlType['kind'], form: JsonForm): string {
  switch (kind) {
    case 'STRING':
      return form === 'text' ? `bq_json_separators(bq_json_quoted(${sql}))` : `bq_json_quoted(${sql})`;
    case 'INT64':
      return form === 'value' ? `cast(${sql} as varchar)` : `bq_json_integer(${sql})`;
    case 'NUMERIC':
      return form === 'text' ? `bq_json_exact(${sql})` : `bq_json_numeric(${sql}, ${form === 'wide'})`;
    case 'FLOAT64':
      return form === 'text' ? `bq_json_number(${sql})` : `bq_json_float(${sql})`;
    case 'TIMESTAMP':
      return quoted(`replace(bq_datetime_text(timezone('UTC', ${sql})), ' ', 'T') || 'Z'`);
    case 'DATETIME':
      return quoted(`replace(bq_datetime_text(${sql}), ' ', 'T')`);
    case 'TIME':
      return quoted(`bq_time_text(${sql})`);
    case 'DATE':
      return quoted(`cast(${sql} as varchar)`);
    case 'BYTES':
      return quoted(`to_base64(${sql})`);
    default:
      return `cast(${sql} as varchar)`;
  }
}
