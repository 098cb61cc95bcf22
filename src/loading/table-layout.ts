import { createHash } from 'node:crypto';
import { readCurrent } from '../duckdb/replicas.ts';
import type { Source } from '../endpoints/source.ts';

/** A digest of the tables and columns of sources. */
export function layoutOf(sources: readonly Source[]): string {
  const tables = sources
    .filter(({ files }) => !files)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, columns }) => [name, columns]);
  return createHash('sha256').update(JSON.stringify(tables)).digest('base64url');
}

/**
 * Whether the current file may lack tables or columns of sources.
 * @param sources including their learned fields
 */
export function lacksLayout(databasePath: string, sources: readonly Source[]): boolean {
  const { version, layout } = readCurrent(databasePath);
  // If there is only one file, the start itself makes them.
  return version !== '' && layout !== layoutOf(sources);
}
