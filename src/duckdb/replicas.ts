import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ignoreMissing, readIfThere } from '../base/missing-file.ts';
import { replaceFile } from '../base/replace-file.ts';

/**
 * The database is two files with the same rows: readers have the current one open, and a writer changes the other, the spare, which becomes
 * current when it is done. So no reader waits for a writer, although DuckDB allows a file either one writer or readers.
 */
export type Current = {
  /** The file to read. */
  readonly path: string;
  /** How often rows were loaded into each source; a cached answer from a lower count may be outdated. */
  readonly loads: Readonly<Record<string, number>>;
  /** The sources for which it was made, see `layoutOf` in `loading/`; undefined for a pointer without it. */
  readonly layout?: string | undefined;
  /** When it became current, milliseconds since 1970; undefined for the first file. */
  readonly publishedMs?: number | undefined;
  /** Equal for the same state: the whole text of the pointer. */
  readonly version: string;
};

/** The pointer: the file that names the current one of the two; absent while there is only the first. */
export function pointerOf(databasePath: string): string {
  return join(dirname(databasePath), 'current.json');
}

/** The paths of both files. */
export function replicasOf(databasePath: string): readonly [string, string] {
  return [databasePath, databasePath.replace(/(\.\w+)?$/, '.2$1')];
}

/**
 * Reads which file is current.
 * @param databasePath the first file, which is current until another one was written
 */
export function readCurrent(databasePath: string): Current {
  return currentOf(databasePath, readIfThere(pointerOf(databasePath)));
}

/** `readCurrent` without blocking: a disk may be slow. */
export async function readCurrentAsync(databasePath: string): Promise<Current> {
  return currentOf(databasePath, await readFile(pointerOf(databasePath), 'utf8').catch(ignoreMissing));
}

/** What `publish` writes. */
type Pointer = Omit<Current, 'path' | 'version'> & { readonly file: string };

function currentOf(databasePath: string, text: string | undefined): Current {
  if (text === undefined) return { path: databasePath, loads: {}, version: '' };
  const { file, loads, ...facts }: Partial<Pointer> = JSON.parse(text) ?? {};
  const path = replicasOf(databasePath).find(each => basename(each) === file);
  if (!path || !loads) throw new SyntaxError(`${pointerOf(databasePath)} names neither file of the database`);
  return { path, loads, ...facts, version: text };
}

/** The file that is not current. */
export function spareOf(databasePath: string, { path }: Pick<Current, 'path'>): string {
  const [first, second] = replicasOf(databasePath);
  return path === first ? second : first;
}

/** Makes a file current, atomically, and durably even after a loss of power. */
export async function publish(
  databasePath: string,
  { path, loads, layout }: Omit<Current, 'version' | 'publishedMs'>,
): Promise<void> {
  // The time distinguishes states that are otherwise equal.
  const text = JSON.stringify({ file: basename(path), loads, layout, publishedMs: Date.now() });
  await replaceFile(pointerOf(databasePath), `${text}\n`);
}
