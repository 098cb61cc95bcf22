import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';

/** For the `catch` of a file operation: returns undefined if there is no such file, and throws any other error. */
export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // every fs error has a code
}

/** The text of a file, read without waiting; undefined if there is no such file. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return ignoreMissing(error);
  }
}

/** Bytes of a file; undefined if there is none that can be seen. */
export async function fileBytes(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

/** Whether there is a file or folder. */
export async function exists(path: string): Promise<boolean> {
  return (await fileBytes(path)) !== undefined;
}
