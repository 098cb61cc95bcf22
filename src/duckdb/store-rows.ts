import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source } from '../endpoints/source.ts';
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
  /** JSON texts in the form of `normaliseRow`. */
  readonly rows: readonly string[];
  /** Dotted paths of records that hold more than one element in some row. */
  readonly severalElements: ReadonlySet<string>;
  /** Whether a row whose generated columns have the values of a stored row is the same row. Default false. */
  readonly hasOwnIds?: boolean;
};

/**
 * Stores rows in their normal form within the caller's transaction, after widening the table if a record in them has several elements.
 * @throws DuckDB's error for a row that the table, which may have older types, can't hold exactly: nothing is rounded
 */
export async function storeRows(
  connection: DuckDBConnection,
  source: Source,
  { rows, severalElements, hasOwnIds = false }: StoredRows,
): Promise<void> {
  if (rows.length === 0) return;
  const { name, key = [], generated = [] } = source;
  const stored = await readColumns(connection, name);
  const widened = widenLayout(stored, severalElements);
  await changeLayout(connection, name, stored, widened);
  const values = valuesOf(source, widened).map(({ name: column, sql }) => `${sql} AS ${quoteName(column)}`);
  const selected = `SELECT ${values.join(', ')}`;
  const incoming = rowsSql(source);
  const text = rows.join('\n');
  if (key.length === 0 && hasOwnIds && generated.length > 0) {
    const placed = `${selected}, place AS ${placeName} FROM (${incoming})`;
    await storeOnce(connection, source, widened, placed, text);
    return;
  }
  if (key.length === 0) {
    const insert = `INSERT INTO ${quoteName(name)} BY NAME ${selected} FROM (${incoming})`;
    await runWith(connection, insert, text);
    return;
  }
  const keys = key.map(quoteName).join(', ');
  // Of several rows with the same key the last one wins.
  const last = `QUALIFY row_number() OVER (PARTITION BY ${keys} ORDER BY place DESC) = 1`;
  await runWith(
    connection,
    `CREATE OR REPLACE TEMP TABLE _incoming AS ${selected} FROM (${incoming}) ${last}`,
    text,
  );
  await connection.run(
    `DELETE FROM ${quoteName(name)} WHERE (${keys}) IN (SELECT (${keys}) FROM _incoming);
      INSERT INTO ${quoteName(name)} BY NAME FROM _incoming; DROP TABLE _incoming`,
  );
}

/**
 * Finds the rows for which `storeRows` would fail.
 * @returns their positions, from 0
 * @throws SyntaxError if one is not JSON: it was torn, and must not be left out as if it did not fit
 */
export async function findRefused(
  connection: DuckDBConnection,
  source: Source,
  { rows, severalElements }: Pick<StoredRows, 'rows' | 'severalElements'>,
): Promise<ReadonlySet<number>> {
  for (const row of rows) JSON.parse(row);
  const widened = widenLayout(await readColumns(connection, source.name), severalElements);
  const record = valuesOf(source, widened).map(({ name, sql }) => `${quoteText(name)}: ${sql}`);
  const found = await runWith(
    connection,
    `SELECT (place - 1)::INTEGER FROM (${rowsSql(source)}) WHERE TRY({${record.join(', ')}}) IS NULL`,
    rows.join('\n'),
  );
  return new Set(found.map(([place]) => Number(place)));
}

/**
 * SQL of the bound rows, each a record `r` with its place. They are bound as lines because DuckDB reads these a few at a time; of a list of
 * records it would have all fields in memory at once, and take three times as long.
 */
function rowsSql({ columns }: Source): string {
  const structure = Object.fromEntries(listLayout(columns).map(({ name, type }) => [name, jsonType(type)]));
  const lines = 'SELECT unnest(lines) AS line, generate_subscripts(lines, 1) AS place';
  return `SELECT from_json(line, ${quoteText(JSON.stringify(structure))}) AS r, place
    FROM (${lines} FROM (SELECT string_split($rows, chr(10)) AS lines))`;
}

/** SQL of each column's value in a record `r`, in the form of the table. */
function valuesOf({ columns }: Source, stored: readonly CatalogColumn[]) {
  return listLayout(columns).map(({ name, type }) => {
    const target = columnNamed(stored, name)?.type ?? type;
    const value = decodeBytes(`r.${quoteName(name)}`, columns[name]!);
    return { name, sql: convertLayout(value, type, target, { isExact: true }) };
  });
}

/** Names that no column has. */
const [placeName, incomingName, thereName] = [
  quoteName('#place'),
  quoteName('#incoming'),
  quoteName('#there'),
];

/** Days within which a row that is sent again is recognised: a longer time would mean reading the ids of the whole table. */
const sameRowDays = 1;

/**
 * Stores the rows that are not there yet: the first row with an id wins, in each project separately. Projects share tables, and the sender
 * of one project's rows must not be able to block another's by using their ids.
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

/** Maximum spans in which the rows of one INSERT are looked up; if there are more, neighbouring ones are merged. */
const maxSpans = 8;

/**
 * Groups the times of the new rows into a few spans: a single row from 1970 must not cause the ids of the whole table to be read.
 * @returns for each span, SQL of its new rows and of the stored rows that may equal one of them; constant bounds let DuckDB skip all others
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

/** The structure with which from_json reads a logical value. */
function jsonType(type: SqlType): unknown {
  if (type.kind === 'ARRAY') return [jsonType(type.element)];
  if (type.kind === 'STRUCT')
    return Object.fromEntries(type.fields.map(field => [field.name, jsonType(field.type)]));
  // Declared as JSON, its text would be read as a JSON string; bytes are base64.
  return type.kind === 'JSON' || type.kind === 'BYTES' ? 'VARCHAR' : storedTypeSql(type);
}
