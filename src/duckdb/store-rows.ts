import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source } from '../endpoints/sources.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import type { SqlType } from '../googlesql/tree/types.ts';
import { changeLayout, readColumns } from './database.ts';
import { columnNamed, convertLayout, decodeBytes, listLayout, storedTypeSql, widenLayout } from './layout.ts';

/** Rows of one source. */
type StoredRows = {
  /** JSON texts as `normaliseRow` makes them. */
  readonly rows: readonly string[];
  /** Dotted paths of records that hold more than one element in some row. */
  readonly severalElements: ReadonlySet<string>;
  /** Whether a row whose generated columns are there already is the same one. Default false. */
  readonly hasOwnIds?: boolean;
};

/**
 * Stores rows in their normal form within the caller's transaction, after widening the table where a record of them holds several elements.
 */
export async function storeRows(
  connection: DuckDBConnection,
  { name, columns, key = [], generated = [], time }: Source,
  { rows, severalElements, hasOwnIds = false }: StoredRows,
): Promise<void> {
  const stored = await readColumns(connection, name);
  const widened = widenLayout(stored, severalElements);
  await changeLayout(connection, name, stored, widened);
  const incoming = listLayout(columns);
  const values = incoming.map(({ name: column, type }) => {
    const target = columnNamed(widened, column)?.type ?? type;
    const value = decodeBytes(`r.${quoteName(column)}`, columns[column]!);
    return `${convertLayout(value, type, target)} AS ${quoteName(column)}`;
  });
  const structure = JSON.stringify([
    Object.fromEntries(incoming.map(({ name: column, type }) => [column, jsonType(type)])),
  ]);
  const list = `from_json($rows, ${quoteText(structure)})`;
  const selected = `SELECT ${values.join(', ')}`;
  const text = `[${rows.join(',')}]`;
  if (key.length === 0 && hasOwnIds && generated.length > 0) {
    await storeOnce(connection, { name, ids: generated, time }, `${selected} FROM (${numbered(list)})`, text);
    return;
  }
  if (key.length === 0) {
    const insert = `INSERT INTO ${quoteName(name)} BY NAME ${selected} FROM (SELECT unnest(${list}) AS r)`;
    await runWith(connection, insert, text);
    return;
  }
  const keys = key.map(quoteName).join(', ');
  // Of several rows with one key the last one counts.
  const last = `QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY place DESC) = 1`;
  await runWith(
    connection,
    `CREATE OR REPLACE TEMP TABLE _incoming AS ${selected} FROM (${numbered(list)}) ${last}`,
    text,
  );
  await connection.run(
    `DELETE FROM ${quoteName(name)} WHERE (${keys}) IN (SELECT (${keys}) FROM _incoming);
      INSERT INTO ${quoteName(name)} BY NAME FROM _incoming; DROP TABLE _incoming`,
  );
}

/** The rows of a list with their places, which reads the list once more. */
function numbered(list: string): string {
  return `SELECT unnest(list) AS r, generate_subscripts(list, 1) AS place FROM (SELECT ${list} AS list)`;
}

type OnceOptions = {
  readonly name: string;
  readonly ids: readonly string[];
  readonly time: string | undefined;
};

/** Days within which a row that is sent again is found: looking further would read the ids of the whole table. */
const sameRowDays = 1;

/** Stores the rows that are not there yet: the first one with an id stays. */
async function storeOnce(
  connection: DuckDBConnection,
  { name, ids, time }: OnceOptions,
  selectSql: string,
  text: string,
): Promise<void> {
  const list = ids.map(quoteName).join(', ');
  const first = `QUALIFY row_number() OVER (PARTITION BY ${list} ORDER BY place) = 1`;
  await runWith(connection, `CREATE OR REPLACE TEMP TABLE _incoming AS ${selectSql} ${first}`, text);
  // As constants the bounds let DuckDB skip what is older.
  const bounds = time
    ? await connection.runAndReadAll(
        `SELECT min(${quoteName(time)})::VARCHAR, max(${quoteName(time)})::VARCHAR FROM _incoming`,
      )
    : undefined;
  const [[from, to] = []] = bounds?.getRows() ?? [];
  const near =
    time && from && to
      ? ` AND ${quoteName(time)} BETWEEN ${quoteText(String(from))}::TIMESTAMPTZ - INTERVAL ${sameRowDays} DAY AND ${quoteText(String(to))}::TIMESTAMPTZ + INTERVAL ${sameRowDays} DAY`
      : '';
  // Rows from before the column existed have no id, and `NOT IN` is never true of a list with a NULL.
  const haveIds = ids.map(id => `${quoteName(id)} IS NOT NULL`).join(' AND ');
  await connection.run(
    `INSERT INTO ${quoteName(name)} BY NAME SELECT * FROM _incoming WHERE (${list}) NOT IN (SELECT (${list}) FROM ${quoteName(name)} WHERE ${haveIds}${near});
      DROP TABLE _incoming`,
  );
}

async function runWith(connection: DuckDBConnection, sql: string, text: string): Promise<void> {
  const statement = await connection.prepare(sql);
  try {
    statement.bindVarchar(1, text);
    await statement.run();
  } finally {
    statement.destroySync();
  }
}

/** The structure that from_json reads a logical value with. */
function jsonType(type: SqlType): unknown {
  if (type.kind === 'ARRAY') return [jsonType(type.element)];
  if (type.kind === 'STRUCT')
    return Object.fromEntries(type.fields.map(field => [field.name, jsonType(field.type)]));
  // As JSON, its text would be read as a JSON string; bytes come in base64.
  return type.kind === 'JSON' || type.kind === 'BYTES' ? 'VARCHAR' : storedTypeSql(type);
}
