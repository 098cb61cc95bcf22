import { dirname } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { Source } from '../endpoints/source.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import type { CatalogColumn, CatalogTable } from '../googlesql/tree/types.ts';
import { DatabaseBusyError } from './data-folder/database-busy-error.ts';
import { makeDataFolder } from './data-folder/folder-format.ts';
import { convertLayout, extendLayout, firstLayout, storedType, storedTypeSql } from './layout.ts';

/** An open database file and one connection to it. */
export type Database = { readonly connection: DuckDBConnection; close(): void };

/**
 * Block size of newly made files, in bytes. A writer holds a block for each leaf of a record and one for its NULLs: with DuckDB's default of
 * 256 KiB, one row of a source that has learned 500 fields needs hundreds of megabytes. Blocks smaller than this make queries slower.
 */
const blockBytes = 65_536;

type WritingOptions = {
  /** Megabytes of DuckDB's buffers. Default 2048. */
  readonly memoryMb?: number;
  /** Called for each existing table whose columns were changed, with the milliseconds that took. */
  readonly onChanged?: ((table: string, ms: number) => void) | undefined;
};

/**
 * Opens a database file for writing, and makes missing tables and columns of the sources.
 * @throws DatabaseBusyError
 */
export async function openForWriting(
  path: string,
  sources: readonly Source[],
  { memoryMb = 2048, onChanged }: WritingOptions = {},
): Promise<Database> {
  await makeDataFolder(dirname(path));
  let instance: DuckDBInstance;
  try {
    instance = await DuckDBInstance.create(path, { default_block_size: String(blockBytes) });
  } catch (error) {
    if (isHeldElsewhere(error)) throw new DatabaseBusyError(path, error);
    throw error;
  }
  const connection = await instance.connect();
  const close = () => {
    connection.closeSync();
    instance.closeSync();
  };
  try {
    await connection.run(`SET TimeZone = 'UTC'; SET memory_limit = '${memoryMb}MB'`);
    await makeTables(connection, sources, onChanged);
    return { connection, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Whether a database could not be opened because another process has it open. */
export function isHeldElsewhere(error: unknown): boolean {
  return String(error).includes('Could not set lock');
}

/** Makes the tables and columns of the sources that the database lacks. */
async function makeTables(
  connection: DuckDBConnection,
  sources: readonly Source[],
  onChanged: WritingOptions['onChanged'],
): Promise<void> {
  // DuckDB ignores letter case in names.
  const there = new Map(
    (await readCatalog(connection)).map(table => [table.name.toLowerCase(), table.columns]),
  );
  for (const { name, columns, files } of sources) {
    if (files) continue;
    const wanted = firstLayout(columns);
    const stored = there.get(name.toLowerCase());
    if (!stored) {
      await connection.run(`CREATE TABLE ${quoteName(name)} (${columnsSql(wanted)})`);
      continue;
    }
    const startedMs = performance.now();
    const isChanged = await changeLayout(connection, name, stored, extendLayout(stored, wanted));
    if (isChanged) onChanged?.(name, performance.now() - startedMs);
  }
}

/**
 * Changes a table's columns from one layout to another that can hold at least as much.
 * @returns whether there was anything to change
 */
export async function changeLayout(
  connection: DuckDBConnection,
  table: string,
  from: readonly CatalogColumn[],
  to: readonly CatalogColumn[],
): Promise<boolean> {
  let isChanged = false;
  for (const { name, type } of to) {
    const old = from.find(column => column.name === name)?.type;
    const [column, typeSql] = [quoteName(name), storedTypeSql(type)];
    if (old && storedTypeSql(old) === typeSql) continue;
    const change = old
      ? `ALTER ${column} SET DATA TYPE ${typeSql} USING ${convertLayout(column, old, type)}`
      : `ADD COLUMN ${column} ${typeSql}`;
    await connection.run(`ALTER TABLE ${quoteName(table)} ${change}`);
    isChanged = true;
  }
  return isChanged;
}

/**
 * The tables of a database with their columns as stored.
 * @param attached name of an attached database. Default: the one with which the connection was opened
 */
export async function readCatalog(connection: DuckDBConnection, attached?: string): Promise<CatalogTable[]> {
  const database = attached === undefined ? 'current_database()' : quoteText(attached);
  const names = await connection.runAndReadAll(
    `SELECT table_name FROM duckdb_tables() WHERE database_name = ${database} AND schema_name = 'main' AND table_name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY 1`,
  );
  const tables: CatalogTable[] = [];
  for (const [name] of names.getRows()) {
    tables.push({
      name: String(name),
      columns: await readColumns(connection, String(name), attached),
    });
  }
  return tables;
}

/** The columns of one table as stored; `attached` as in `readCatalog`. */
export async function readColumns(
  connection: DuckDBConnection,
  table: string,
  attached?: string,
): Promise<CatalogColumn[]> {
  const place = attached === undefined ? '' : `${quoteName(attached)}.main.`;
  const { columnNames, columnTypes } = await describe(
    connection,
    `SELECT * FROM ${place}${quoteName(table)} LIMIT 0`,
  );
  return columnNames.map((name, at) => ({ name, type: storedType(columnTypes[at]!) }));
}

async function describe(connection: DuckDBConnection, sql: string) {
  const result = await connection.run(sql);
  return { columnNames: result.columnNames(), columnTypes: result.columnTypes() };
}

function columnsSql(columns: readonly CatalogColumn[]): string {
  return columns.map(({ name, type }) => `${quoteName(name)} ${storedTypeSql(type)}`).join(', ');
}
