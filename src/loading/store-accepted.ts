import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DuckDBConnection } from '@duckdb/node-api';
import { syncDirectory } from '../base/replace-file.ts';
import type { Source } from '../endpoints/source.ts';
import { quoteText } from '../googlesql/tree/quote-text.ts';
import { extendSample, readSample, type Sample } from '../sample/write-sample.ts';
import { createRowsList, type RowsFile, rowsFolderOf, sourceOf } from './accepted-rows.ts';
import { readLearned, withLearned } from './events/learned-fields.ts';
import type { LoadingEvent } from './loading-events.ts';
import { removeLost, removeOld } from './remove-old.ts';
import { readMoved, sortRows } from './sort-rows.ts';
import { storeAll } from './store-files.ts';
import { lacksLayout } from './table-layout.ts';
import { createUpkeep, type Upkeep } from './upkeep.ts';
import { currentName, writeSpare } from './write-spare.ts';

type StoreOptions = {
  readonly databasePath: string;
  /** The sources as declared. */
  readonly sources: readonly Source[];
  /** Sources with broken files, whose rows wait. Default: none. */
  readonly leftOut?: ReadonlySet<string>;
  readonly emit: (event: LoadingEvent) => void;
  /** The sample to which the rows are extended. Default: no change. */
  readonly sample?: Sample | undefined;
  /** The time by which rows are too old, or of a past hour, in milliseconds since 1970. Default: the system's. */
  readonly nowMs?: number;
  /** Whether rows that are too old are removed even if no new ones wait. Default false: only together with new rows. */
  readonly retains?: boolean;
  /** Whether some sources may have no tables yet, even if there is only one file of the database. Default false. */
  readonly hasNewSources?: boolean;
  /** Whether the previous turn left rows to sort. Default false. */
  readonly goesOn?: boolean;
  /** Called for each table of the spare whose columns were changed, with the milliseconds that took. */
  readonly onChanged?: (table: string, ms: number) => void;
  /** Retention and sorting, with the sources that pause since an earlier turn. Default: none do. */
  readonly upkeep?: Upkeep;
};

/** Milliseconds after which no further transaction begins in the same turn. */
const turnMs = 1000;

/**
 * Stores accepted rows in the spare, and makes it current if it has rows that the current file lacks. An accepted file is removed when both
 * database files have its rows. Each records the file's name in the transaction that stores its rows, so that a file is stored exactly once
 * whenever a process is killed. Rows of past hours are sorted, some in each turn.
 * @returns whether work is left for the next turn: accepted files, or rows to sort in this file or the other one
 * @throws DatabaseBusyError; the system's and DuckDB's errors, such as a full disk; nothing is lost then
 */
