import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { messageOf } from '../base/errors.ts';
import { damagedPlace } from '../duckdb/data-folder/damaged-block.ts';
import { makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import { findRefused, storeRows } from '../duckdb/store-rows.ts';
import type { Source } from '../endpoints/source.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import {
  type RowsBlock,
  type RowsFile,
  type RowsFileWriter,
  readBlocks,
  writeRowsFile,
} from './accepted-rows.ts';
import { groupFiles, sliceFiles } from './group-files.ts';
import type { LoadingEvent } from './loading-events.ts';
import { giveBackMemory, isBroken, isLackOfMemory } from './write-spare.ts';

/** Maximum characters of the rows of one INSERT; and maximum rows, if they need extraordinarily much memory. */
const insertCharacters = 2 * 1024 * 1024;
const fewRows = 20;

/** Where files are stored, and how. */
export type Target = {
  readonly connection: DuckDBConnection;
  readonly sources: readonly Source[];
  readonly emit: (event: LoadingEvent) => void;
  readonly folder: string;
  /** Whether no later attempt will have more memory. */
  readonly isLast: boolean;
  /** Whether each file is stored by itself, because one of them breaks the database. */
  readonly isAlone: boolean;
  /** Whether few rows are inserted at once. Default false. */
  readonly inFewRows?: boolean;
  /** Why a file could not be stored completely: the rows at fault are left out. */
  readonly failure?: string;
  readonly isInCurrent: (name: string) => boolean;
  /** Collects the names of files whose source this process does not know; another one may. */
  readonly unknown: Set<string>;
};

/** Milliseconds for which rows of an unknown source wait for a process that knows it: one that started earlier may not. */
const unknownMs = 3_600_000;

class UnknownSourceError extends Error {}

/** A file was damaged after the current file stored its rows: the spare can only get them by a copy. */
class OnlyInCurrentError extends Error {}

/** Maximum bytes of files that wait while a CHECKPOINT also joins the pieces in which a table's last rows came: that takes as much memory as all else. */
const calmBytes = 8 * 1024 * 1024;

/**
 * Stores files slice by slice until the time is over; always at least the first slice. What a transaction has stored is written into the file
 * before the next one begins: until then it takes several times its size in memory, which would add up until the end of the turn.
 * @returns false if only a copy of the current file can bring the rows of one of them
 */
export async function storeAll(target: Target, files: readonly RowsFile[], endMs: number): Promise<boolean> {
  const { connection } = target;
  const waitingBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  await connection.run(`SET max_vacuum_tasks = ${waitingBytes > calmBytes ? 0 : 1}`);
  try {
    for (const slice of sliceFiles(files, target.isAlone)) {
      for (const group of await groupFiles(target.folder, slice, target.sources)) {
        await storeGroup(target, group);
        await connection.run('CHECKPOINT');
        await giveBackMemory(connection);
      }
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
 * Stores files in one transaction. If that fails, one by one; then few rows at a time if they need too much memory; then without the rows
 * that DuckDB refuses. Files that still fail are set aside.
 */
async function storeGroup(target: Target, files: readonly RowsFile[]): Promise<void> {
  try {
    await storeFiles(target, files);
  } catch (error) {
    const message = messageOf(error);
    const isRowFault = error instanceof SyntaxError || quotesValues.test(message);
    const needsMemory = !isRowFault && isLackOfMemory(error);
    const isMachineFault = !isRowFault && (isLackOfRoom(message) || damagedPlace(error) !== undefined);
    if (needsMemory ? !target.isLast : isMachineFault) throw error;
    if (isBroken(error)) {
      const [culprit] = files;
      // Whether other files break it, too, is unknown: the database accepts nothing until it is opened again.
      const isFound = target.isAlone && culprit && !target.isInCurrent(culprit.name);
      if (isFound) await setAside(target, culprit.name, message);
      throw error;
    }
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

/** DuckDB's errors that quote values, names or statements: the word `quota` in a value says nothing about the disk. */
const quotesValues =
  /^(?:Binder|Catalog|Constraint|Conversion|Invalid Input|Mismatch Type|Out of Range|Parser) Error/;

/** Whether the disk or the machine refuses, not the rows. Messages about quotas and limits of file sizes have neither "No space left" nor "IO Error". */
const isLackOfRoom = (message: string) =>
  /No space left|IO Error|Failed to commit|Could not (?:write|read|open|sync|truncate|create)|File too large|quota|ENOSPC|EIO|EDQUOT|EFBIG|EMFILE|ENFILE/i.test(
    message,
  );

async function setAside({ folder, emit }: Target, name: string, message: string): Promise<void> {
  await makeDataFolder(join(folder, 'failed'));
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
        // Nothing of it was inserted, because a file has rows of one source.
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
    // DuckDB may have ended the transaction itself.
    await connection.run('ROLLBACK').catch(() => undefined);
    await refused.discard();
    throw error;
  }
  refused.report();
}

type Refused = ReturnType<typeof createRefused>;

/** Collects the rows of files that DuckDB refuses, for a file of their own in the folder `failed`. */
function createRefused({ folder, emit, failure, isInCurrent }: Target, files: readonly RowsFile[]) {
  const failed = join(folder, 'failed');
  // If the other file of the database refused them too, they are kept already.
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
    for (const each of pending.values()) {
      await store(each);
      await giveBackMemory(connection);
    }
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
      // Of rows with the same key the last one wins, so rows of one source keep their order.
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
