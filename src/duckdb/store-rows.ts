import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source } from '../endpoints/sources.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import type { CatalogColumn, SqlType } from '../googlesql/tree/types.ts';
import { changeLayout, readColumns } from './database.ts';
import {
  columnNamed,
  convertLayout,
  decodeBytes,
  listLayout,
  pathSql,
  storedTypeSql,
  widenLayout,
} from './layout.ts';

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
 * @throws DuckDB's error for a row that the table can't hold as it is, which may be of earlier types: nothing is rounded
 */
export async function storeRows(
  connection: DuckDBConnection,
  source: Source,
  { rows, severalElements, hasOwnIds = false }: StoredRows,
): Promise<void> {
  const { name, key = [], generated = [] } = source;
  const stored = await readColumns(connection, name);
  const widened = widenLayout(stored, severalElements);
  await changeLayout(connection, name, stored, widened);
  const list = listSql(source);
  const values = valuesOf(source, widened).map(({ name: column, sql }) => `${sql} AS ${quoteName(column)}`);
  const selected = `SELECT ${values.join(', ')}`;
  const text = `[${rows.join(',')}]`;
  if (key.length === 0 && hasOwnIds && generated.length > 0) {
    const placed = `${selected}, place AS ${placeName} FROM (${numbered(list)})`;
    await storeOnce(connection, source, widened, placed, text);
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

/**
 * Finds the rows that `storeRows` would fail for.
 * @returns their places, from 0
 */
export async function findRefused(
  connection: DuckDBConnection,
  source: Source,
  { rows, severalElements }: Pick<StoredRows, 'rows' | 'severalElements'>,
): Promise<ReadonlySet<number>> {
  const widened = widenLayout(await readColumns(connection, source.name), severalElements);
  const record = valuesOf(source, widened).map(({ name, sql }) => `${quoteText(name)}: ${sql}`);
  const found = await runWith(
    connection,
    `SELECT (place - 1)::INTEGER FROM (${numbered(listSql(source))}) WHERE TRY({${record.join(', ')}}) IS NULL`,
    `[${rows.join(',')}]`,
  );
  return new Set(found.map(([place]) => Number(place)));
}

/** SQL of the rows that are bound, as a list of records. */
function listSql({ columns }: Source): string {
  const structure = listLayout(columns).map(({ name, type }) => [name, jsonType(type)]);
  return `from_json($rows, ${quoteText(JSON.stringify([Object.fromEntries(structure)]))})`;
}

/** SQL of each column's value in a record `r`, as the table holds it. */
function valuesOf({ columns }: Source, stored: readonly CatalogColumn[]) {
  return listLayout(columns).map(({ name, type }) => {
    const target = columnNamed(stored, name)?.type ?? type;
    const value = decodeBytes(`r.${quoteName(name)}`, columns[name]!);
    return { name, sql: convertLayout(value, type, target, { isExact: true }) };
  });
}

/** The rows of a list with their places, which reads the list once more. */
function numbered(list: string): string {
  return `SELECT unnest(list) AS r, generate_subscripts(list, 1) AS place FROM (SELECT ${list} AS list)`;
}

/** Names that no column has. */
const [placeName, incomingName, thereName] = [
  quoteName('#place'),
  quoteName('#incoming'),
  quoteName('#there'),
];

/** Days within which a row that is sent again is found: looking further would read the ids of the whole table. */
const sameRowDays = 1;

/**
 * Stores the rows that are not there yet: the first one of a project with an id stays. Projects share tables, and whoever sends rows for one of them
 * must not keep out those of another by their ids.
 */
async function storeOnce(
  connection: DuckDBConnection,
  { name, generated: ids = [], time, project }: Source,
  stored: readonly CatalogColumn[],
  selectSql: string,
  text: string,
): Promise<void> {
  const identity = (table: string) => [
    ...ids.map(id => `${table}.${quoteName(id)}`),
    `coalesce(${pathSql(stored, project, table)}::VARCHAR, '')`,
  ];
  const list = identity(incomingName);
  await runWith(
    connection,
    `CREATE OR REPLACE TEMP TABLE _incoming AS SELECT * EXCLUDE (${placeName}) FROM (${selectSql}) ${incomingName}
      QUALIFY row_number() OVER (PARTITION BY ${list.join(', ')} ORDER BY ${placeName}) = 1`,
    text,
  );
  const isSame = identity(thereName)
    .map((value, at) => `${value} = ${list[at]}`)
    .join(' AND ');
  for (const { of, near } of time === undefined
    ? [{ of: 'true', near: 'true' }]
    : await spansOf(connection, time)) {
    await connection.run(
      `INSERT INTO ${quoteName(name)} BY NAME FROM _incoming ${incomingName} WHERE ${of} AND NOT EXISTS (SELECT 1 FROM ${quoteName(name)} ${thereName} WHERE ${isSame} AND ${near})`,
    );
  }
  await connection.run('DROP TABLE _incoming');
}

/** Spans in which the rows of one INSERT are looked for; further apart they are looked for in the time between, too. */
const maxSpans = 8;

/**
 * Finds the times of the rows that come, as few spans: one row of 1970 must not have the ids of the whole table read.
 * @returns SQL of which of them each span has, and of the rows that may be the same as one of these. As constants the bounds let DuckDB skip others
 */
async function spansOf(
  connection: DuckDBConnection,
  time: string,
): Promise<{ readonly of: string; readonly near: string }[]> {
  const times = `SELECT DISTINCT ${quoteName(time)}::TIMESTAMPTZ AS t FROM _incoming`;
  const gaps = `SELECT t, (t - lag(t) OVER (ORDER BY t) > INTERVAL ${2 * sameRowDays} DAY)::INTEGER AS gap FROM (${times})`;
  const found = await connection.runAndReadAll(
    `SELECT min(t)::VARCHAR, max(t)::VARCHAR FROM (SELECT t, coalesce(sum(gap) OVER (ORDER BY t), 0) AS span FROM (${gaps}))
      GROUP BY t IS NULL, span ORDER BY min(t)`,
  );
  const all = found.getRows();
  const [timed, untimed] = [all.filter(([from]) => from !== null), all.filter(([from]) => from === null)];
  const spans = timed.length > maxSpans ? [[timed[0]![0], timed.at(-1)![1]]] : timed;
  const instant = (value: unknown) => `${quoteText(String(value))}::TIMESTAMPTZ`;
  const [own, other] = [incomingName, thereName].map(table => `${table}.${quoteName(time)}`);
  return [
    ...spans.map(([from, to]) => ({
      of: `${own} BETWEEN ${instant(from)} AND ${instant(to)}`,
      near: `${other} BETWEEN ${instant(from)} - INTERVAL ${sameRowDays} DAY AND ${instant(to)} + INTERVAL ${sameRowDays} DAY`,
    })),
    ...untimed.map(() => ({ of: `${own} IS NULL`, near: 'true' })),
  ];
}

async function runWith(connection: DuckDBConnection, sql: string, text: string) {
  const statement = await connection.prepare(sql);
  try {
    statement.bindVarchar(1, text);
    return (await statement.runAndReadAll()).getRows();
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
