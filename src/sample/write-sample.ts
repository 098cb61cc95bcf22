import type { DuckDBConnection } from '@duckdb/node-api';
import { openForWriting, readColumns } from '../duckdb/database.ts';
import { presenceLeaf, storedTypeSql } from '../duckdb/layout.ts';
import type { Source } from '../endpoints/source.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import type { CatalogColumn, SqlType } from '../googlesql/tree/types.ts';
import type { SampleSource } from './sample-source.ts';
import { sampleSources } from './sample-sources.ts';

/** The settings of a sample. */
export type Sample = {
  /** Edge rows in seven days; the other sources have a share of that. 0 = no sample rows. */
  readonly rows: number;
  /** The end of the seven days; milliseconds since 1970. */
  readonly nowMs: number;
};

export type WriteSampleOptions = Sample & {
  readonly databasePath: string;
  readonly sources: readonly Source[];
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
};

const weekMicros = 7 * 86_400_000_000;

/** Ticks of one INSERT: limits its memory, and sets the pace of progress reports. */
const chunkTicks = 50_000;

/** Prefix of the id of every sample row, which distinguishes it from imported rows. */
const idPrefix = '5a3b1e00-';

/** The ticks of one source that a run writes. */
type Part = {
  readonly source: string;
  readonly sample: SampleSource;
  readonly stepMicros: number;
  readonly fromTick: number;
  readonly toTick: number;
  /** The existing sample has another rate, and is removed. */
  readonly isNewRate: boolean;
};

/**
 * Writes sample rows for the seven days up to now. A source's row number `i` is at tick `i` of a fixed grid in time,
 * and everything in it is drawn from `i`: the same window has the same rows on any machine, and a later call adds only the
 * ticks since the last one. Another rate replaces all sample rows; imported rows stay.
 * @returns rows written
 * @throws DatabaseBusyError
 */
export async function writeSample(options: WriteSampleOptions): Promise<number> {
  const database = await openForWriting(options.databasePath, options.sources);
  try {
    return await extendSample(database.connection, options);
  } finally {
    database.close();
  }
}

/** Writes sample rows into an open database, as `writeSample` does. */
export async function extendSample(
  connection: DuckDBConnection,
  options: Omit<WriteSampleOptions, 'databasePath'>,
): Promise<number> {
  await connection.run(
    `CREATE TABLE IF NOT EXISTS _sample (source VARCHAR PRIMARY KEY, step_micros BIGINT, next_tick BIGINT);
    CREATE TABLE IF NOT EXISTS _sample_until (sample_rows BIGINT, now_ms BIGINT)`,
  );
  const parts = await plan(connection, options);
  const total = parts.reduce((sum, { fromTick, toTick }) => sum + toTick - fromTick, 0);
  let done = 0;
  let committed = 0;
  await connection.run('BEGIN');
  for (const part of parts) {
    await writePart(connection, part, async written => {
      done += written;
      // The small parts of a later start share one commit, because committing takes most of their time.
      if (done - committed >= chunkTicks) {
        await connection.run('COMMIT; BEGIN');
        committed = done;
      }
      options.onProgress?.({ done, total });
    });
  }
  await connection.run(
    `DELETE FROM _sample_until; INSERT INTO _sample_until VALUES (${options.rows}, ${options.nowMs}); COMMIT`,
  );
  return done;
}

/**
 * Reads the settings of the sample in a database.
 * @param place name of an attached database with a dot, or empty
 */
export async function readSample(connection: DuckDBConnection, place: string): Promise<Sample | undefined> {
  const sql = `SELECT sample_rows, now_ms FROM ${place}_sample_until`;
  // A database of an older version has no such table.
  const found = await connection.runAndReadAll(sql).catch(() => undefined);
  const [row] = found?.getRows() ?? [];
  return row && { rows: Number(row[0]), nowMs: Number(row[1]) };
}

