import type { DuckDBConnection } from '@duckdb/node-api';
import { registerScalarFunctions } from './scalar-functions.ts';

/** Prepares a connection for the statements that the front-end prints. */
export async function prepareConnection(
  connection: DuckDBConnection,
  macros: readonly string[],
): Promise<void> {
  await connection.run("SET TimeZone = 'UTC'");
  await materializeLate(connection, 0);
  // This optimizer turns the first row of a window into an aggregate, which returns a row of NULLs if there are no rows, and a row other than
  // the first with a calculated key of GROUP BY (seen with DuckDB 1.5.5). Without it, the first of each partition of a million rows takes
  // 140 ms, not 8.
  await connection.run("SET disabled_optimizers = 'top_n_window_elimination'");
  // A printed sort key may be a constant, which orders nothing but is not a mistake.
  await connection.run('SET order_by_non_integer_literal = true');
  registerScalarFunctions(connection);
  // As one text: on their own most of them would take longer to hand over than to make.
  await connection.run(macros.join(';\n'));
}

/** Rows of a table from which finding rows by number takes longer than reading the wide columns of candidates. */
const manyRows = 40_000_000;

/**
 * Makes DuckDB find the newest rows by their sort columns alone, and fetch their wide columns by row number. By default it does so for at
 * most 50 rows; the first hundred of a caller who gives no time range (decision 149) would take three times as long on a million rows. The
 * price: it reads about every group of 122,880 rows, which takes 0.15 ms each and stays in memory: on a hundred million rows, 130 ms
 * instead of 15.
 * @param rows of the longest table
 */
export async function materializeLate(connection: DuckDBConnection, rows: number): Promise<void> {
  await connection.run(`SET late_materialization_max_rows = ${rows < manyRows ? 10_000 : 0}`);
}
