import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../base/replace-file.ts';
import { withFileLock } from '../../base/with-file-lock.ts';

/** The file with a unique name for the rows of a data folder. A backup has none, because its rows are those of another time. */
export function folderIdFile(databasePath: string): string {
  return join(dirname(databasePath), 'folder-id');
}

/** Reads the name; undefined if none was made yet. */
export async function readFolderId(databasePath: string): Promise<string | undefined> {
  try {
    return (await readFile(folderIdFile(databasePath), 'utf8')).trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // every fs error has a code
    return undefined;
  }
}

/** Reads the name; the first process to call this makes it. */
export async function claimFolderId(databasePath: string): Promise<string> {
  const known = await readFolderId(databasePath);
  if (known !== undefined) return known;
  const file = folderIdFile(databasePath);
  return withFileLock(file, async () => {
    const made = await readFolderId(databasePath);
    if (made !== undefined) return made;
    const id = randomUUID();
    await replaceFile(file, `${id}\n`);
    return id;
  });
}
