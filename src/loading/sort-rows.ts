import type { DuckDBConnection } from '@duckdb/node-api';
import { readColumns } from '../duckdb/database.ts';
import { pathSql } from '../duckdb/layout.ts';
import type { Source } from '../endpoints/source.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';

type SortOptions = {
  readonly sources: readonly Source[];
  readonly nowMs: number;
  /** Time, as `performance.now()`, after which no further piece begins; at least one always does. */
  readonly endMs: number;
  /** Runs the sorting of a source; returns undefined if that failed and is given up. Default: errors are thrown. */
  readonly attempt?: (source: string, sort: () => Promise<boolean>) => Promise<boolean | undefined>;
};

export type Sorting = {
  /** Number of rows that this file ever moved: if it has moved more than the other file, it should become current. */
  readonly moved: number;
  readonly isDone: boolean;
};

const hourMs = 3_600_000;

/** Milliseconds after the end of an hour during which rows of it may still arrive. */
const settleMs = 5 * 60_000;

/** Rows that are sorted at a time, plus those of a minute: limits the memory and the length of a turn. */
const pieceRows = 50_000;

/** A minute with more rows is not sorted: a column with the same value in all of them is not really a time. */
const maxPieceRows = 4 * pieceRows;

/** Rows of a DuckDB vector: the smallest unit of a column that a scan reads or skips. */
const vectorRows = 2048;

/** The factor by which the vectors of a project in an hour may exceed the needed ones. */
const maxSpread = 2;

/** Share of late rows in sorted hours, and their minimum number, at which all hours are checked again. */
const lateShare = 0.01;
const minLateRows = 2048;

/**
 * Sorts the rows of past hours by hour, project and time, so that a query for one project and some hours skips the others. Rows that are
 * well placed as they arrived are not moved. A piece is moved in one transaction, which also records the progress.
 */
export async function sortRows(
  connection: DuckDBConnection,
  { sources, nowMs, endMs, attempt = (_source, sort) => sort() }: SortOptions,
): Promise<Sorting> {
  await connection.run(
    'CREATE TABLE IF NOT EXISTS _sorted (source VARCHAR, until BIGINT, rows BIGINT, moved BIGINT)',
  );
  const until = Math.floor((nowMs - settleMs) / hourMs) * hourMs * 1000;
  let isFirst = true;
  const mayMove = () => isFirst || performance.now() <= endMs;
  const onMoved = () => {
    isFirst = false;
  };
  let isDone = true;
  const sorted = await readSorted(connection);
  for (const source of sources) {
    const { name, time, files } = source;
    if (time === undefined || files) continue;
    const before = sorted.get(name);
    // There is nothing to do before the next hour is over.
    if (before?.until !== undefined && before.until >= until) continue;
    const sort = () => sortSource(connection, { ...source, time }, before, { until, mayMove, onMoved });
    isDone = (await attempt(name, sort)) ?? true;
    if (!isDone) break;
  }
  return { moved: await readMoved(connection, ''), isDone };
}

type SourceTurn = {
  /** Time in microseconds since 1970 before which rows are sorted. */
  readonly until: number;
  /** Whether the turn has time for a further piece. */
  readonly mayMove: () => boolean;
  readonly onMoved: () => void;
};

/** @returns whether all of the source's hours are sorted */
async function sortSource(
  connection: DuckDBConnection,
  source: Source & { readonly time: string },
  known: Sorted | undefined,
  { until, mayMove, onMoved }: SourceTurn,
): Promise<boolean> {
  const table = await openTable(connection, source);
  if (table.hidesRowId) return true;
  const before = await withoutLate(connection, table, known);
  let sorted = before;
  for (const piece of await piecesOf(connection, table, before.until, until)) {
    if (!mayMove()) {
      await writeSorted(connection, table.name, sorted);
      return false;
    }
    sorted = { ...sorted, until: piece.to, rows: sorted.rows + piece.rows };
    if (piece.rows > maxPieceRows || !(await isSpread(connection, table, piece))) continue;
    sorted = { ...sorted, moved: sorted.moved + piece.rows };
    await movePiece(connection, table, piece, sorted);
    onMoved();
  }
  await writeSorted(connection, table.name, { ...sorted, until });
  return true;
}

/**
 * The number of rows that a file has moved to sort them.
 * @param place name of an attached database with a dot, or empty
 */
export async function readMoved(connection: DuckDBConnection, place: string): Promise<number> {
  const sql = `SELECT coalesce(sum(moved), 0)::DOUBLE FROM ${place}_sorted`;
  // A database that was never sorted has no such table.
  const [[moved] = []] = await rowsOf(connection, sql).catch(() => []);
  return Number(moved ?? 0);
}

type Table = {
  readonly name: string;
  /** SQL of its name, of its time, and of the project by which its rows are sorted within an hour. */
  readonly sql: string;
  readonly time: string;
  readonly project: string;
  /** Whether a column hides DuckDB's own `rowid`, by which rows are moved. */
  readonly hidesRowId: boolean;
};

