import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { readCatalog } from '../src/duckdb/database.ts';
import { prepareConnection } from '../src/duckdb/prepare-connection.ts';
import { type CompiledStatement, compileForDuckDb } from '../src/googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../src/googlesql/functions/duckdb-macros.ts';
import { finishRow } from '../src/googlesql/printer/finish-row.ts';

/** Statements straight on DuckDB in this process, prepared for each run, with their rows as JSON text at the end. */
export type DirectDuckDb = {
  compile(sql: string, callerSql?: string): CompiledStatement;
  /** Runs what the front-end printed. */
  runCompiled(compiled: CompiledStatement, parameters: Parameters): Promise<string>;
  /** Plans what the front-end printed, as a run does before its first row. */
  plan(compiled: CompiledStatement, parameters: Parameters): Promise<void>;
  /** Runs SQL written for DuckDB; its placeholders are those of the compiled statement. */
  runByHand(sql: string, compiled: CompiledStatement, parameters: Parameters): Promise<string>;
  close(): void;
};

type Parameters = Readonly<Record<string, string>>;

/**
 * Opens a database file beside the gateway that reads it.
 * @param connections for statements at the same time; no more may run
 */
export async function openDirectDuckDb(file: string, connections = 1): Promise<DirectDuckDb> {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', memory_limit: '1024MB' });
  const free: DuckDBConnection[] = [];
  for (let n = 0; n < connections; n++) {
    const connection = await instance.connect();
    await prepareConnection(connection, duckDbMacros);
    free.push(connection);
  }
  const catalog = new Map((await readCatalog(free[0]!)).map(table => [table.name, table]));

  async function run(sql: string, compiled: CompiledStatement, parameters: Parameters) {
    const connection = free.pop();
    if (!connection) throw new Error('All connections are in use');
    try {
      return await runOn(connection, sql, compiled, parameters);
    } finally {
      free.push(connection);
    }
  }

  async function runOn(
    connection: DuckDBConnection,
    sql: string,
    compiled: CompiledStatement,
    parameters: Parameters,
  ) {
    const statement = await connection.prepare(sql);
    for (let at = 1; at <= statement.parameterCount; at++) {
      const name = statement.parameterName(at);
      const parameter = compiled.parameters.find(({ placeholder }) => placeholder === name);
      const value = parameters[parameter?.name ?? ''];
      if (parameter?.kind === 'NOW') {
        statement.bindTimestampTZ(at, new DuckDBTimestampTZValue(BigInt(Date.now()) * 1000n));
      } else if (value === undefined) statement.bindNull(at);
      else statement.bindVarchar(at, value);
    }
    const rows = await statement.runAndReadAll();
    statement.destroySync();
    if (rows.currentRowCount === 0) throw new Error(`no rows: ${sql}`);
    return rows;
  }

  return {
    compile(sql, callerSql) {
      const parameterNames = [...new Set([...sql.matchAll(/@(\w+)/g)].map(match => match[1]!))];
      return compileForDuckDb({ sql, callerSql, catalog, parameterNames, maxRows: 1000 });
    },
    async runCompiled(compiled, parameters) {
      const { shape } = compiled;
      const rows = (await run(compiled.sql, compiled, parameters)).getRows();
      return `[${rows.map(([row]) => (shape ? finishRow(String(row), shape) : String(row))).join(',')}]`;
    },
    async plan(compiled, parameters) {
      await run(`explain ${compiled.sql}`, compiled, parameters);
    },
    async runByHand(sql, compiled, parameters) {
      return JSON.stringify((await run(sql, compiled, parameters)).getRowObjectsJson());
    },
    close: () => instance.closeSync(),
  };
}