export async function storeAccepted(options: StoreOptions): Promise<boolean> {
  const { databasePath, emit, sample, retains, goesOn = false, leftOut = new Set<string>() } = options;
  const { upkeep = createUpkeep(emit), nowMs = Date.now() } = options;
  const folder = rowsFolderOf(databasePath);
  const listFiles = createRowsList(folder);
  const before = new Set((await listFiles()).map(({ name }) => name));
  const learned = readLearned(databasePath);
  const sources = withLearned(options.sources, learned);
  const unknown = new Set<string>();
  const hasFiles = async () => {
    const files = await listFiles();
    const waiting = await namesOfWaiting(folder, files, leftOut);
    return files.some(({ name }) => !waiting.has(name) && !unknown.has(name));
  };
  const isNewLayout = options.hasNewSources || lacksLayout(databasePath, sources);
  if (!sample && !retains && !goesOn && !isNewLayout && !(await hasFiles())) return false;
  let changedMs = 0;
  const onChanged = (table: string, ms: number) => {
    changedMs += ms;
    options.onChanged?.(table, ms);
  };
  let [isLost, isOutdated, isUnsorted] = [false, false, false];
  await writeSpare({ databasePath, sources, onChanged }, async (connection, { isLast, isAfterBreak }) => {
    // A turn that began with new columns of a large table stores for as long as these took.
    const endMs = performance.now() + Math.max(turnMs, changedMs);
    const files = await listFiles();
    // Fields are learned before the file with their rows appears: a file that came after reading them may have more fields than the tables, and waits.
    const isEachKnown = isDeepStrictEqual(readLearned(databasePath), learned);
    const isKnown = (name: string) => isEachKnown || before.has(name);
    const waiting = await namesOfWaiting(folder, files, leftOut);
    const memory = await readMemory(connection);
    const missing = memory.missing(files);
    // Another process has stored such a file. Here, too, its rows must come before those that neither has.
    isOutdated = missing.some(({ name }) => memory.isInCurrent(name) && !isKnown(name));
    if (isOutdated) return {};
    // Rows of a left-out source that the current file has can only be copied.
    const isToCopy = missing.some(({ name }) => waiting.has(name) && memory.isInCurrent(name));
    isLost = isToCopy || !memory.isWhole(files);
    if (isLost) return { isLost };
    await memory.forget(files);
    const { isInCurrent } = memory;
    const target = { connection, folder, sources, emit, isLast, isAlone: isAfterBreak, isInCurrent, unknown };
    const toStore = missing.filter(({ name }) => isKnown(name) && !waiting.has(name));
    // Rows that the current file has lost go before newer files come, which it had not stored then. A transaction of their own costs time.
    const hasLost = [...upkeep.sizes.values()].some(({ removed }) => removed);
    const known = hasLost ? toStore.filter(({ name }) => isInCurrent(name)) : [];
    isLost = !(await storeAll(target, known, endMs));
    if (isLost) return { isLost };
    await removeLost(connection, { sources, upkeep, isLast });
    const fresh = known.length > 0 && performance.now() > endMs ? [] : toStore.slice(known.length);
    isLost = !(await storeAll(target, fresh, endMs));
    if (isLost) return { isLost };
    const expired = await removeOld(connection, { sources, nowMs, upkeep, isLast });
    const isSampled = await updateSample(connection, sources, sample);
    const { moved, isDone } = await sortRows(connection, {
      sources,
      nowMs,
      endMs,
      attempt: (source, sort) => upkeep.run('sorting', source, isLast, sort),
    });
    const isMoved = moved > (await readMoved(connection, `${currentName}.main.`));
    isUnsorted = isMoved || !isDone;
    const { inBoth, loaded, isBehind } = await memory.compare(files);
    if (isBehind) return {};
    for (const name of inBoth) await rm(join(folder, name), { force: true });
    // A file that came back after a loss of power, when both files of the database have forgotten its name, would be stored again.
    if (inBoth.length > 0) await syncDirectory(folder);
    if (!loaded && !isSampled && !isMoved && !isNewLayout && expired.length === 0) return {};
    return { loaded: [...new Set([...(loaded ?? []), ...expired])] };
  });
  // Called again: the spare is complete now, or gets the missing fields.
  return isLost || isOutdated ? storeAccepted(options) : isUnsorted || hasFiles();
}

/** Names of the accepted files with rows of left-out sources; a file has rows of one source. */
async function namesOfWaiting(
  folder: string,
  files: readonly RowsFile[],
  leftOut: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const waiting = new Set<string>();
  if (leftOut.size === 0) return waiting;
  for (const { name } of files) {
    const source = await sourceOf(folder, name);
    if (source !== undefined && leftOut.has(source)) waiting.add(name);
  }
  return waiting;
}

/**
 * Extends the sample of the spare to that of the current file, or beyond.
 * @returns whether the spare has sample rows that the current file lacks
 */
async function updateSample(
  connection: DuckDBConnection,
  sources: readonly Source[],
  wanted: Sample | undefined,
): Promise<boolean> {
  const current = await readSample(connection, `${currentName}.main.`);
  const spare = await readSample(connection, '');
  const isNew = wanted && (wanted.rows !== current?.rows || wanted.nowMs > current.nowMs);
  const target = isNew ? wanted : current;
  const isThere = target?.rows === spare?.rows && target?.nowMs === spare?.nowMs;
  if (target && !isThere) await extendSample(connection, { ...target, sources });
  return isNew === true;
}

