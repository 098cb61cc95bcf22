import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ignoreMissing } from '../base/missing-file.ts';
import { syncDirectory } from '../base/replace-file.ts';
import { makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import { splitLines } from '../duckdb/split-lines.ts';

/**
 * The folder of accepted rows that are not in both files of the database yet. A file in it is either complete or absent, and its name is
 * never used again.
 */
export function rowsFolderOf(databasePath: string): string {
  return join(dirname(databasePath), 'rows');
}

/** Rows of one source in their normal form, each as the JSON text of an object. */
export type RowsBlock = {
  readonly source: string;
  /** Dotted paths of records that hold more than one element in some row. */
  readonly severalElements: readonly string[];
  /** Whether all earlier rows of the source are removed first. */
  readonly replaces: boolean;
  /** Whether the rows came with values for generated columns: one whose values are stored already is the same row. Default false. */
  readonly hasOwnIds?: boolean;
  readonly rows: readonly string[];
};

/** An accepted file. */
export type RowsFile = {
  readonly name: string;
  readonly bytes: number;
  /** When it was last written: an import may take hours before it is kept. */
  readonly acceptedMs: number;
  /** The `senderMark` of the sender; empty for rows that count against no sender's share. */
  readonly sender: string;
};

const ending = '.rows';

/** A short mark by which file names distinguish senders, whatever their names. Two senders may have the same mark and then share their limit. */
export function senderMark(sender: string): string {
  return createHash('sha256').update(sender).digest('hex').slice(0, 8);
}

/**
 * Lists the accepted files in the order of their acceptance.
 * @param known files that were listed before, by name; they never change. Default: none
 */
export async function listRowsFiles(
  folder: string,
  known: ReadonlyMap<string, RowsFile> = new Map(),
): Promise<RowsFile[]> {
  const names = (await readdir(folder).catch(ignoreMissing)) ?? [];
  const files: RowsFile[] = [];
  for (const name of names.filter(each => each.endsWith(ending)).sort()) {
    const before = known.get(name);
    if (before) {
      files.push(before);
      continue;
    }
    // Another process may have removed it.
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (!found) continue;
    const sender = /-([\da-f]{8})\.rows$/.exec(name)?.[1] ?? '';
    files.push({ name, bytes: found.size, acceptedMs: found.mtimeMs, sender });
  }
  return files;
}

/** Makes a function that lists the accepted files of a folder; it asks the system for the size of each only once. */
export function createRowsList(folder: string): () => Promise<RowsFile[]> {
  let known: ReadonlyMap<string, RowsFile> = new Map();
  return async () => {
    const files = await listRowsFiles(folder, known);
    known = new Map(files.map(file => [file.name, file]));
    return files;
  };
}

/**
 * Reads a file block by block.
 * @throws Error if it is incomplete; a complete file has at least one block
 */
export async function* readBlocks(folder: string, name: string): AsyncIterable<RowsBlock> {
  let block: (Omit<RowsBlock, 'rows'> & { readonly length: number }) | undefined;
  let rows: string[] = [];
  let isEmpty = true;
  for await (const line of splitLines(createReadStream(join(folder, name)))) {
    isEmpty = false;
    if (!block)
      block = JSON.parse(line) as Omit<RowsBlock, 'rows'> & { length: number }; // as `add` writes it
    else rows.push(line);
    if (rows.length < block.length) continue;
    yield { ...block, rows };
    [block, rows] = [undefined, []];
  }
  if (block || isEmpty) throw new Error(`${name} ends within a block`);
}

/**
 * Reads whose rows a file has: those of one source.
 * @returns undefined if that can't be read; reading its blocks says why
 */
export async function sourceOf(folder: string, name: string): Promise<string | undefined> {
  try {
    for await (const line of splitLines(createReadStream(join(folder, name)))) {
      return (JSON.parse(line) as RowsBlock).source; // as `add` writes it
    }
  } catch {
    // Torn, or another process has removed it.
  }
  return undefined;
}

/** Milliseconds between two touches of a file that is being written. */
const touchMs = 600_000;

/** A file that is being written. */
export type RowsFileWriter = {
  /** Name of the file once it is kept. */
  readonly name: string;
  add(block: RowsBlock): Promise<void>;
  /** Keeps the file: the rows are durably on disk when this resolves. */
  keep(): Promise<void>;
  discard(): Promise<void>;
};

/**
 * Starts to write a file.
 * @param sender the `senderMark` of the sender. Default: none
 */
export async function writeRowsFile(folder: string, sender = ''): Promise<RowsFileWriter> {
  await makeDataFolder(folder);
  const name = `${String(Date.now()).padStart(15, '0')}-${randomUUID()}${sender && `-${sender}`}`;
  const unfinished = join(folder, `${name}.part`);
  const handle = await open(unfinished, 'wx', 0o600);
  // Rows that come by standard input may pause for as long as they like.
  const touching = setInterval(() => {
    const now = new Date();
    handle.utimes(now, now).catch(() => undefined);
  }, touchMs).unref();
  return {
    name: `${name}${ending}`,
    async add({ rows, ...block }) {
      const header = JSON.stringify({ ...block, length: rows.length });
      await handle.writeFile(`${[header, ...rows].join('\n')}\n`);
    },
    async keep() {
      clearInterval(touching);
      await handle.sync();
      await handle.close();
      await rename(unfinished, join(folder, `${name}${ending}`));
      await syncDirectory(folder);
    },
    async discard() {
      clearInterval(touching);
      await handle.close().catch(() => undefined);
      await rm(unfinished, { force: true });
    },
  };
}

/** Milliseconds after which an unfinished file is abandoned: its writer touches it far more often. */
const abandonedMs = 3_600_000;

/** Removes unfinished files of killed processes. */
export async function removeUnfinished(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    if (!/\.(?:part|raw)$/.test(name)) continue;
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found && nowMs - found.mtimeMs > abandonedMs) await rm(join(folder, name), { force: true });
  }
}
