import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readIfThere } from '../../base/missing-file.ts';
import { replaceFile, syncDirectory } from '../../base/replace-file.ts';
import { SetupError } from '../../base/setup-error.ts';

/** Mode of newly made folders with rows: other users of the machine may not read them. DuckDB's files have the mode that the umask leaves. */
const dataFolderMode = 0o700;

/**
 * Makes a folder with rows if it is missing, and those above it. Their names are on the disk when this resolves: flushing what is in a folder
 * does not flush its own name.
 * @throws the system's error, such as EEXIST for what is no folder
 */
export async function makeDataFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: dataFolderMode });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made)) {
    await syncDirectory(dirname(made));
  }
}

/**
 * Version of the data folder's layout: which files there are, and what they contain besides rows. It increases when older programs can no
 * longer read or write the folder; `test/loading/data-folders` has a folder of each version.
 */
export const folderFormat = 1;

/** The file with the version; a folder without one has the first format. */
export function formatFile(databasePath: string): string {
  return join(dirname(databasePath), 'format.json');
}

/**
 * Checks that this program knows the format of the data folder.
 * @throws SetupError if the format is newer, or the file can't be read
 */
export function checkFolderFormat(databasePath: string): void {
  const found = readFormat(formatFile(databasePath));
  if (found === undefined || (typeof found === 'number' && found <= folderFormat)) return;
  const [file, folder] = [formatFile(databasePath), dirname(databasePath)];
  if (typeof found !== 'number') {
    const fix = `write {"format":${folderFormat}} into it if no newer version has used the folder`;
    throw new SetupError('The data folder can not be used.', [{ found: `${file} is damaged`, fix }]);
  }
  const problem = `${folder} has the format ${found}; this version knows formats up to ${folderFormat}`;
  const fix =
    'start the newer version again, or choose another DATA_DIR and restore a backup of this version';
  throw new SetupError('The data folder was written by a newer version.', [{ found: problem, fix }]);
}

/** Checks the format of a data folder, and writes it if it is missing. */
export async function claimFolder(databasePath: string): Promise<void> {
  checkFolderFormat(databasePath);
  const file = formatFile(databasePath);
  if (readFormat(file) === undefined)
    await replaceFile(file, `${JSON.stringify({ format: folderFormat })}\n`);
}

function readFormat(file: string): unknown {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  try {
    return (JSON.parse(text) as { format?: unknown }).format ?? null; // null: it says none
  } catch {
    return null;
  }
}
