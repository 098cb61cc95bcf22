import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DuckDBConnection } from '@duckdb/node-api';
import { damagedPlace } from '../duckdb/data-folder/damaged-block.ts';
import { findRefused, storeRows } from '../duckdb/store-rows.ts';
import type { Source } from '../endpoints/sources.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import { extendSample, readSample, type Sample } from '../sample/write-sample.ts';
import {
  listRowsFiles,
  type RowsBlock,
  type RowsFile,
  type RowsFileWriter,
  readBlocks,
  rowsFolderOf,
  writeRowsFile,
} from './accepted-rows.ts';
import { readLearned, withLearned } from './events/learned-fields.ts';
import type { LoadingEvent } from './loading-events.ts';
import { removeOld } from './remove-old.ts';
import { readMoved, sortRows } from './sort-rows.ts';
import { lacksLayout } from './table-layout.ts';
import { createUpkeep, type Upkeep } from './upkeep.ts';
import { currentName, isLackOfMemory, writeSpare } from './write-spare.ts';

type StoreOptions = {
  readonly databasePath: string;
  /** As declared. */
  readonly sources: readonly Source[];
  /** Sources whose files are wrong: their rows wait. Default: none. */
  readonly leftOut?: ReadonlySet<string>;
  readonly emit: (event: LoadingEvent) => void;
  /** The sample that queries are to see. Default: the one that they see. */
  readonly sample?: Sample | undefined;
  /** Removes rows that are too old at this time, in milliseconds since 1970, even if no new ones wait. Default: only beside new rows. */
  readonly retainAtMs?: number | undefined;
  /** Whether the turn before left rows to sort. Default false. */
  readonly goesOn?: boolean;
  /** Called for each table of the spare that got other columns, with the milliseconds that it took. */
  readonly onChanged?: (table: string, ms: number) => void;
  /** Retention and sorting, with the sources that rest since an earlier turn. Default: none does. */
  readonly upkeep?: Upkeep;
};

/** Bytes of accepted files that share a transaction, and milliseconds after which no further one begins in the same turn. */
const transactionBytes = 8 * 1024 * 1024;
const turnMs = 1000;

/** Characters of the rows that are inserted at once; and rows, where they need extraordinarily much memory. */
const insertCharacters = 2 * 1024 * 1024;
const fewRows = 20;

/**
 * Stores accepted rows in the spare, and makes it current if it has rows that the current file lacks. A file is removed when both have its
 * rows; each remembers which ones it has in the transaction that stores them, so that a file is stored once, whenever a process is killed.
 * Rows of the hours that are over are sorted, some of them in each turn.
 * @returns whether something is left for the next turn: accepted files, or rows to sort in this file or the other one
 * @throws DatabaseBusyError; the system's and DuckDB's errors, such as a full disk: nothing is lost then
 */
