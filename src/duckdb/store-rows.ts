import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source } from '../endpoints/sources.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import type { SqlType } from '../googlesql/tree/types.ts';
import { changeLayout, readColumns } from './database.ts';
import { convertLayout, decodeBytes, listLayout, storedTypeSql, widenLayout } from './layout.ts';

/**
 * Stores rows in their normal form within the caller's transaction, after widening the table where a record of them holds several elements.
 * @param rows JSON texts as `normaliseRow` makes them
 */
export async function storeRows(
  connection: DuckDBConnection,
  { name, columns, key = [] }: Source,
  rows: readonly string[],
  severalElements: ReadonlySet<string>,
): Promise<void> {
  const stored = await readColumns(connection, name);
  const widened = widenLayout(stored, severalElements);
  await changeLayout(connection, name, stored, widened);
  const incoming = listLayout(columns);
  const values = incoming.map(({ name: column, type }) => {
    const target = widened.find(other => other.name === column)?.type ?? type;
    const value = decodeBytes(`r.${quoteName(column)}`, columns[column]!);
    return `${convertLayout(value, type, target)} AS ${quoteName(column)}`;
  });
  const structure = JSON.stringify([
    Object.fromEntries(incoming.map(({ name: column, type }) => [column, jsonType(type)])),
  ]);
  const list = `from_json($rows, ${quoteText(structure)})`;
  const selected = `SELECT ${values.join(', ')}`;
  const text = `[${rows.join(',')}]`;
  if (key.length === 0) {
    const insert = `INSERT INTO ${quoteName(name)} BY NAME ${selected} FROM (SELECT unnest(${list}) AS r)`;
    await runWith(connection, insert, text);
    return;
  }
  const keys = key.map(quoteName).join(', ');
  // Of several rows with one key the last one counts.
  const last = `QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY place DESC) = 1`;
  // Numbering the rows reads the list once more.
  const numbered = `SELECT unnest(list) AS r, generate_subscripts(list, 1) AS place FROM (SELECT ${list} AS list)`;
  await runWith(
    connection,
    `CREATE OR REPLACE TEMP TABLE _incoming AS ${selected} FROM (${numbered}) ${last}`,
    text,
  );
  await connection.run(
    `DELETE FROM ${quoteName(name)} WHERE (${keys}) IN (SELECT (${keys}) FROM _incoming);
      INSERT INTO ${quoteName(name)} BY NAME FROM _incoming; DROP TABLE _incoming`,
  );
}

async function runWith(connection: DuckDBConnection, sql: string, text: string): Promise<void> {
  const statement = await connection.prepare(sql);
  statement.bindVarchar(1, text);
  await statement.run();
  statement.destroySync();
}

/** The structure that from_json reads a logical value with. */
function jsonType(type: SqlType): unknown {
  if (type.kind === 'ARRAY') return [jsonType(type.element)];
  if (type.kind === 'STRUCT')
    return Object.fromEntries(type.fields.map(field => [field.name, jsonType(field.type)]));
  // As JSON, its text would be read as a JSON string; bytes come in base64.
  return type.kind === 'JSON' || type.kind === 'BYTES' ? 'VARCHAR' : storedTypeSql(type);
}
