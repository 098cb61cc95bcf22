import { constants, copyFile, cp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { exists } from '../base/missing-file.ts';
import { syncDirectory, syncFile } from '../base/replace-file.ts';
import { SetupError } from '../base/setup-error.ts';
import { checkFolderFormat, formatFile, makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import { folderIdFile } from '../duckdb/data-folder/folder-id.ts';
import { pointerOf, readCurrent, replicasOf } from '../duckdb/replicas.ts';
import { listRowsFiles, rowsFolderOf } from './accepted-rows.ts';
import { learnedFile } from './events/learned-fields.ts';
import { withTurn } from './write-spare.ts';

/** Names in a backup: those of a data folder with one database file. */
const databaseName = 'logs.duckdb';

/**
 * Copies the data of the embedded engine, while gateways serve and accept rows: the copy has all rows that were acknowledged before the
 * call. No process stores rows meanwhile.
 * @param folder one that does not exist yet; it appears complete or not at all
 * @throws SetupError if it exists, or if there is no database; the system's error, such as ENOSPC
 */
export async function backUp(databasePath: string, folder: string): Promise<void> {
  // Without a trailing slash, after which `.part` would be a file within the folder.
  const target = resolve(folder);
  if (await exists(target)) throw notMade(`${target} exists already`, 'name a folder that does not');
  const unfinished = `${target}.part`;
  await rm(unfinished, { recursive: true, force: true });
  await makeDataFolder(join(unfinished, 'rows'));
  try {
    await withTurn(databasePath, async () => {
      const { path } = readCurrent(databasePath);
      if (!(await exists(path))) {
        throw notMade(`There is no database at ${path}`, 'let DATA_DIR name the folder of one');
      }
      await copy(path, join(unfinished, databaseName));
      if (await exists(`${path}.wal`)) await copy(`${path}.wal`, join(unfinished, `${databaseName}.wal`));
      const rows = rowsFolderOf(databasePath);
      for (const { name } of await listRowsFiles(rows)) {
        await copy(join(rows, name), join(unfinished, 'rows', name));
      }
    });
    // After the rows, so that it has the fields of all of them.
    for (const fileOf of [learnedFile, formatFile]) {
      const file = fileOf(databasePath);
      if (await exists(file)) await copy(file, fileOf(join(unfinished, databaseName)));
    }
    await Promise.all([join(unfinished, 'rows'), unfinished].map(syncDirectory));
    await rename(unfinished, target);
    await syncDirectory(dirname(target));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Restores a backup into a data folder without a database. No gateway may use the folder meanwhile.
 * @throws SetupError if there is a database, the folder is not a backup, or the backup has a newer format; the system's error
 */
export async function restore(databasePath: string, from: string): Promise<void> {
  const folder = dirname(databasePath);
  const backup = join(from, databaseName);
  if (!(await exists(backup))) {
    throw notRestored(`${from} is not a backup: it has no ${databaseName}`, 'name the folder of a backup');
  }
  checkFolderFormat(backup);
  for (const file of [...replicasOf(databasePath), pointerOf(databasePath)]) {
    if (!(await exists(file))) continue;
    throw notRestored(`There is a database in ${folder}`, `move ${file} away, or choose another DATA_DIR`);
  }
  await makeDataFolder(folder);
  // The database last: with it the folder counts as complete.
  for (const name of await readdir(from)) {
    if (name !== databaseName) await cp(join(from, name), join(folder, name), { recursive: true });
  }
  await copy(backup, `${databasePath}.copy`);
  await rename(`${databasePath}.copy`, databasePath);
  // Entries that gateways share under the old id belong to the rows that were here before.
  await rm(folderIdFile(databasePath), { force: true });
  await syncDirectory(folder);
}

/** Copies a file and flushes the copy to the disk: a backup must survive a loss of power right after it. */
async function copy(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await syncFile(to);
}

const notMade = (found: string, fix: string) => new SetupError('The backup was not made.', [{ found, fix }]);

const notRestored = (found: string, fix: string) =>
  new SetupError('The backup was not restored.', [{ found, fix }]);
