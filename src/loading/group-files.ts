import type { Source, SourceField } from '../endpoints/source.ts';
import { type RowsFile, sourceOf } from './accepted-rows.ts';

/**
 * Maximum bytes of accepted files that are stored between two looks at the time of the turn, and in one transaction. A transaction and its
 * CHECKPOINT cost as much as some thousand rows, and a source's share of a slice may be small.
 */
const sliceBytes = 16 * 1024 * 1024;
const transactionBytes = 4 * 1024 * 1024;

/**
 * Maximum columns and fields of the tables that one transaction writes to. DuckDB reserves two blocks of 64 KiB for each until they are in the
 * file, however few the rows are.
 */
const maxFields = 100;

/** Takes files in their order, some at a time, so that a turn without time for all of them does not store the first sources only. */
export function sliceFiles(files: readonly RowsFile[], isAlone: boolean): Iterable<RowsFile[]> {
  return cutFiles(files, isAlone ? 0 : sliceBytes);
}

/** Cuts files, in their order, after each one with which they have that many bytes. */
function* cutFiles(files: readonly RowsFile[], maxBytes: number): Iterable<RowsFile[]> {
  let part: RowsFile[] = [];
  let bytes = 0;
  for (const file of files) {
    part.push(file);
    bytes += file.bytes;
    if (bytes < maxBytes) continue;
    yield part;
    [part, bytes] = [[], 0];
  }
  if (part.length > 0) yield part;
}

/** Groups files for transactions, source by source, so that each writes few bytes to few tables. Files of one source keep their order. */
export async function groupFiles(
  folder: string,
  files: readonly RowsFile[],
  sources: readonly Source[],
): Promise<RowsFile[][]> {
  const bySource = new Map<string | undefined, RowsFile[]>();
  for (const file of files) {
    const name = await sourceOf(folder, file.name);
    const own = bySource.get(name) ?? [];
    own.push(file);
    bySource.set(name, own);
  }
  const columns = new Map(sources.map(source => [source.name, source.columns]));
  const groups: RowsFile[][] = [];
  let fields = Infinity;
  for (const [name, own] of bySource) {
    const ownFields = countFields(columns.get(name ?? '') ?? {});
    if (fields + ownFields > maxFields) {
      groups.push([]);
      fields = 0;
    }
    groups.at(-1)!.push(...own);
    fields += ownFields;
  }
  return groups.flatMap(group => [...cutFiles(group, transactionBytes)]);
}

function countFields(field: SourceField): number {
  if (typeof field === 'string') return 1;
  const within = Array.isArray(field) ? field : Object.values(field);
  return within.reduce((sum, each) => sum + countFields(each), 1);
}
