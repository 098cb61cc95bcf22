import { readFileSync } from 'node:fs';

/** Takes the error of a file operation: undefined if there is no such file; any other error is thrown. */
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
