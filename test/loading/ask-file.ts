import { DuckDBInstance } from '@duckdb/node-api';

/** The rows of a query of DuckDB's over one database file, as JSON values, times in UTC. Nobody else may write the file. */
export async function askFile(path: string, sql: string) {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return (await connection.runAndReadAll(sql)).getRowsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
