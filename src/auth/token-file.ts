import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ignoreMissing } from '../base/missing-file.ts';
import { replaceFile } from '../base/replace-file.ts';
import { withFileLock } from '../base/with-file-lock.ts';
import { parseRecords, type StoredRecord, type TokenRecords } from './token-record.ts';

type FileOptions = {
  /** Milliseconds to wait for other commands. Default 15 s. */
  readonly lockMs?: number;
};

/**
 * Keeps the records of tokens in a file, which may not exist yet.
 * @throws Error, from `read` and `change`, that names the file if it is not a list of records, or can't be locked
 */
export function tokenFile(file: string, { lockMs }: FileOptions = {}): TokenRecords {
  return {
    place: file,
    isRemote: false,
    read: () => readRecords(file),
    async version() {
      try {
        const { mtimeMs, size, ino } = await stat(file);
        return `${mtimeMs} ${size} ${ino}`;
      } catch {
        return 'absent';
      }
    },
    async change(change) {
      await mkdir(dirname(file), { recursive: true });
      await withFileLock(file, () => replaceVerified(file, change), lockMs);
    },
  };
}

async function readRecords(file: string): Promise<StoredRecord[]> {
  const text = await readFile(file, 'utf8').catch(ignoreMissing);
  if (text === undefined) return [];
  try {
    return parseRecords(text);
  } catch (error) {
    throw new Error(`The tokens file ${file} can't be read: ${String(error)}`);
  }
}

async function replaceVerified(file: string, change: Parameters<TokenRecords['change']>[0]): Promise<void> {
  const text = `${JSON.stringify(change(await readRecords(file)), undefined, 2)}\n`;
  await replaceFile(file, text);
  if ((await readFile(file, 'utf8')) === text) return;
  throw new Error(`The tokens file ${file} was changed by somebody else at the same time; try again`);
}
