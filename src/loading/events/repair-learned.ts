import { rename } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { replaceFile } from '../../base/replace-file.ts';
import type { DamagedFile } from '../../duckdb/data-folder/repair-replicas.ts';
import { readCatalog } from '../../duckdb/database.ts';
import { readCurrent } from '../../duckdb/replicas.ts';
import type { ScalarType, SourceField, SourceFields } from '../../endpoints/source.ts';
import type { CatalogColumn, SqlType } from '../../googlesql/tree/types.ts';
import { type LearnedFields, learnedFile } from './learned-fields.ts';

/**
 * Sets a damaged file of learned fields aside, and makes it again from the tables, which have all fields of earlier events.
 * @param nowMs for the name of the file that is set aside
 * @throws DuckDB's error if the tables can't be read
 */
export async function repairLearned(databasePath: string, nowMs: number): Promise<DamagedFile> {
  const instance = await DuckDBInstance.create(readCurrent(databasePath).path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const tables = await readCatalog(connection).finally(() => {
    connection.closeSync();
    instance.closeSync();
  });
  // Declared fields are among them, and win anyway.
  const learned: LearnedFields = Object.fromEntries(
    tables.map(({ name, columns }) => [name, fieldsOf(columns)]),
  );
  const file = learnedFile(databasePath);
  const keptAs = `${file}.damaged-${nowMs}`;
  await rename(file, keptAs);
  await replaceFile(file, `${JSON.stringify(learned)}\n`);
  return { file, keptAs };
}

function fieldsOf(columns: readonly CatalogColumn[]): SourceFields {
  return Object.fromEntries(columns.map(({ name, type }) => [name, fieldOf(type)]));
}

function fieldOf(type: SqlType): SourceField {
  if (type.kind === 'ARRAY') return [fieldOf(type.element) as ScalarType | SourceFields]; // no table has an array of arrays
  return type.kind === 'STRUCT' ? fieldsOf(type.fields) : (type.kind as ScalarType); // columns have a source's types
}
