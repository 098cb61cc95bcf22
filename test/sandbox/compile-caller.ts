import { readFileSync } from 'node:fs';
import { firstLayout } from '../../src/duckdb/layout.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { type BoundStatement, bindStatement } from '../../src/googlesql/binder/bind-statement.ts';
import { type CompiledStatement, compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import type { Catalog } from '../../src/googlesql/tree/types.ts';

/** The saved query whose sandbox is attacked. */
export const savedSql = readFileSync('sql/logs.all.sql', 'utf8');

export const parameterNames = ['project', 'iso_timestamp_start', 'iso_timestamp_end'];

/** Every real source as an empty database has it, and one table that the saved query does not read. */
export const catalog: Catalog = new Map(
  [...readSources(), { name: 'secrets', columns: { id: 'STRING', event_message: 'STRING' } as const }].map(
    ({ name, columns }) => [name, { name, columns: firstLayout(columns) }],
  ),
);

/** Binds a caller's SQL, which is what decides on the warehouse. */
export function bindCaller(callerSql: string): BoundStatement {
  return bindStatement({ sql: savedSql, callerSql, catalog, parameterNames });
}

/** Compiles a caller's SQL as the service does, with all that any of its modes takes. */
export function compileCaller(callerSql: string, tables = catalog): CompiledStatement {
  const request = { sql: savedSql, callerSql, catalog: tables, parameterNames, maxRows: 1000 };
  return compileForDuckDb({ ...request, takesPostgresCasts: true });
}
