import { Readable } from 'node:stream';
import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { readCatalog } from '../../src/duckdb/database.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { prepareConnection } from '../../src/duckdb/prepare-connection.ts';
import type { SourceField, SourceFields } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { CompiledStatement } from '../../src/googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../../src/googlesql/functions/duckdb-macros.ts';
import { finishRow } from '../../src/googlesql/printer/finish-row.ts';
import type { Catalog } from '../../src/googlesql/tree/types.ts';

/** Stands in every text of every row that the saved query hides, in their numbers, and in the names of their ids. */
export const marker = 'MARK987654321';

const markedNumber = 987_654_321;

/** What the saved query is asked with: one project, within an hour. */
const parameters: Readonly<Record<string, string>> = {
  project: 'ours',
  iso_timestamp_start: '2026-01-15T10:00:00Z',
  iso_timestamp_end: '2026-01-15T11:00:00Z',
};

/** Stored as lists of records, where the other sources are plain records. */
const listed = 'gotrue.logs.prod';

/** What a statement answered: its rows as JSON texts, or DuckDB's message. */
export type Outcome = { readonly rows: readonly string[] } | { readonly error: string };

export type MarkedDatabase = {
  readonly connection: DuckDBConnection;
  readonly catalog: Catalog;
  run(statement: CompiledStatement): Promise<Outcome>;
};

/** What rows that nobody may see hold in their columns. */
export type HiddenValues = { readonly text: string; readonly number: number };

const marked: HiddenValues = { text: `x ${marker}`, number: markedNumber };

/** Neither text nor number begins, ends or counts as those of `marked`, nor as ours. */
export const otherValues: HiddenValues = { text: '2026-01-15', number: -7 };

/**
 * A database of every source with a few rows of our project.
 * @param hidden whether it also holds the rows that nobody may see: another project's, and ours out of the time range
 * @param values what these hold. Default: the marker
 */
export async function openMarkedDatabase(
  databasePath: string,
  { hidden, values = marked }: { hidden: boolean; values?: HiddenValues },
): Promise<MarkedDatabase> {
  const sources = readSources();
  for (const { name, columns } of sources) {
    const input = Readable.from(
      rowsOf(name, columns, hidden ? values : undefined).map(row => `${JSON.stringify(row)}\n`),
    );
    await importLogs({ databasePath, sources, source: name, input });
  }
  const settings = { access_mode: 'READ_ONLY', memory_limit: '1GB', threads: '1' };
  const connection = await (await DuckDBInstance.create(databasePath, settings)).connect();
  await connection.run("SET default_null_order = 'nulls_first_on_asc_last_on_desc'");
  await prepareConnection(connection, duckDbMacros);
  const tables = await readCatalog(connection);
  return {
    connection,
    catalog: new Map(tables.map(table => [table.name, table])),
    run: statement => run(connection, statement),
  };
}

/** Milliseconds a mutant may run. */
const runLimitMs = 1000;

async function run(connection: DuckDBConnection, statement: CompiledStatement): Promise<Outcome> {
  const stop = setInterval(() => connection.interrupt(), runLimitMs);
  try {
    const prepared = await connection.prepare(statement.sql);
    for (const { name, placeholder, kind } of statement.parameters) {
      const index = prepared.parameterIndex(placeholder);
      if (kind === 'NOW') prepared.bindTimestampTZ(index, new DuckDBTimestampTZValue(1_768_478_400_000_000n));
      else prepared.bindVarchar(index, parameters[name] ?? '');
    }
    const result = await prepared.runAndReadAll();
    return {
      rows: result.getRows().map(([json]) => {
        const row = statement.shape ? finishRow(String(json), statement.shape) : String(json);
        // What a gateway answers is JSON, whatever was asked; `catch` passes on what is not.
        JSON.parse(row);
        return row;
      }),
    };
  } catch (error) {
    if (error instanceof SyntaxError) throw error;
    return { error: error instanceof Error ? error.message : String(error) };
  } finally {
    clearInterval(stop);
  }
}

/** Rows of ours, and between them in time the hidden ones. */
function rowsOf(source: string, columns: SourceFields, hidden: HiddenValues | undefined): readonly object[] {
  const ours = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, n) => {
    const at = `2026-01-15T10:${String(10 + n * 5)}:00.00000${n}Z`;
    return logRow(source, columns, { id, at, project: 'ours', text: String(n + 1), number: n + 1 });
  });
  if (!hidden) return ours;
  const theirs = Array.from({ length: 12 }, (_, n) => {
    const at = `2026-01-15T10:${String(10 + n * 3)}:01.424242Z`;
    return logRow(source, columns, { ...hidden, id: `${marker}-${n}`, at, project: `theirs-${marker}` });
  });
  const early = ['2026-01-15T10:00:00Z', '2026-01-15T11:00:00.000001Z', '2020-01-01T00:00:00Z'].map((at, n) =>
    logRow(source, columns, { ...hidden, id: `${marker}-early-${n}`, at, project: 'ours' }),
  );
  return [...theirs.slice(0, 6), ...ours, ...early, ...theirs.slice(6)];
}

type RowOptions = { id: string; at: string; project: string; text: string; number: number };

function logRow(source: string, columns: SourceFields, options: RowOptions): object {
  const { id, at, project, text } = options;
  const metadata = fieldValue(columns.metadata!, options, 'metadata');
  const repeated = source === listed && Array.isArray(metadata) ? [...metadata, ...metadata] : metadata;
  return { id, timestamp: at, event_message: text, project, metadata: repeated };
}

/** A value for a field; a record holds its project where the saved query looks for it. */
function fieldValue(field: SourceField, options: RowOptions, name: string): unknown {
  if (Array.isArray(field)) {
    const [element] = field;
    if (typeof element === 'string') return [fieldValue(element, options, name)];
    return [
      Object.fromEntries(Object.entries(element).map(([key, f]) => [key, fieldValue(f, options, key)])),
    ];
  }
  if (name === 'project' || name === 'project_ref') return options.project;
  return {
    STRING: options.text,
    INT64: options.number,
    FLOAT64: options.number,
    BOOL: true,
    TIMESTAMP: options.at,
  }[field as 'STRING'];
}
