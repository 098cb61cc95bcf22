import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ignoreMissing } from '../../base/missing-file.ts';
import { replaceFile } from '../../base/replace-file.ts';
import { withFileLock } from '../../base/with-file-lock.ts';

/** The file with a unique name for the rows of a data folder. A backup has none, because its rows are those of another time. */
export function folderIdFile(databasePath: string): string {
  return join(dirname(databasePath), 'folder-id');
}

/** Reads the name; undefined if none was made yet. */
export async function readFolderId(databasePath: string): Promise<string | undefined> {
  const text = await readFile(folderIdFile(databasePath), 'utf8').catch(ignoreMissing);
  return text?.trim() || undefined;
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
