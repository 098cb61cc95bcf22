import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source } from '../endpoints/source.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import type { SourceSize, Upkeep } from './upkeep.ts';
import { currentName } from './write-spare.ts';

type RemoveOptions = {
  readonly sources: readonly Source[];
  readonly nowMs: number;
  readonly upkeep: Upkeep;
  /** Whether no later attempt will have more memory. */
  readonly isLast: boolean;
};

/**
 * Removes from the spare the rows that exceed the retention of their source, in days or megabytes. Days count in whole hours, so that old
 * blocks are read only once an hour.
 * @returns the sources whose removed rows the current file still has
 */
export async function removeOld(
  connection: DuckDBConnection,
  { sources, nowMs, upkeep, isLast }: RemoveOptions,
): Promise<string[]> {
  const expired: string[] = [];
  for (const { time, files, ...source } of sources) {
    if (time === undefined || files) continue;
    const size = upkeep.sizes.get(source.name) ?? { measured: new Map<string, number>() };
    upkeep.sizes.set(source.name, size);
    const remove = () => removeFrom(connection, { ...source, time, size }, nowMs);
    if (await upkeep.run('retention', source.name, isLast, remove)) expired.push(source.name);
  }
  return expired;
}

/**
 * Removes from the spare the rows that the current file has lost because their source exceeded its megabytes. The same rows have another size
 * in each file: if each lost rows by its own size, some would come back whenever the other file becomes current.
 */
export async function removeLost(
  connection: DuckDBConnection,
  { sources, upkeep, isLast }: Omit<RemoveOptions, 'nowMs'>,
): Promise<void> {
  for (const { name, time } of sources) {
    const size = upkeep.sizes.get(name);
    if (time === undefined || !size?.removed || size.removed.file === (await fileOf(connection))) continue;
    const isOld = `${quoteName(time)} < ${size.removed.bound}`;
    await upkeep.run('retention', name, isLast, () =>
      connection.run(`DELETE FROM ${quoteName(name)} WHERE ${isOld}`),
    );
    size.removed = undefined;
  }
}

type Aging = Pick<Source, 'name' | 'retentionDays' | 'retentionMb'> & {
  readonly time: string;
  readonly size: SourceSize;
};

/** @returns whether the current file still has such rows */
async function removeFrom(
  connection: DuckDBConnection,
  { name, time, retentionDays, retentionMb, size }: Aging,
  nowMs: number,
): Promise<boolean> {
  let isShown = false;
  const bounds = [
    ...(retentionDays === undefined
      ? []
      : [`date_trunc('hour', make_timestamptz(${nowMs * 1000}) - INTERVAL ${retentionDays} DAY)`]),
    ...(retentionMb === undefined ? [] : await beyondSize(connection, { name, time, retentionMb, size })),
  ];
  for (const bound of bounds) {
    const isOld = `${quoteName(time)} < ${bound}`;
    await connection.run(`DELETE FROM ${quoteName(name)} WHERE ${isOld}`);
    const shown = await connection
      .runAndReadAll(`SELECT 1 FROM ${currentName}.main.${quoteName(name)} WHERE ${isOld} LIMIT 1`)
      // A new source has no table there yet.
      .catch(() => undefined);
    if (shown && shown.currentRowCount > 0) isShown = true;
  }
  return isShown;
}

/** If the megabytes are exceeded, rows are removed down to this part of them: otherwise each further row would remove one. */
const keptShare = 0.9;

/** A source is measured again after the file has grown by this part of its megabytes. */
const lookShare = 0.01;

/** The size of the spare: the current file is attached beside it. */
const ownFile = 'pragma_database_size() WHERE database_name = current_database()';

/** The path of the spare. Both files have the same name in DuckDB. */
async function fileOf(connection: DuckDBConnection): Promise<string> {
  const sql = 'SELECT path FROM duckdb_databases() WHERE database_name = current_database()';
  return String((await connection.runAndReadAll(sql)).getRows()[0]?.[0]);
}

type Sized = Pick<Aging, 'name' | 'time' | 'size'> & { readonly retentionMb: number };

/**
 * Finds rows beyond the megabytes of their source. Removed rows take space until their whole row group is gone, so the remaining rows count
 * with the space of an average row.
 * @returns SQL of the time before which rows exceed the size, if there are any
 */
async function beyondSize(connection: DuckDBConnection, sized: Sized): Promise<string[]> {
  const [table, time, limit] = [
    quoteName(sized.name),
    quoteName(sized.time),
    sized.retentionMb * 1024 * 1024,
  ];
  const one = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
  const { measured } = sized.size;
  const file = await fileOf(connection);
  // Checked first because it is far cheaper: all sources together take no more than this.
  const blockBytes = Number(await one(`SELECT block_size FROM ${ownFile}`));
  const used = Number(await one(`SELECT used_blocks FROM ${ownFile}`)) * blockBytes;
  if (used <= limit) return [];
  // The following statements read something of each segment. Removing rows shrinks the file.
  const before = measured.get(file) ?? Number.NEGATIVE_INFINITY;
  if (used < before + limit * lookShare) {
    measured.set(file, Math.min(before, used));
    return [];
  }
  measured.set(file, used);
  // The function parses the name as SQL does.
  const segments = `pragma_storage_info(${quoteText(table)})`;
  const blocks = `SELECT unnest(list_append(additional_block_ids, block_id)) AS block FROM ${segments} WHERE persistent`;
  const bytes = Number(await one(`SELECT count(DISTINCT block) FROM (${blocks})`)) * blockBytes;
  // A table without rows has no blocks.
  if (bytes <= limit) return [];
  const places = Number(
    await one(
      `SELECT coalesce(sum(count), 0)::DOUBLE FROM ${segments} WHERE column_path = '[0, 0]' AND segment_type = 'VALIDITY'`,
    ),
  );
  const kept = Math.floor((places * limit) / bytes);
  if (Number(await one(`SELECT count(*) FROM ${table}`)) <= kept) return [];
  const offset = Math.floor(kept * keptShare);
  const oldest = await one(
    `SELECT ${time}::VARCHAR FROM ${table} ORDER BY ${time} DESC LIMIT 1 OFFSET ${offset}`,
  );
  if (!oldest) return [];
  const bound = `${quoteText(String(oldest))}::TIMESTAMPTZ`;
  // The other file still has these rows.
  measured.clear();
  sized.size.removed = { file, bound };
  return [bound];
}