async function plan(
  connection: DuckDBConnection,
  { sources, rows, nowMs }: Omit<WriteSampleOptions, 'databasePath'>,
): Promise<Part[]> {
  const written = new Map<string, { stepMicros: number; nextTick: number }>();
  const result = await connection.runAndReadAll('SELECT source, step_micros, next_tick FROM _sample');
  for (const [source, step, next] of result.getRows()) {
    written.set(String(source), { stepMicros: Number(step), nextTick: Number(next) });
  }
  const parts: Part[] = [];
  for (const { name } of sources) {
    const sample = Object.hasOwn(sampleSources, name) ? sampleSources[name] : undefined;
    if (!sample) continue;
    const before = written.get(name);
    const stepMicros = rows === 0 ? 0 : Math.floor(weekMicros / Math.max(1, rows * sample.share));
    const isNewRate = before !== undefined && before.stepMicros !== stepMicros;
    const toTick = rows === 0 ? 0 : Math.floor((nowMs * 1000) / stepMicros);
    const weekAgo = rows === 0 ? 0 : Math.ceil((nowMs * 1000 - weekMicros) / stepMicros);
    const fromTick = Math.min(toTick, Math.max(weekAgo, before && !isNewRate ? before.nextTick : 0));
    if (isNewRate || fromTick < toTick)
      parts.push({ source: name, sample, stepMicros, fromTick, toTick, isNewRate });
  }
  return parts;
}

async function writePart(
  connection: DuckDBConnection,
  part: Part,
  onWritten: (rows: number) => Promise<void>,
): Promise<void> {
  const table = quoteName(part.source);
  const columns = await readColumns(connection, part.source);
  if (part.isNewRate)
    await connection.run(`DELETE FROM ${table} WHERE starts_with(id, ${quoteText(idPrefix)})`);
  for (let from = part.fromTick; from < part.toTick || from === part.fromTick; from += chunkTicks) {
    const to = Math.min(part.toTick, from + chunkTicks);
    await connection.run(`INSERT INTO ${table} ${selectRows(part, columns, from, to)}`);
    await connection.run(
      `INSERT OR REPLACE INTO _sample VALUES (${quoteText(part.source)}, ${part.stepMicros}, ${to})`,
    );
    await onWritten(to - from);
  }
}

function selectRows(
  { source, sample, stepMicros }: Part,
  columns: readonly CatalogColumn[],
  from: number,
  to: number,
): string {
  const md5 = `md5(concat(${quoteText(source)}, i))`;
  const piece = (start: number, length: number) => `substr(${md5}, ${start}, ${length})`;
  const leaves: Record<string, string> = {
    ...sample.leaves,
    id: `concat(${quoteText(idPrefix)}, ${piece(1, 4)}, '-4', ${piece(5, 3)}, '-a', ${piece(8, 3)}, '-', ${piece(11, 12)})`,
    timestamp: 'ts',
  };
  const drawn = Object.entries(sample.draws).map(([name, sql]) => `${sql} AS ${quoteName(name)}`);
  const step = Math.max(1, stepMicros);
  const ticks = `SELECT i, make_timestamptz(i * ${step} + (hash(i, ${quoteText(source)}) % ${step})::BIGINT) AS ts FROM range(${from}, ${to}) t(i)`;
  const values = columns.map(({ name, type }) => `${valueSql(type, name, leaves)} AS ${quoteName(name)}`);
  return `BY NAME SELECT ${values.join(', ')} FROM (SELECT *, ${drawn.join(', ')} FROM (${ticks}))`;
}

/** SQL for the value of a column or field, as stored in the table. */
function valueSql(type: SqlType, path: string, leaves: Readonly<Record<string, string>>): string {
  if (type.kind !== 'ARRAY' || type.element.kind !== 'STRUCT') {
    return `CAST(${leaves[path] ?? 'NULL'} AS ${storedTypeSql(type)})`;
  }
  const none = type.single ? 'NULL' : '[]';
  const isGiven = Object.keys(leaves).some(leaf => leaf.startsWith(`${path}.`));
  if (!isGiven) return `CAST(${none} AS ${storedTypeSql(type)})`;
  const fields = type.element.fields.map(
    field => `${quoteText(field.name)}: ${valueSql(field.type, `${path}.${field.name}`, leaves)}`,
  );
  const record = `{${[`${quoteText(presenceLeaf)}: true`, ...fields].join(', ')}}`;
  const value = type.single ? record : `[${record}]`;
  const condition = leaves[`${path}?`];
  return condition === undefined ? value : `CASE WHEN ${condition} THEN ${value} ELSE ${none} END`;
}
