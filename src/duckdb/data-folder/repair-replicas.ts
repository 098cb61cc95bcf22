import { existsSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { exists, fileBytes, ignoreMissing } from '../../base/missing-file.ts';
import { SetupError } from '../../base/setup-error.ts';
import { pointerOf, publish, readCurrent, replicasOf } from '../replicas.ts';
import { headersBytes, isDamagedAt, readBlockCount } from './damaged-block.ts';

/** A file of the database that was found damaged, and where it is now. */
export type DamagedFile = { readonly file: string; readonly keptAs: string };

/** Milliseconds between two checks of a file that seems damaged: another process may be writing it. */
const lookAgainMs = 300;

/**
 * Sets damaged files of the database aside, so that a gateway starts over the other one; a writer makes the missing one again. It detects
 * a wrong header, a file too short to be opened, and a pointer that is not JSON; damage further inside is found by the queries that read it.
 * @param nowMs for the names of the files that are set aside
 * @param isEachOpened whether to open both files even if they look intact: needed only after one could not be opened. Default false
 * @throws SetupError if no file is intact, or both are gone: an empty database would answer as if there had never been any rows
 */
export async function repairReplicas(
  databasePath: string,
  nowMs: number,
  isEachOpened = false,
): Promise<DamagedFile[]> {
  const pointer = readPointer(databasePath);
  const refused: string[] = [];
  await removeEmpty(databasePath);
  if (existsSync(pointerOf(databasePath)) && !(await hasOther(databasePath, [])))
    throw bothGone(databasePath);
  for (const file of replicasOf(databasePath)) {
    const isSuspect = async () => {
      if (!(await hasBytes(file))) return file === pointer && hasOther(databasePath, [file]);
      return isEachOpened || looksDamaged(file);
    };
    if (!(await isSuspect())) continue;
    await delay(lookAgainMs);
    if ((await isSuspect()) && (await isRefused(file))) refused.push(file);
  }
  if (refused.length > 0 && !(await hasOther(databasePath, refused))) throw nothingLeft(refused);
  if (pointer === 'damaged') refused.unshift(pointerOf(databasePath));
  return setAside(databasePath, refused, pointer === 'damaged' ? undefined : pointer, nowMs);
}

/**
 * Sets aside the file in which a block is damaged, so that the other one is read; the caller must have the writer's turn. Rows that the
 * other file lacks wait in files of their own. If both are damaged, nothing is moved: each still answers queries that do not read the block.
 * @param place position of the block, from `damagedPlace`
 */
export async function repairBlock(
  databasePath: string,
  place: number,
  nowMs: number,
): Promise<DamagedFile[]> {
  const damaged: string[] = [];
  for (const file of replicasOf(databasePath)) if (await isDamagedAt(file, place)) damaged.push(file);
  if (damaged.length === 0 || !(await hasOther(databasePath, damaged))) return [];
  return setAside(databasePath, damaged, readCurrent(databasePath).path, nowMs);
}

/**
 * Renames damaged files, after `current.json` names a file that stays: a process that is killed in between must not leave a pointer to a
 * missing file.
 */
async function setAside(
  databasePath: string,
  files: readonly string[],
  current: string | undefined,
  nowMs: number,
): Promise<DamagedFile[]> {
  const pointer = pointerOf(databasePath);
  const damaged: DamagedFile[] = [];
  const keep = async (file: string) => {
    // The current file may be gone.
    if (!(await exists(file))) return;
    const keptAs = `${file}.damaged-${nowMs}`;
    await rename(file, keptAs);
    await rename(`${file}.wal`, `${keptAs}.wal`).catch(() => undefined);
    damaged.push({ file, keptAs });
  };
  if (files.includes(pointer)) await keep(pointer);
  if (files.length > 0) await pointToWhole(databasePath, current, files);
  for (const file of files) if (file !== pointer) await keep(file);
  return damaged;
}

async function hasOther(databasePath: string, refused: readonly string[]): Promise<boolean> {
  const others = replicasOf(databasePath).filter(file => !refused.includes(file));
  return (await Promise.all(others.map(hasBytes))).includes(true);
}

/** Removes an empty first file, which DuckDB can't open: it is left by a start that was killed at its very beginning, or had no disk space. */
async function removeEmpty(databasePath: string): Promise<void> {
  const isEmpty = async () => (await fileBytes(databasePath)) === 0;
  if (!(await isEmpty()) || (await hasOther(databasePath, [databasePath]))) return;
  await delay(lookAgainMs);
  if ((await isEmpty()) && (await isRefused(databasePath))) await rm(databasePath);
}

/** Whether a file has any bytes: a first start that is killed at its very beginning leaves an empty one. */
async function hasBytes(file: string): Promise<boolean> {
  return ((await fileBytes(file)) ?? 0) > 0;
}

function nothingLeft(refused: readonly string[]): SetupError {
  const fix =
    'move it away, then restore a backup (npx sqg backup restore <folder>), or begin without these rows';
  const problems = refused.map(file => ({ found: `${file} is damaged, or is not a DuckDB database`, fix }));
  return new SetupError('No file of the database can be read.', problems);
}

function bothGone(databasePath: string): SetupError {
  const [first, second] = replicasOf(databasePath);
  const found = `${first} and ${second} are gone, of which ${pointerOf(databasePath)} names one`;
  const fix =
    'move them back; or move current.json away, too, then restore a backup (npx sqg backup restore <folder>), or begin without these rows';
  return new SetupError('No file of the database is there.', [{ found, fix }]);
}

/** Keeps the current file, or makes the other one current: whichever exists and is not damaged. */
async function pointToWhole(
  databasePath: string,
  current: string | undefined,
  damaged: readonly string[],
): Promise<void> {
  const others = replicasOf(databasePath).filter(path => !damaged.includes(path));
  const sizes = await Promise.all(
    others.map(async path => ({ path, found: await stat(path).catch(() => undefined) })),
  );
  const whole = sizes
    .filter(({ found }) => found !== undefined)
    .sort(
      (a, b) =>
        Number(b.path === current) - Number(a.path === current) || b.found!.mtimeMs - a.found!.mtimeMs,
    );
  if (whole[0]) await publish(databasePath, { path: whole[0].path, loads: {} });
  else await rm(pointerOf(databasePath), { force: true });
}

/** @returns the path of the current file */
function readPointer(databasePath: string): string | 'damaged' {
  try {
    return readCurrent(databasePath).path;
  } catch (error) {
    if (error instanceof SyntaxError) return 'damaged';
    throw error;
  }
}

/** Whether DuckDB refuses a file because of its content. A file that looks too short may be fine: its last blocks may be free, and were never written. */
async function isRefused(path: string): Promise<boolean> {
  // Loaded here because a start needs it only for such a file.
  const [{ DuckDBInstance }, { isHeldElsewhere }] = await Promise.all([
    import('@duckdb/node-api'),
    import('../database.ts'),
  ]);
  try {
    (await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })).closeSync();
    return false;
  } catch (error) {
    return !isHeldElsewhere(error) && !/Cannot open file/i.test(String(error));
  }
}

async function looksDamaged(path: string): Promise<boolean> {
  const file = await open(path).catch(ignoreMissing);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headersBytes), 0, headersBytes, 0);
    // A first start that is killed at its very beginning leaves an empty file.
    if (bytesRead === 0) return false;
    if (bytesRead < buffer.length || buffer.toString('latin1', 8, 12) !== 'DUCK') return true;
    const { blocks, blockBytes } = readBlockCount(buffer);
    const { size } = await file.stat();
    return size < headersBytes + blocks * blockBytes;
  } finally {
    await file.close();
  }
}
