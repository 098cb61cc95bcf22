import {
  type DuckDBConnection,
  DuckDBInstance,
  DuckDBListType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api';
import { columnOf, type Source, type SourceField } from '../../endpoints/source.ts';
import { quoteName, quoteText } from '../../googlesql/tree/quote-text.ts';

/** A line of a file that is not a row. */
export type Reject = { readonly line: number; readonly reason: string; readonly text: string };

export type Reading = {
  /** Rows as JSON texts. */
  readonly lines: AsyncIterable<string>;
  rejects(): Promise<readonly Reject[]>;
  close(): void;
};

/** One array of objects, or objects one after another, over several lines or in one. */
export type JsonShape = 'array' | 'unstructured';

type DuckDbFormat = 'json' | 'parquet' | 'logflare';

/** Maximum invalid lines of a CSV file that are named. */
const maxRejects = 1000;

/**
 * Reads Parquet and JSON by DuckDB, each value exact. A row of Logflare's tables
 * becomes the event in its column `body`, with what the body lacks from the other columns.
 * @throws Error with DuckDB's message for a file that it cannot read
 */
export async function readByDuckDb(
  path: string,
  format: DuckDbFormat,
  source: Source,
  shape: JsonShape = 'array',
): Promise<Reading> {
  const instance = await DuckDBInstance.create(':memory:', { memory_limit: '512MB' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'; SET preserve_insertion_order = true");
  const sql = await selectSql(connection, quoteText(path), { format, source, shape });
  return {
    lines: rowsOf(connection, sql),
    async rejects() {
      if (format !== 'logflare') return [];
      const found = await connection.runAndReadAll(
        `SELECT line, any_value(error_message), any_value(csv_line) FROM reject_errors GROUP BY line ORDER BY line LIMIT ${maxRejects}`,
      );
      return found
        .getRows()
        .map(([line, reason, text]) => ({ line: Number(line), reason: String(reason), text: String(text) }));
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function selectSql(
  connection: DuckDBConnection,
  path: string,
  { format, source, shape }: { format: DuckDbFormat; source: Source; shape: JsonShape },
): Promise<string> {
  if (format === 'json') {
    return `SELECT json FROM read_json_objects(${path}, format = '${shape}', compression = 'uncompressed', maximum_object_size = 16777216)`;
  }
  const csv = `read_csv(${path}, all_varchar = true, header = true, compression = 'none', store_rejects = true)`;
  if (format === 'logflare') {
    const columns = "json_object('id', id, 'event_message', event_message, 'timestamp', \"timestamp\")";
    return `SELECT json_merge_patch(${columns}, coalesce(TRY_CAST(body AS JSON), '{}')) FROM ${csv}`;
  }
  const table = `read_parquet(${path})`;
  const described = await connection.run(`SELECT * FROM ${table} LIMIT 0`);
  const exact = described.columnNames().flatMap((name, at) => {
    const own = source.columns[columnOf(source, name)];
    const sql = own && exactSql(quoteName(name), described.columnTypes()[at]!, own);
    return sql === undefined ? [] : [`${sql} AS ${quoteName(name)}`];
  });
  return `SELECT to_json(r) FROM (SELECT *${replaceSql(exact)} FROM ${table}) r`;
}

/**
 * SQL that converts a value to a form whose JSON loses nothing; undefined if none is needed. As JSON numbers decimals would lose digits,
 * bytes have no JSON form, and no type of ours has nanoseconds.
 */
function exactSql(sql: string, type: DuckDBType, field: SourceField, depth = 0): string | undefined {
  if (type instanceof DuckDBListType && Array.isArray(field)) {
    const element = `e${depth}`;
    const inner = exactSql(element, type.valueType, field[0], depth + 1);
    return inner && `list_transform(${sql}, lambda ${element}: ${inner})`;
  }
  if (type instanceof DuckDBStructType && typeof field === 'object' && !Array.isArray(field)) {
    const values = type.entryNames.map((name, at) => {
      const own = Object.hasOwn(field, name) ? field[name] : undefined;
      const value = `(${sql}).${quoteName(name)}`;
      return { name, value, exact: own && exactSql(value, type.entryTypes[at]!, own, depth) };
    });
    if (values.every(({ exact }) => exact === undefined)) return undefined;
    const fields = values.map(({ name, value, exact }) => `${quoteText(name)}: ${exact ?? value}`);
    return `CASE WHEN ${sql} IS NOT NULL THEN {${fields.join(', ')}} END`;
  }
  if (field === 'BYTES') return `to_base64(${sql})`;
  if (type.typeId === DuckDBTypeId.TIMESTAMP_NS) return `${sql}::TIMESTAMP`;
  return field === 'NUMERIC' || field === 'BIGNUMERIC' ? `${sql}::VARCHAR` : undefined;
}

const replaceSql = (replaced: readonly string[]) =>
  replaced.length > 0 ? ` REPLACE (${replaced.join(', ')})` : '';

/** DuckDB writes values that JSON lacks as bare words. */
function quoteInfinities(text: string): string {
  if (!/\b(?:NaN|Infinity)\b/.test(text)) return text;
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, part =>
    part.startsWith('"') ? part : `"${part}"`,
  );
}

async function* rowsOf(connection: DuckDBConnection, sql: string): AsyncIterable<string> {
  const rows = await connection.stream(sql);
  for await (const chunk of rows.yieldRows()) {
    for (const [text] of chunk) yield quoteInfinities(String(text));
  }
}
