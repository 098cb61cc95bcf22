import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { fileBytes } from '../base/missing-file.ts';
import { withFileLock } from '../base/with-file-lock.ts';
import { DatabaseBusyError } from '../duckdb/data-folder/database-busy-error.ts';
import { checkFolderFormat, makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import { isHeldElsewhere, openForWriting } from '../duckdb/database.ts';
import { type Current, publish, readCurrent, spareOf } from '../duckdb/replicas.ts';
import type { Source } from '../endpoints/source.ts';
import { quoteText } from '../googlesql/tree/quote-text.ts';
import { rowsFolderOf } from './accepted-rows.ts';
import { layoutOf } from './table-layout.ts';

/** Name by which the writer's connection reads the current file. */
export const currentName = 'current_file';

type SpareOptions = {
  readonly databasePath: string;
  readonly sources: readonly Source[];
  /** Called for each table of the spare whose columns were changed, with the milliseconds that took. */
  readonly onChanged?: ((table: string, ms: number) => void) | undefined;
};

/** Changes the spare. */
type Write = (connection: DuckDBConnection, attempt: Attempt) => Promise<Turn>;

type Attempt = {
  /** Whether no later attempt will have more memory than this one. */
  readonly isLast: boolean;
  /** Whether something in the previous attempt broke the database. */
  readonly isAfterBreak: boolean;
};

/** Megabytes of DuckDB's buffers: usually, and for a turn with extraordinarily wide rows. */
const usualMemoryMb = 48;
const exceptionalMemoryMb = 1024;

/** Lets DuckDB's allocator return memory to the system during a turn: by default it keeps 128 MB of freed memory, and everything cached by idle threads. */
const givingBack = `SET allocator_background_threads = true; SET allocator_flush_threshold = '8MB'; SET allocator_bulk_deallocation_flush_threshold = '16MB'`;

/**
 * Makes DuckDB's allocator return free memory to the system. It keeps some for each thread on which a statement ran, and flushes it only if
 * the number of threads changes (decision 148).
 */
export async function giveBackMemory(connection: DuckDBConnection): Promise<void> {
  await connection.run('SET threads = 2; SET threads = 1');
}

/** The result of a turn. */
type Turn = {
  /** Sources with rows that the current file lacks; undefined if the spare need not become current. */
  readonly loaded?: readonly string[] | undefined;
  /** Whether the spare lacks rows that can no longer be added: it is then copied from the current file. */
  readonly isLost?: boolean;
};

/** Milliseconds to wait for other writers. */
const turnMs = 120_000;

/** Milliseconds that readers have to close the spare, plus one for each of these bytes: after that, copying it is cheaper. */
const releaseMs = 1500;
const bytesPerMs = 100_000;

/**
 * Takes the writer's turn: opens the spare while no other process writes, lets `write` change it, and makes it current if it has new
 * rows. Readers keep using the current file meanwhile.
 * @throws DatabaseBusyError if other processes write for two minutes; errors of `write`, after which the current file is unchanged
 */
export async function writeSpare(options: SpareOptions, write: Write): Promise<void> {
  await withTurn(options.databasePath, async () => {
    const { databasePath, sources } = options;
    const current = await needCurrent(databasePath, sources);
    const spare = spareOf(databasePath, current);
    // An unfinished copy of a killed writer may be as large as the database.
    await rm(copyOf(spare), { force: true });
    if ((await fileBytes(spare)) === undefined) await copyOver(current, spare);
    const turn = await writeTo(spare, current, options, write).catch(error => {
      const isAfterBreak = isBroken(error);
      if (!isAfterBreak && !isLackOfMemory(error)) throw error;
      return writeTo(spare, current, { ...options, isLast: true, isAfterBreak }, write).catch(async cause => {
        // The problem may be the spare, not the rows.
        if (isBroken(cause)) await copyOver(current, spare).catch(() => undefined);
        throw cause;
      });
    });
    if (turn.isLost) await copyOver(current, spare);
    if (!turn.loaded) return;
    const loads = { ...current.loads };
    for (const source of turn.loaded) loads[source] = (loads[source] ?? 0) + 1;
    await publish(databasePath, { path: spare, loads, layout: layoutOf(sources) });
  });
}

/** The current file. If it is missing, the other one replaces it, which lacks only rows that still wait in files; without either, a new one is made. */
async function needCurrent(databasePath: string, sources: readonly Source[]): Promise<Current> {
  const current = readCurrent(databasePath);
  if (await fileBytes(current.path)) return current;
  const other = spareOf(databasePath, current);
  if (await fileBytes(other)) await publish(databasePath, { path: other, loads: current.loads });
  else (await openForWriting(current.path, sources)).close();
  return readCurrent(databasePath);
}

async function writeTo(
  spare: string,
  current: Current,
  { isLast = false, isAfterBreak = false, ...options }: SpareOptions & Partial<Attempt>,
  write: Write,
): Promise<Turn> {
  const memoryMb = isLast ? exceptionalMemoryMb : usualMemoryMb;
  const { connection, close } = await openReleased(spare, current, { ...options, memoryMb });
  try {
    await connection.run(`SET threads = 1; ${givingBack}`);
    await connection.run(`ATTACH ${quoteText(current.path)} AS ${currentName} (READ_ONLY)`);
    const turn = await write(connection, { isLast, isAfterBreak });
    await connection.run(`DETACH ${currentName}; CHECKPOINT`);
    return turn;
  } finally {
    close();
  }
}

/**
 * Opens the spare once its readers have closed it. If a reader stays, the spare is replaced by a copy, and the old file disappears when that
 * reader ends. A spare that can't be opened is also replaced: DuckDB 1.5 can't replay the log of a writer that was killed after changing the
 * type of a column.
 */
async function openReleased(
  spare: string,
  current: Current,
  { sources, ...options }: SpareOptions & { readonly memoryMb: number },
) {
  const giveUpMs = performance.now() + releaseMs + ((await fileBytes(spare)) ?? 0) / bytesPerMs;
  let isRemade = false;
  for (;;) {
    try {
      return await openForWriting(spare, sources, options);
    } catch (error) {
      if (!(error instanceof DatabaseBusyError)) {
        if (isRemade || isLackOfMemory(error) || !(await canBeRead(current.path))) throw error;
        isRemade = true;
        await copyOver(current, spare);
        continue;
      }
      if (performance.now() > giveUpMs) await copyOver(current, spare);
      await delay(20);
    }
  }
}

/** Whether DuckDB ran out of memory. */
export function isLackOfMemory(error: unknown): boolean {
  return /Out of Memory|(?:failed to|could not) (?:pin|allocate)/i.test(String(error));
}

/** Whether DuckDB had an internal error: it accepts no further statement for that database until it is opened again. */
export function isBroken(error: unknown): boolean {
  return /^(?:Error: )?(?:INTERNAL|FATAL) Error/i.test(String(error));
}

async function canBeRead(path: string): Promise<boolean> {
  try {
    (await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })).closeSync();
    return true;
  } catch {
    return false;
  }
}

