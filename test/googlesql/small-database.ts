import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { prepareConnection } from '../../src/duckdb/prepare-connection.ts';
import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../../src/googlesql/functions/duckdb-macros.ts';
import { finishRow } from '../../src/googlesql/printer/finish-row.ts';
import type { ParameterTypes } from '../../src/googlesql/tree/bind-context.ts';
import { duckDbType } from '../../src/googlesql/tree/duckdb-type.ts';
import type { CatalogTable, SqlType } from '../../src/googlesql/tree/types.ts';

/** How repeated records are stored. */
export type Layout = 'single' | 'list';

const sources = [
  'cloudflare.logs.prod',
  'postgres.logs',
  'deno-relay-logs',
  'deno-subhosting-events',
  'gotrue.logs.prod',
  'realtime.logs.prod',
  'storage.logs.prod.2',
  'postgREST.logs.prod',
  'pgbouncer.logs.prod',
];

const text: SqlType = { kind: 'STRING' };

function record(layout: Layout, fields: Readonly<Record<string, SqlType>>): SqlType {
  const single = layout === 'single';
  const list = Object.entries(fields).map(([name, type]) => ({ name, type }));
  return { kind: 'ARRAY', single, element: { kind: 'STRUCT', fields: list, presence: single } };
}

export function catalogOf(layout: Layout): ReadonlyMap<string, CatalogTable> {
  const request = record(layout, { url: text, path: text, bytes: { kind: 'INT64' } });
  const metadata = record(layout, { project: text, project_ref: text, score: { kind: 'FLOAT64' }, request });
  const columns = [
    { name: 'timestamp', type: { kind: 'TIMESTAMP' } as const },
    { name: 'id', type: text },
    { name: 'event_message', type: text },
    { name: 'project', type: text },
    { name: 'metadata', type: metadata },
  ];
  return new Map(sources.map(name => [name, { name, columns }]));
}

/** A row as a test writes it: `path` undefined means no request, `metadata: null` no metadata at all. */
export type LogRow = {
  readonly id: string;
  readonly timestamp: string;
  readonly project?: string;
  readonly message?: string | null;
  readonly url?: string;
  readonly path?: string;
  readonly metadata?: null;
};

export type SmallDatabase = {
  readonly connection: DuckDBConnection;
  insert(source: string, rows: readonly LogRow[]): Promise<void>;
  /** Compiles and runs; answers parsed rows. `callerSql` runs in the sandbox of `sql`. */
  rows(sql: string, options?: RunOptions): Promise<unknown[]>;
};

export type RunOptions = {
  readonly callerSql?: string;
  readonly parameters?: Readonly<Record<string, string | null>>;
  readonly parameterTypes?: ParameterTypes;
  readonly now?: string;
  readonly maxRows?: number;
  readonly takesPostgresCasts?: boolean;
};

/** An in-memory database with all nine sources, empty, in one layout. */
export async function openSmallDatabase(layout: Layout): Promise<SmallDatabase> {
  const catalog = catalogOf(layout);
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  await connection.run("set default_null_order = 'nulls_first_on_asc_last_on_desc'");
  await prepareConnection(connection, duckDbMacros);
  for (const { name, columns } of catalog.values()) {
    const list = columns.map(column => `"${column.name}" ${duckDbType(column.type)}`).join(', ');
    await connection.run(`create table "${name}" (${list})`);
  }
  return {
    connection,
    insert: async (source, rows) => {
      for (const row of rows) await connection.run(insertStatement(layout, source, row));
    },
    rows: (sql, options = {}) => runRows(connection, { ...options, sql, catalog }),
  };
}

function insertStatement(layout: Layout, source: string, row: LogRow): string {
  const { id, timestamp, project = 'p1', message = 'm', url = 'https://p1.example/rest' } = row;
  const stored = (fields: string) => (layout === 'single' ? `{'_p': true, ${fields}}` : `[{${fields}}]`);
  const request =
    row.path === undefined ? 'null' : stored(`'url': '${url}', 'path': '${row.path}', 'bytes': 1`);
  const metadata = stored(
    `'project': '${project}', 'project_ref': '${project}', 'score': 0.5, 'request': ${request}`,
  );
  const said = message === null ? 'null' : `'${message}'`;
  return `insert into "${source}" values ('${timestamp}', '${id}', ${said}, '${project}', ${row.metadata === null ? 'null' : metadata})`;
}

async function runRows(
  connection: DuckDBConnection,
  options: RunOptions & { sql: string; catalog: ReadonlyMap<string, CatalogTable> },
): Promise<unknown[]> {
  const { sql, callerSql, catalog, parameters = {}, parameterTypes } = options;
  const { maxRows = 1000, takesPostgresCasts = false } = options;
  const compiled = compileForDuckDb({
    sql,
    callerSql,
    catalog,
    parameterNames: Object.keys(parameters),
    parameterTypes,
    takesPostgresCasts,
    maxRows,
  });
  const prepared = await connection.prepare(compiled.sql);
  for (const { name, placeholder, kind } of compiled.parameters) {
    const index = prepared.parameterIndex(placeholder);
    const value = parameters[name];
    if (kind === 'NOW') {
      const ms = Date.parse(options.now ?? '2026-01-15T12:00:00Z');
      prepared.bindTimestampTZ(index, new DuckDBTimestampTZValue(BigInt(ms) * 1000n));
    } else if (value == null) prepared.bindNull(index);
    else prepared.bindVarchar(index, value);
  }
  const result = await prepared.runAndReadAll();
  const { shape } = compiled;
  return result.getRows().map(([json]) => JSON.parse(shape ? finishRow(String(json), shape) : String(json)));
}
