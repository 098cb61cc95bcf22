import type { Readable } from 'node:stream';
import type { DuckDBConnection } from '@duckdb/node-api';
import { parseExactJson } from '../base/json.ts';
import type { Source } from '../endpoints/source.ts';
import { type Database, openForWriting } from './database.ts';
import { type Findings, normaliseRow, RowError } from './normalise-row.ts';
import { splitLines } from './split-lines.ts';
import { storeRows } from './store-rows.ts';

type ImportOptions = {
  /** Lines of JSON. */
  readonly input: Readable;
  readonly databasePath: string;
  readonly sources: readonly Source[];
  /** Name of the source of the rows. */
  readonly source: string;
  /** Called with the rows read so far, after each batch. */
  readonly onProgress?: (rows: number) => void;
  /** Called for each line that can't be stored; lines count from 1. */
  readonly onBadLine?: (line: number, reason: string) => void;
};

export type ImportResult = {
  readonly imported: number;
  readonly rejected: number;
  /** Dotted paths of fields that the source lacks, without duplicates. */
  readonly ignoredFields: readonly string[];
};

/** Maximum rows and characters of one batch; a batch is stored completely or not at all. */
const batchRows = 5000;
const batchCharacters = 16 * 1024 * 1024;

/**
 * Streams log rows into a source's table. Bad lines are reported and skipped.
 * @throws DatabaseBusyError; Error if the source is unknown or reads its files in place
 */
export async function importLogs(options: ImportOptions): Promise<ImportResult> {
  const source = options.sources.find(({ name }) => name === options.source);
  if (!source) {
    const known = options.sources.map(({ name }) => name).join(', ');
    throw new Error(`No source is named ${JSON.stringify(options.source)}; allowed: ${known}`);
  }
  if (source.files)
    throw new Error(`Source ${source.name} reads its files in place; nothing is loaded into it`);
  const database = await openForWriting(options.databasePath, options.sources);
  try {
    return await importInto(database, source, options);
  } finally {
    database.close();
  }
}

async function importInto(
  { connection }: Database,
  source: Source,
  options: ImportOptions,
): Promise<ImportResult> {
  const findings: Findings = { ignoredFields: new Set(), severalElements: new Set() };
  let line = 0;
  let imported = 0;
  let rejected = 0;
  let batch: string[] = [];
  let characters = 0;

  const store = async () => {
    if (batch.length > 0) await storeBatch(connection, source, batch, findings.severalElements);
    imported += batch.length;
    batch = [];
    characters = 0;
    options.onProgress?.(line);
  };
  for await (const text of splitLines(options.input)) {
    line++;
    if (text.trim() === '') continue;
    try {
      const row = JSON.stringify(normaliseRow(source, parseExactJson(text), findings));
      batch.push(row);
      characters += row.length;
    } catch (error) {
      if (!(error instanceof RowError) && !(error instanceof SyntaxError)) throw error;
      rejected++;
      options.onBadLine?.(line, error.message);
    }
    if (batch.length >= batchRows || characters >= batchCharacters) await store();
  }
  await store();
  return { imported, rejected, ignoredFields: [...findings.ignoredFields].sort() };
}

/** Stores a batch completely, or not at all. */
async function storeBatch(
  connection: DuckDBConnection,
  source: Source,
  rows: readonly string[],
  severalElements: ReadonlySet<string>,
): Promise<void> {
  await connection.run('BEGIN');
  try {
    await storeRows(connection, source, { rows, severalElements });
    await connection.run('COMMIT');
  } catch (error) {
    await connection.run('ROLLBACK');
    throw error;
  }
}