const copyOf = (spare: string) => `${spare}.copy`;

/**
 * Replaces a file by a copy of the current one, which no process writes.
 * @throws the system's error, such as ENOSPC; then no partial copy is left
 */
async function copyOver(current: Current, spare: string): Promise<void> {
  const unfinished = copyOf(spare);
  await copyFile(current.path, unfinished).catch(async error => {
    await rm(unfinished, { force: true });
    throw error;
  });
  // The log of the replaced file must not be replayed; the current file has a log only if its writer was killed at the very first start.
  await rm(`${spare}.wal`, { force: true });
  if (await fileBytes(`${current.path}.wal`)) await copyFile(`${current.path}.wal`, `${spare}.wal`);
  await rename(unfinished, spare);
}

/** The last turn requested in this process. */
let ownTurn: Promise<void> = Promise.resolve();

/**
 * Runs an action exclusively. The lock is DuckDB's own on a file without rows: the kernel releases it when its process ends, in whatever
 * way, which holds for no lock that Node offers. It only excludes other processes; within one, turns run one after another.
 * @throws SetupError in a folder of a newer version; errors of `act`
 */
export function withTurn(databasePath: string, act: () => Promise<void>): Promise<void> {
  const turn = ownTurn.then(() => whileLocked(databasePath, act));
  ownTurn = turn.catch(() => undefined);
  return turn;
}

async function whileLocked(databasePath: string, act: () => Promise<void>): Promise<void> {
  checkFolderFormat(databasePath);
  const folder = rowsFolderOf(databasePath);
  await makeDataFolder(folder);
  const lock = join(folder, 'writer.duckdb');
  const giveUpMs = performance.now() + turnMs;
  for (;;) {
    let release: () => Promise<void>;
    try {
      release = await hold(lock);
    } catch (error) {
      if (performance.now() > giveUpMs) throw new DatabaseBusyError(databasePath, error);
      if (isTorn(error)) await remakeLock(lock);
      else if (!isHeldElsewhere(error)) throw error;
      await delay(50);
      continue;
    }
    try {
      return await act();
    } finally {
      await release();
    }
  }
}

/** Holds the lock for this process in all turns: creating an instance takes 11 ms of processor time, attaching a file 0.3. */
let holder: { readonly instance: DuckDBInstance; readonly connection: DuckDBConnection } | undefined;

/** @throws DuckDB's error if another process holds the lock, or if its file is torn */
async function hold(lock: string): Promise<() => Promise<void>> {
  holder ??= await openHolder();
  const own = holder;
  // Closing the instance releases the lock, whatever is wrong with it.
  const drop = () => {
    holder = undefined;
    own.connection.closeSync();
    own.instance.closeSync();
  };
  await own.connection.run(`ATTACH ${quoteText(lock)} AS writer_lock`).catch(error => {
    if (isBroken(error)) drop();
    throw error;
  });
  return () => own.connection.run('DETACH writer_lock').then(() => undefined, drop);
}

async function openHolder() {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  return { instance, connection: await instance.connect() };
}

/** Whether a file is not a database, or an incomplete one. */
function isTorn(error: unknown): boolean {
  return /not a valid DuckDB database|Could not read enough bytes|Corrupt/i.test(String(error));
}

/**
 * Makes the lock file again if a full disk or a power cut left an incomplete one. By a rename: if the file were missing for a moment, two
 * processes could make it and hold the lock.
 */
async function remakeLock(lock: string): Promise<void> {
  await withFileLock(lock, async () => {
    const error = await DuckDBInstance.create(lock).then(
      instance => instance.closeSync(),
      (cause: unknown) => cause,
    );
    if (!isTorn(error)) return;
    const whole = `${lock}.new`;
    await rm(whole, { force: true });
    (await DuckDBInstance.create(whole)).closeSync();
    await rename(whole, lock);
  });
}
