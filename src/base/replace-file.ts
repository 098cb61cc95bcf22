import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces the content of a file atomically; only its owner may read it. The text is on the disk when this resolves; if it
 * does not fit, the file is unchanged and no temporary file is left.
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

/** Flushes the names in a folder to the disk, so that a rename survives a loss of power. */
export async function syncDirectory(directory: string): Promise<void> {
  await syncFile(directory);
}

/** Flushes a file to the disk. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