async function openTable(
  connection: DuckDBConnection,
  { name, time, project }: Source & { readonly time: string },
): Promise<Table> {
  const columns = await readColumns(connection, name);
  const hidesRowId = columns.some(column => column.name.toLowerCase() === 'rowid');
  return {
    name,
    sql: quoteName(name),
    time: quoteName(time),
    project: pathSql(columns, project),
    hidesRowId,
  };
}

/** How far a table is sorted. */
type Sorted = {
  /** Time in microseconds since 1970 before which it is sorted; undefined if it is not sorted at all. */
  readonly until: number | undefined;
  /** Number of rows before that time when it was sorted. */
  readonly rows: number;
  /** Number of rows that were ever moved. */
  readonly moved: number;
};

/** Reads how far each table is sorted, by source. */
async function readSorted(connection: DuckDBConnection): Promise<ReadonlyMap<string, Sorted>> {
  const found = await rowsOf(
    connection,
    'SELECT source, until::DOUBLE, rows::DOUBLE, moved::DOUBLE FROM _sorted',
  );
  return new Map(
    found.map(([source, until, rows, moved]) => [
      String(source),
      { until: Number(until), rows: Number(rows), moved: Number(moved) },
    ]),
  );
}

/** How far a table is sorted: not at all if many rows have arrived late. */
async function withoutLate(
  connection: DuckDBConnection,
  table: Table,
  { until, rows, moved }: Sorted = { until: undefined, rows: 0, moved: 0 },
): Promise<Sorted> {
  if (until === undefined) return { until, rows, moved };
  const [[there] = []] = await rowsOf(
    connection,
    `SELECT count(*)::DOUBLE FROM ${table.sql} WHERE ${table.time} < ${at(until)}`,
  );
  const late = Number(there) - rows;
  if (late > Math.max(minLateRows, rows * lateShare)) return { until: undefined, rows: 0, moved };
  // There may be fewer rows, because old ones were removed.
  return { until, rows: Math.min(rows, Number(there)), moved };
}

async function writeSorted(connection: DuckDBConnection, name: string, sorted: Sorted): Promise<void> {
  await connection.run(
    `DELETE FROM _sorted WHERE source = ${quoteText(name)};
    INSERT INTO _sorted VALUES (${quoteText(name)}, ${sorted.until}, ${sorted.rows}, ${sorted.moved})`,
  );
}

/** Rows between two times in microseconds since 1970; without the first one, all rows before the second. */
type Piece = { readonly from: number | undefined; readonly to: number; readonly rows: number };

async function piecesOf(
  connection: DuckDBConnection,
  { sql, time }: Table,
  from: number | undefined,
  until: number,
): Promise<Piece[]> {
  const minutes = `SELECT date_trunc('minute', ${time}) AS minute, count(*) AS n FROM ${sql} WHERE ${between(time, from, until)} GROUP BY 1`;
  const pieces = `SELECT minute, n, (sum(n) OVER (ORDER BY minute) - 1) // ${pieceRows} AS piece FROM (${minutes})`;
  const found = await rowsOf(
    connection,
    `SELECT epoch_us(max(minute) + INTERVAL 1 MINUTE)::DOUBLE, sum(n)::DOUBLE FROM (${pieces}) GROUP BY piece ORDER BY 1`,
  );
  const ends = found.map(([end]) => Number(end));
  return found.map(([end, rows], n) => ({
    from: n === 0 ? from : ends[n - 1],
    to: Number(end),
    rows: Number(rows),
  }));
}

/** Whether the projects of a piece's hours are spread over more vectors than they would be if sorted. */
async function isSpread(
  connection: DuckDBConnection,
  { sql, time, project }: Table,
  { from, to }: Piece,
): Promise<boolean> {
  const groups = `SELECT count(DISTINCT rowid // ${vectorRows}) AS vectors, ceil(count(*) / ${vectorRows}) + 1 AS needed
    FROM ${sql} WHERE ${between(time, from, to)} GROUP BY date_trunc('hour', ${time}), ${project}`;
  const [[vectors, needed] = []] = await rowsOf(
    connection,
    `SELECT sum(vectors)::DOUBLE, sum(needed)::DOUBLE FROM (${groups})`,
  );
  return Number(vectors) > maxSpread * Number(needed);
}

async function movePiece(
  connection: DuckDBConnection,
  { name, sql, time, project }: Table,
  { from, to }: Piece,
  sorted: Sorted,
): Promise<void> {
  const isIn = between(time, from, to);
  const [[last] = []] = await rowsOf(connection, `SELECT max(rowid)::DOUBLE FROM ${sql}`);
  await connection.run('BEGIN');
  try {
    await connection.run(
      `INSERT INTO ${sql} SELECT * FROM ${sql} WHERE ${isIn} ORDER BY date_trunc('hour', ${time}), ${project}, ${time};
      DELETE FROM ${sql} WHERE ${isIn} AND rowid <= ${last}`,
    );
    await writeSorted(connection, name, sorted);
    await connection.run('COMMIT');
  } catch (error) {
    await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

const at = (micros: number) => `make_timestamptz(${micros})`;

const between = (time: string, from: number | undefined, to: number) =>
  `${from === undefined ? '' : `${time} >= ${at(from)} AND `}${time} < ${at(to)}`;

async function rowsOf(connection: DuckDBConnection, sql: string) {
  return (await connection.runAndReadAll(sql)).getRows();
}
