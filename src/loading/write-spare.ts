import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { withFileLock } from '../base/with-file-lock.ts';
import { checkFolderFormat } from '../duckdb/data-folder/folder-format.ts';
import { isHeldElsewhere, openForWriting } from '../duckdb/database.ts';
import { DatabaseBusyError } from '../duckdb/database-busy-error.ts';
import { type Current, publish, readCurrent, spareOf } from '../duckdb/replicas.ts';
import type { Source } from '../endpoints/sources.ts';
import { quoteText } from '../googlesql/tree/quote-text.ts';
import { rowsFolderOf } from './accepted-rows.ts';
import { layoutOf } from './table-layout.ts';

/** Name by which the writer's connection reads the current file. */
export const currentName = 'current_file';

type SpareOptions = {
  readonly databasePath: string;
  readonly sources: readonly Source[];
  /** Called for each table of the spare that got other columns, with the milliseconds that it took. */
  readonly onChanged?: ((table: string, ms: number) => void) | undefined;
};

/** Changes the spare. */
type Write = (connection: DuckDBConnection, attempt: Attempt) => Promise<Turn>;

type Attempt = {
  /** Whether nothing more can be done for rows that need more memory than this turn has. */
  readonly isLast: boolean;
  /** Whether something in the attempt before broke the database. */
  readonly isAfterBreak: boolean;
};

/** Megabytes of DuckDB's buffers, and those of a turn that needs more: one whose rows are extraordinarily wide. */
const usualMemoryMb = 96;
const exceptionalMemoryMb = 1024;

/** DuckDB's allocator gives memory back while a turn goes on: it keeps 128 MB of what was freed otherwise, and all that no thread asks for. */
const givingBack = `SET allocator_background_threads = true; SET allocator_flush_threshold = '8MB'; SET allocator_bulk_deallocation_flush_threshold = '16MB'`;

/** What a turn left behind. */
type Turn = {
  /** Sources that have rows the current file lacks; undefined: the spare has nothing to show. */
  readonly loaded?: readonly string[] | undefined;
  /** Whether the spare lacks rows that nobody can add any more: it is made again from the current file. */
  readonly isLost?: boolean;
};

/** Milliseconds to wait for other writers. */
const turnMs = 120_000;

/** Milliseconds that readers have to let go of the spare, and one more for each of these bytes: beyond that, copying it is cheaper. */
const releaseMs = 1500;
const bytesPerMs = 100_000;

/**
 * Takes the writer's turn: opens the spare while no other process writes, lets `write` change it, and makes it current if it has rows to
 * show. Readers keep the current file meanwhile.
 * @throws DatabaseBusyError if other processes write for two minutes; what `write` throws, the current file being as it was
 */
export async function writeSpare(options: SpareOptions, write: Write): Promise<void> {
  await withTurn(options.databasePath, async () => {
    const { databasePath, sources } = options;
    const current = await needCurrent(databasePath, sources);
    const spare = spareOf(databasePath, current);
    // What a killed writer left of it may be as large as the database.
    await rm(copyOf(spare), { force: true });
    if ((await bytesOf(spare)) === undefined) await copyOver(current, spare);
    const turn = await writeTo(spare, current, options, write).catch(error => {
      const isAfterBreak = isBroken(error);
      if (!isAfterBreak && !isLackOfMemory(error)) throw error;
      return writeTo(spare, current, { ...options, isLast: true, isAfterBreak }, write).catch(async cause => {
        // What is wrong may be the spare, and not the rows.
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

/** The current file. If it is gone, the other one takes its place, which lacks only rows that still wait in their files; without either, a new one. */
async function needCurrent(databasePath: string, sources: readonly Source[]): Promise<Current> {
  const current = readCurrent(databasePath);
  if (await bytesOf(current.path)) return current;
  const other = spareOf(databasePath, current);
  if (await bytesOf(other)) await publish(databasePath, { path: other, loads: current.loads });
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
 * Opens the spare once its readers have moved on. One whose reader stays gets a copy in its place, and is gone when that reader ends. So does
 * one that can't be opened: DuckDB 1.5 does not replay the log of a writer that was killed after it had changed the type of a column.
 */
async function openReleased(
  spare: string,
  current: Current,
  { sources, ...options }: SpareOptions & { readonly memoryMb: number },
) {
  const giveUpMs = performance.now() + releaseMs + ((await bytesOf(spare)) ?? 0) / bytesPerMs;
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

/** Whether DuckDB had not enough memory. */
export function isLackOfMemory(error: unknown): boolean {
  return /Out of Memory|failed to (?:pin|allocate)/i.test(String(error));
}

/** Whether DuckDB failed in itself: it takes no further statement over that database until it is opened again. */
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
 * Makes a file equal to the current one, which nobody writes.
 * @throws the system's error, such as ENOSPC: nothing of the copy is left then
 */
async function copyOver(current: Current, spare: string): Promise<void> {
  const unfinished = copyOf(spare);
  await copyFile(current.path, unfinished).catch(async error => {
    await rm(unfinished, { force: true });
    throw error;
  });
  // A log of another file must not be replayed; the current one has one only if its writer was killed at the very first start.
  await rm(`${spare}.wal`, { force: true });
  if (await bytesOf(`${current.path}.wal`)) await copyFile(`${current.path}.wal`, `${spare}.wal`);
  await rename(unfinished, spare);
}

async function bytesOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

/** The last turn that was asked for in this process. */
let ownTurn: Promise<void> = Promise.resolve();

/**
 * Runs an action while nobody else does. The lock is DuckDB's own on a file without rows: the kernel releases it when its process
 * ends, however that happens, which no lock that Node offers does. It only keeps out other processes; within one, turns run one after another.
 * @throws SetupError in a folder of a newer version; what `act` throws
 */
export function withTurn(databasePath: string, act: () => Promise<void>): Promise<void> {
  const turn = ownTurn.then(() => whileLocked(databasePath, act));
  ownTurn = turn.catch(() => undefined);
  return turn;
}

async function whileLocked(databasePath: string, act: () => Promise<void>): Promise<void> {
  checkFolderFormat(databasePath);
  const folder = rowsFolderOf(databasePath);
  await mkdir(folder, { recursive: true });
  const lock = join(folder, 'writer.duckdb');
  const giveUpMs = performance.now() + turnMs;
  for (;;) {
    let instance: DuckDBInstance;
    try {
      instance = await DuckDBInstance.create(lock);
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
      instance.closeSync();
    }
  }
}

/** Whether a file is no database, or not a whole one. */
function isTorn(error: unknown): boolean {
  return /not a valid DuckDB database|Could not read enough bytes|Corrupt/i.test(String(error));
}

/**
 * Makes the lock's file again, of which a full disk or a power cut left a part. By a rename: one that is gone for a moment could be made, and held, by
 * two processes.
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