export async function storeAccepted(options: StoreOptions): Promise<boolean> {
  const { databasePath, emit, sample, retainAtMs, goesOn = false, leftOut = new Set<string>() } = options;
  const { upkeep = createUpkeep(emit) } = options;
  const folder = rowsFolderOf(databasePath);
  const before = new Set((await listRowsFiles(folder)).map(({ name }) => name));
  const learned = readLearned(databasePath);
  const sources = withLearned(options.sources, learned);
  const unknown = new Set<string>();
  const hasFiles = async () => {
    const files = await listRowsFiles(folder);
    const waiting = await namesOfWaiting(folder, files, leftOut);
    return files.some(({ name }) => !waiting.has(name) && !unknown.has(name));
  };
  const isNewLayout = lacksLayout(databasePath, sources);
  if (!sample && retainAtMs === undefined && !goesOn && !isNewLayout && !(await hasFiles())) return false;
  let changedMs = 0;
  const onChanged = (table: string, ms: number) => {
    changedMs += ms;
    options.onChanged?.(table, ms);
  };
  let [isLost, isOutdated, isUnsorted] = [false, false, false];
  await writeSpare({ databasePath, sources, onChanged }, async (connection, isLast) => {
    // A turn that began with new columns of a large table stores for as long as these took.
    const endMs = performance.now() + Math.max(turnMs, changedMs);
    const files = await listRowsFiles(folder);
    // Fields are learned before the file is there whose rows have them: one that came since may have more than the tables, and waits.
    const isEachKnown = isDeepStrictEqual(readLearned(databasePath), learned);
    const isKnown = (name: string) => isEachKnown || before.has(name);
    const waiting = await namesOfWaiting(folder, files, leftOut);
    const memory = await readMemory(connection);
    const missing = memory.missing(files);
    // Another process has stored such a file. Here, too, its rows come before those that neither has.
    isOutdated = missing.some(({ name }) => memory.isInCurrent(name) && !isKnown(name));
    if (isOutdated) return {};
    // What the current file has of a source that is left out can only be copied.
    const isToCopy = missing.some(({ name }) => waiting.has(name) && memory.isInCurrent(name));
    isLost = isToCopy || !memory.isWhole(files);
    if (isLost) return { isLost };
    await memory.forget(files);
    const target = { connection, folder, sources, emit, isLast, isInCurrent: memory.isInCurrent, unknown };
    const toStore = missing.filter(({ name }) => isKnown(name) && !waiting.has(name));
    isLost = !(await storeAll(target, toStore, endMs));
    if (isLost) return { isLost };
    const nowMs = retainAtMs ?? Date.now();
    const expired = await removeOld(connection, { sources, nowMs, upkeep, isLast });
    const isSampled = await bringSample(connection, sources, sample);
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
    if (!loaded && !isSampled && !isMoved && !isNewLayout && expired.length === 0) return {};
    return { loaded: [...new Set([...(loaded ?? []), ...expired])] };
  });
  // The spare is whole now, or gets the fields that it lacks.
  return isLost || isOutdated ? storeAccepted(options) : isUnsorted || hasFiles();
}

/** Names of the accepted files whose rows belong to sources that are left out; a file has rows of one source. */
async function namesOfWaiting(
  folder: string,
  files: readonly RowsFile[],
  leftOut: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const waiting = new Set<string>();
  if (leftOut.size === 0) return waiting;
  for (const { name } of files) {
    try {
      for await (const { source } of readBlocks(folder, name)) {
        if (leftOut.has(source)) waiting.add(name);
        break;
      }
    } catch {
      // Whoever stores the file finds out what is wrong with it.
    }
  }
  return waiting;
}

/**
 * Brings the sample of the spare to where the current file has it, or beyond.
 * @returns whether the spare has sample rows that the current file lacks
 */
