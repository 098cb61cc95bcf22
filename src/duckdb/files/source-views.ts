import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source, SourceField, SourceFiles } from '../../endpoints/source.ts';
import { duckDbType } from '../../googlesql/tree/duckdb-type.ts';
import { quoteName, quoteText } from '../../googlesql/tree/quote-text.ts';
import type { CatalogTable } from '../../googlesql/tree/types.ts';
import { decodeBytes, listLayout } from '../layout.ts';
import { csvOptions } from './csv-options.ts';

/** The views of sources whose files are read in place. */
export type SourceViews = {
  /** The sources that can be read, as tables. */
  readonly tables: readonly CatalogTable[];
  /** The problems of the others. */
  readonly problems: readonly { readonly source: string; readonly message: string }[];
};

/**
 * Makes a view for each source that reads files in place, only for this connection: the database is not changed. The files are opened
 * when a query reads them, so new ones that match a glob are visible at once.
 */
export async function makeSourceViews(
  connection: DuckDBConnection,
  sources: readonly Source[],
): Promise<SourceViews> {
  const tables: CatalogTable[] = [];
  const problems: { source: string; message: string }[] = [];
  for (const source of sources) {
    const { name, columns, files, from = {} } = source;
    if (!files) continue;
    const selected = Object.entries(columns).map(
      ([column, field]) =>
        `${valueSql(quoteName(from[column] ?? column), field, files)} AS ${quoteName(column)}`,
    );
    const view = `SELECT ${selected.join(', ')} FROM ${readSql(source, files)}`;
    try {
      await connection.run(`CREATE TEMP VIEW ${quoteName(name)} AS ${view}`);
      tables.push({ name, columns: listLayout(columns) });
    } catch (error) {
      // The first line of DuckDB's message; the others show our own SQL.
      const [message = ''] = String(error instanceof Error ? error.message : error).split('\n');
      problems.push({ source: name, message });
    }
  }
  return { tables, problems };
}

/** The folders of the files: the only ones besides its own that DuckDB may read. */
export function foldersOf(sources: readonly Source[]): string[] {
  const paths = sources.flatMap(({ files }) => files?.paths ?? []);
  return [...new Set(paths.map(path => path.replace(/[*?[{].*$/, '').replace(/[^/]*$/, '')))];
}

function readSql({ columns, from = {}, csv }: Source, { paths, format }: SourceFiles): string {
  const list = `[${paths.map(quoteText).join(', ')}]`;
  if (format === 'parquet') return `read_parquet(${list}, union_by_name = true)`;
  const types = Object.entries(columns).map(
    ([name, field]) => `${quoteText(from[name] ?? name)}: ${quoteText(textType(name, field))}`,
  );
  const read = format === 'csv' ? 'read_csv' : 'read_json';
  // All types are declared, so nothing is guessed: a code such as 007 keeps its zeros.
  const named = format === 'csv' ? 'types' : 'columns';
  // Without `date`, DuckDB would read dates in the form of other columns of the file.
  const options = format === 'csv' ? csvOptions({ date: '%Y-%m-%d', ...csv }) : '';
  return `${read}(${list}, ${named} = {${types.join(', ')}}, union_by_name = true${options})`;
}

/** Bytes are base64 in text formats. */
function textType(name: string, field: SourceField): string {
  return typeSql(name, field).replace(/(?<!")\bblob\b(?!")/g, 'varchar');
}

function typeSql(name: string, field: SourceField): string {
  return duckDbType(listLayout({ [name]: field })[0]!.type);
}

function valueSql(column: string, field: SourceField, { format }: SourceFiles): string {
  if (format === 'parquet') return `CAST(${column} AS ${typeSql('value', field)})`;
  return decodeBytes(column, field);
}
