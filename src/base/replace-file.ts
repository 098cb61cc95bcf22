import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file by a text in one step; only its owner may read it. The text is on the disk when this resolves; if it
 * does not fit, the file stays as it was and no temporary file is left.
 * @throws the system's error, such as ENOSPC
 */
export async function replaceFile(file: string, text: string): Promise<void> {
  const unfinished = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(unfinished, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncDirectory(dirname(file));
}

/** Puts the names in a folder on the disk: a rename must survive a loss of power, too. */
export async function syncDirectory(directory: string): Promise<void> {
  await syncFile(directory);
}

/** Puts on the disk what was written to a file. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