async function bringSample(
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

/** Which files the spare and the current file have; `_stored` lists those that are not removed yet, and `_stored_total` counts all. */
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
     * Whether the spare can get all that the current file has: each has the other's rows, or they are still in files. Names of files that
     * are gone say nothing, for one may have forgotten what the other remembers: such rows count in both totals.
     */
    isWhole(files: readonly RowsFile[]): boolean {
      const there = new Set(files.map(({ name }) => name));
      const toGet = current.names.filter(name => !inSpare.has(name) && there.has(name));
      const toShow = spare.names.filter(name => !inCurrent.has(name) && there.has(name));
      return spare.total + toGet.length === current.total + toShow.length;
    },
    /** Those that the spare lacks, the ones that the current file has first and in its order: rows with a key replace earlier ones. */
    missing(files: readonly RowsFile[]): RowsFile[] {
      const byName = new Map(files.map(file => [file.name, file]));
      const known = current.names.flatMap(name => byName.get(name) ?? []);
      const fresh = files.filter(({ name }) => !inCurrent.has(name));
      return [...known, ...fresh].filter(({ name }) => !inSpare.has(name));
    },
    /** Drops the names of files that are no more. */
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

function* groupFiles(files: readonly RowsFile[]): Iterable<RowsFile[]> {
  let group: RowsFile[] = [];
  let bytes = 0;
  for (const file of files) {
    group.push(file);
    bytes += file.bytes;
    if (bytes < transactionBytes) continue;
    yield group;
    [group, bytes] = [[], 0];
  }
  if (group.length > 0) yield group;
}

type Target = Pick<StoreOptions, 'sources' | 'emit'> & {
  readonly connection: DuckDBConnection;
  readonly folder: string;
  /** Whether no later attempt has more memory. */
  readonly isLast: boolean;
  /** Whether few rows are inserted at once. Default false. */
  readonly inFewRows?: boolean;
  /** Why a file could not be stored whole: the rows at fault are left out. */
  readonly failure?: string;
  readonly isInCurrent: (name: string) => boolean;
  /** Gets the names of files whose source this process does not know: another one may. */
  readonly unknown: Set<string>;
};

/** Milliseconds that rows wait for a process that knows their source: one that started earlier may not know it yet. */
const unknownMs = 3_600_000;

class UnknownSourceError extends Error {}

/** A file can't be stored whose rows the current file has: it was damaged since, and the spare can only get them by a copy. */
class OnlyInCurrentError extends Error {}

/**
 * Stores files in groups until the time is over; the first group in any case.
 * @returns false if only a copy of the current file can bring the rows of one of them
 */
async function storeAll(target: Target, files: readonly RowsFile[], endMs: number): Promise<boolean> {
  try {
    for (const group of groupFiles(files)) {
      await storeGroup(target, group);
      if (performance.now() > endMs) break;
    }
    return true;
  } catch (error) {
    if (!(error instanceof OnlyInCurrentError)) throw error;
    target.emit({ type: 'rows.delayed', message: error.message });
    return false;
  }
}

/**
 * Stores files in one transaction; if that fails, one by one, then in few rows if these need too much memory, then without the rows that DuckDB
 * refuses. What fails even so is set aside.
 */
async function storeGroup(target: Target, files: readonly RowsFile[]): Promise<void> {
  try {
    await storeFiles(target, files);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isOfRows = error instanceof SyntaxError || quotesValues.test(message);
    const needsMemory = !isOfRows && isLackOfMemory(error);
    const isOfMachine = !isOfRows && (isLackOfRoom(message) || damagedPlace(error) !== undefined);
    if (needsMemory ? !target.isLast : isOfMachine) throw error;
    if (files.length > 1) {
      for (const file of files) await storeGroup(target, [file]);
      return;
    }
    if (needsMemory && !target.inFewRows) return storeGroup({ ...target, inFewRows: true }, files);
    if (!needsMemory && target.failure === undefined)
      return storeGroup({ ...target, failure: message }, files);
    const [file] = files;
    if (!file) throw error;
    if (target.isInCurrent(file.name)) throw new OnlyInCurrentError(`${file.name} is damaged: ${message}`);
    await setAside(target, file.name, message);
  }
}

/** Errors of DuckDB that quote what rows, names or statements hold: a value of `quota` says nothing of the disk. */
const quotesValues =
  /^(?:Binder|Catalog|Constraint|Conversion|Invalid Input|Mismatch Type|Out of Range|Parser) Error/;

/** What a disk or a machine refuses, and not the rows: a quota and a limit of file sizes say neither "No space left" nor "IO Error". */
const isLackOfRoom = (message: string) =>
  /No space left|IO Error|Failed to commit|Could not (?:write|read|open|sync|truncate|create)|File too large|quota|ENOSPC|EIO|EDQUOT|EFBIG|EMFILE|ENFILE/i.test(
    message,
  );

async function setAside({ folder, emit }: Target, name: string, message: string): Promise<void> {
  await mkdir(join(folder, 'failed'), { recursive: true });
  await rename(join(folder, name), join(folder, 'failed', name));
  emit({ type: 'rows.failed', file: name, message });
}

async function storeFiles(target: Target, files: readonly RowsFile[]): Promise<void> {
  const { connection, folder } = target;
  const refused = createRefused(target, files);
  await connection.run('BEGIN');
  try {
    const insert = createInserts(target, refused);
    const stored: string[] = [];
    for (const { name, acceptedMs } of files) {
      const sources = new Set<string>();
      try {
        for await (const block of readBlocks(folder, name)) {
          sources.add(block.source);
          await insert.add(block);
        }
      } catch (error) {
        const mayWait = !target.isInCurrent(name) && Date.now() - acceptedMs < unknownMs;
        if (!(error instanceof UnknownSourceError && mayWait)) throw error;
        // Nothing of it was inserted: a file has rows of one source.
        target.unknown.add(name);
        continue;
      }
      stored.push(`(${stored.length + 1}, ${quoteText(name)}, ${quoteText(JSON.stringify([...sources]))})`);
    }
    await insert.flush();
    if (stored.length > 0) await remember(connection, stored);
    await refused.keep();
    await connection.run('COMMIT');
  } catch (error) {
    // DuckDB may have ended it by itself.
    await connection.run('ROLLBACK').catch(() => undefined);
    await refused.discard();
    throw error;
  }
  refused.report();
}

type Refused = ReturnType<typeof createRefused>;

/** Collects the rows of files that DuckDB refuses: they go to a file of their own in the folder `failed`. */
function createRefused({ folder, emit, failure, isInCurrent }: Target, files: readonly RowsFile[]) {
  const failed = join(folder, 'failed');
  // They were refused by the other file of the database, too, and are there already.
  const areKept = files.some(({ name }) => isInCurrent(name));
  let file: RowsFileWriter | undefined;
  let rows = 0;
  return {
    async add(block: RowsBlock): Promise<void> {
      if (areKept) return;
      file ??= await writeRowsFile(failed);
      await file.add(block);
      rows += block.rows.length;
    },
    keep: async () => file?.keep(),
    async discard(): Promise<void> {
      await file?.discard();
      if (file) await rm(join(failed, file.name), { force: true });
    },
    report(): void {
      if (file) emit({ type: 'rows.failed', file: file.name, message: `${rows} rows, such as: ${failure}` });
    },
  };
}

/** @param stored rows of SQL, each a number, a file's name and the JSON of its sources' names */
async function remember(connection: DuckDBConnection, stored: readonly string[]): Promise<void> {
  await connection.run(
    `INSERT INTO _stored SELECT (SELECT coalesce(max(place), 0) FROM _stored) + n, name, sources FROM (VALUES ${stored.join(', ')}) t(n, name, sources);
    UPDATE _stored_total SET files = files + ${stored.length}`,
  );
}

/** Rows of one source that wait for their INSERT. */
type Pending = {
  readonly source: Source;
  readonly hasOwnIds: boolean;
  readonly rows: string[];
  readonly severalElements: Set<string>;
};

/** Joins the blocks of each source, in their order: an INSERT costs as much as hundreds of rows. */
function createInserts({ connection, sources, inFewRows = false, failure }: Target, refused: Refused) {
  const pending = new Map<string, Pending>();
  let characters = 0;
  async function store(all: Pending): Promise<void> {
    const { source, hasOwnIds, rows } = all;
    if (failure === undefined) return storeRows(connection, source, all);
    const places = await findRefused(connection, source, all);
    await storeRows(connection, source, { ...all, rows: rows.filter((_row, at) => !places.has(at)) });
    if (places.size === 0) return;
    const [severalElements, bad] = [[...all.severalElements], rows.filter((_row, at) => places.has(at))];
    await refused.add({ source: source.name, severalElements, replaces: false, hasOwnIds, rows: bad });
  }
  async function flush(): Promise<void> {
    for (const each of pending.values()) await store(each);
    pending.clear();
    characters = 0;
  }
  return {
    flush,
    async add({
      source: name,
      rows,
      severalElements,
      replaces,
      hasOwnIds = false,
    }: RowsBlock): Promise<void> {
      const source = sources.find(each => each.name === name && !each.files);
      if (!source) throw new UnknownSourceError(`No source with a table is named ${name}`);
      if (replaces || characters > insertCharacters) await flush();
      if (replaces) await connection.run(`DELETE FROM ${quoteName(name)}`);
      // Of rows with a key the last one counts: those of one source keep their order.
      const kind = `${hasOwnIds && !source.key} ${name}`;
      const own = pending.get(kind) ?? { source, hasOwnIds, rows: [], severalElements: new Set<string>() };
      pending.set(kind, own);
      for (const path of severalElements) own.severalElements.add(path);
      for (const row of rows) {
        own.rows.push(row);
        characters += row.length;
        if (!inFewRows || own.rows.length < fewRows) continue;
        await store({ ...own, rows: own.rows.splice(0) });
      }
    },
  };
}
