import { DuckDBInstance } from '@duckdb/node-api';
import type { Source } from '../../endpoints/source.ts';
import { quoteName } from '../../googlesql/tree/quote-text.ts';
import { makeSourceViews } from './source-views.ts';

/**
 * Reads all rows of a source with files, each value in its declared type.
 * @returns the number of rows
 * @throws Error with DuckDB's message for missing files, and for a value that does not fit its type
 */
export async function checkFiles(source: Source): Promise<number> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const { problems } = await makeSourceViews(connection, [source]);
    if (problems[0]) throw new Error(problems[0].message);
    const counts = Object.keys(source.columns).map(column => `max(hash(${quoteName(column)}))`);
    // Counting alone may leave values unread.
    const sql = `SELECT count(*), ${counts.join(', ')} FROM ${quoteName(source.name)}`;
    const [[rows] = []] = (await connection.runAndReadAll(sql)).getRows();
    return Number(rows);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