/** Reads which accepted files the spare and the current file have stored; `_stored` lists those that are not removed yet, and `_stored_total` counts all. */
async function readMemory(connection: DuckDBConnection) {
  await connection.run(`CREATE TABLE IF NOT EXISTS _stored (place BIGINT, name VARCHAR, sources VARCHAR);
    CREATE TABLE IF NOT EXISTS _stored_total (files BIGINT);
    INSERT INTO _stored_total SELECT 0 WHERE NOT EXISTS (FROM _stored_total)`);
  const hasMemory = await connection.runAndReadAll(
    `SELECT 1 FROM duckdb_tables() WHERE database_name = '${currentName}' AND table_name = '_stored_total'`,
  );
  const current = hasMemory.currentRowCount > 0 ? await readStored(connection, `${currentName}.main.`) : none;
  const spare = await readStored(connection, '');
  const inCurrent = new Set(current.names);
  const inSpare = new Set(spare.names);
  return {
    isInCurrent: (name: string) => inCurrent.has(name),
    /**
     * Whether the spare can get all rows of the current file: each has the other's rows, or they are still in files. Names of removed files
     * are ignored, because one may have forgotten what the other remembers; their rows count in both totals.
     */
    isWhole(files: readonly RowsFile[]): boolean {
      const there = new Set(files.map(({ name }) => name));
      const toGet = current.names.filter(name => !inSpare.has(name) && there.has(name));
      const toShow = spare.names.filter(name => !inCurrent.has(name) && there.has(name));
      return spare.total + toGet.length === current.total + toShow.length;
    },
    /** The files that the spare lacks; first those that the current file has, in its order, because rows with a key replace earlier ones. */
    missing(files: readonly RowsFile[]): RowsFile[] {
      const byName = new Map(files.map(file => [file.name, file]));
      const known = current.names.flatMap(name => byName.get(name) ?? []);
      const fresh = files.filter(({ name }) => !inCurrent.has(name));
      return [...known, ...fresh].filter(({ name }) => !inSpare.has(name));
    },
    /** Drops the names of removed files. */
    async forget(files: readonly RowsFile[]): Promise<void> {
      const names = files.map(({ name }) => quoteText(name)).join(', ');
      if (spare.names.length > 0)
        await connection.run(`DELETE FROM _stored${names && ` WHERE name NOT IN (${names})`}`);
    },
    async compare(files: readonly RowsFile[]) {
      const stored = await readStored(connection, '');
      const there = new Set(files.map(({ name }) => name));
      const inBoth = stored.names.filter(name => inCurrent.has(name) && there.has(name));
      const shown = stored.names.flatMap((name, at) => (inCurrent.has(name) ? [] : stored.sources[at]!));
      const inSpareNow = new Set(stored.names);
      const isBehind = current.names.some(name => there.has(name) && !inSpareNow.has(name));
      const isAhead = stored.names.some(name => !inCurrent.has(name));
      return { inBoth, isBehind, loaded: isAhead ? [...new Set(shown)] : undefined };
    },
  };
}

type Stored = {
  readonly names: readonly string[];
  readonly sources: readonly (readonly string[])[];
  readonly total: number;
};

const none: Stored = { names: [], sources: [], total: 0 };

async function readStored(connection: DuckDBConnection, place: string): Promise<Stored> {
  const stored = await connection.runAndReadAll(`SELECT name, sources FROM ${place}_stored ORDER BY place`);
  const total = await connection.runAndReadAll(`SELECT files FROM ${place}_stored_total`);
  return {
    names: stored.getRows().map(([name]) => String(name)),
    sources: stored.getRows().map(([, sources]) => JSON.parse(String(sources)) as string[]), // as `storeFiles` writes it
    total: Number(total.getRows()[0]?.[0] ?? 0),
  };
}
