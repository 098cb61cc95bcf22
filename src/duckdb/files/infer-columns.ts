import {
  DuckDBDecimalType,
  DuckDBInstance,
  DuckDBListType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api';
import type { SourceFields, SourceFiles } from '../../endpoints/sources.ts';
import type { ParameterType } from '../../engine/engine.ts';
import { quoteName, quoteText } from '../../googlesql/tree/quote-text.ts';

type Field = SourceFields[string];

/** A column that was found in files. */
export type InferredColumn = {
  readonly name: string;
  readonly field: Field;
  /** Why this type, where DuckDB's own answer was not taken. */
  readonly why: string | undefined;
};

/**
 * Finds the columns of files by reading all their rows. What would lose something is not guessed: a code with leading zeros stays text, and
 * decimals of text formats are exact.
 * @returns the columns in the files' order, and the number of rows
 * @throws Error with DuckDB's message for files that it cannot read, or for a column without a type of ours
 */
export async function inferColumns(files: SourceFiles): Promise<{ columns: InferredColumn[]; rows: number }> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const table = readAll(files);
    const described = await connection.run(`SELECT * FROM ${table} LIMIT 0`);
    const found = described.columnNames().map((name, at) => ({ name, type: described.columnTypes()[at]! }));
    const asText = readText(
      files,
      found.map(({ name }) => name),
    );
    const facts = found.map(({ name, type }) => (files.format === 'parquet' ? 'NULL' : factSql(name, type)));
    const counted = await connection.runAndReadAll(`SELECT count(*), ${facts.join(', ')} FROM ${asText}`);
    const [row = []] = counted.getRows();
    const columns = found.map(({ name, type }, at) => ({
      name,
      ...chosen(name, type, row[at + 1] === true),
    }));
    return { columns, rows: Number(row[0]) };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function readAll({ paths, format }: SourceFiles): string {
  const list = `[${paths.map(quoteText).join(', ')}]`;
  if (format === 'parquet') return `read_parquet(${list}, union_by_name = true)`;
  return `${format === 'csv' ? 'read_csv' : 'read_json'}(${list}, sample_size = -1, union_by_name = true)`;
}

/** The same rows with all values as they are written. */
function readText(files: SourceFiles, names: readonly string[]): string {
  const all = readAll(files);
  if (files.format === 'parquet') return all;
  if (files.format === 'csv') return all.replace(/\)$/, ', all_varchar = true)');
  return all.replace(
    /\)$/,
    `, columns = {${names.map(name => `${quoteText(name)}: 'VARCHAR'`).join(', ')}})`,
  );
}

/** What decides between two types: leading zeros, decimals that NUMERIC holds, times that all say their zone. */
function factSql(name: string, type: DuckDBType): string {
  const text = `trim(${quoteName(name)}::VARCHAR)`;
  if (isInteger(type)) return `bool_or(regexp_matches(${text}, '^[+-]?0[0-9]'))`;
  if (type.typeId === DuckDBTypeId.DOUBLE) {
    return `bool_and(regexp_full_match(${text}, '[+-]?[0-9]{1,29}([.][0-9]{1,9})?'))`;
  }
  return isCivil(type) ? `bool_and(regexp_matches(${text}, '([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$'))` : 'NULL';
}

const integers: readonly DuckDBTypeId[] = [
  DuckDBTypeId.TINYINT, DuckDBTypeId.SMALLINT, DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT, DuckDBTypeId.USMALLINT, DuckDBTypeId.UINTEGER,
]; // biome-ignore format: one list

const isInteger = ({ typeId }: DuckDBType) => integers.includes(typeId);

const isCivil = ({ typeId }: DuckDBType) => scalarTypes[typeId] === 'DATETIME';

function chosen(name: string, type: DuckDBType, fact: boolean): Omit<InferredColumn, 'name'> {
  if (isInteger(type) && fact) return { field: 'STRING', why: 'some values have leading zeros' };
  if (type.typeId === DuckDBTypeId.DOUBLE && fact) {
    return {
      field: 'NUMERIC',
      why: 'all values are decimals of at most nine places, which NUMERIC keeps exact',
    };
  }
  if (isCivil(type) && fact) return { field: 'TIMESTAMP', why: 'all times say their zone' };
  return fieldOf(name, type);
}

function fieldOf(name: string, type: DuckDBType): Omit<InferredColumn, 'name'> {
  if (type instanceof DuckDBListType) {
    const { field, why } = fieldOf(name, type.valueType);
    // A list of lists has no type in BigQuery.
    return Array.isArray(field) ? { field: 'JSON', why: 'a list of lists' } : { field: [field], why };
  }
  if (type instanceof DuckDBStructType) {
    const fields = type.entryNames.map((inner, at) => [inner, fieldOf(inner, type.entryTypes[at]!).field]);
    return { field: Object.fromEntries(fields), why: undefined };
  }
  if (type instanceof DuckDBDecimalType) {
    const isNumeric = type.scale <= 9 && type.width - type.scale <= 29;
    return { field: isNumeric ? 'NUMERIC' : 'BIGNUMERIC', why: undefined };
  }
  if (type.alias === 'JSON') return { field: 'JSON', why: undefined };
  const found = isInteger(type) ? 'INT64' : scalarTypes[type.typeId];
  if (found) return { field: found, why: reasons[type.typeId] };
  throw new Error(`Column ${name} has the type ${type}, which no source can have`);
}

const scalarTypes: Partial<Record<DuckDBTypeId, ParameterType>> = {
  [DuckDBTypeId.VARCHAR]: 'STRING',
  [DuckDBTypeId.ENUM]: 'STRING',
  [DuckDBTypeId.UUID]: 'STRING',
  [DuckDBTypeId.BLOB]: 'BYTES',
  [DuckDBTypeId.BOOLEAN]: 'BOOL',
  [DuckDBTypeId.UBIGINT]: 'NUMERIC',
  [DuckDBTypeId.HUGEINT]: 'BIGNUMERIC',
  [DuckDBTypeId.FLOAT]: 'FLOAT64',
  [DuckDBTypeId.DOUBLE]: 'FLOAT64',
  [DuckDBTypeId.DATE]: 'DATE',
  [DuckDBTypeId.TIME]: 'TIME',
  [DuckDBTypeId.TIMESTAMP]: 'DATETIME',
  [DuckDBTypeId.TIMESTAMP_S]: 'DATETIME',
  [DuckDBTypeId.TIMESTAMP_MS]: 'DATETIME',
  [DuckDBTypeId.TIMESTAMP_NS]: 'DATETIME',
  [DuckDBTypeId.TIMESTAMP_TZ]: 'TIMESTAMP',
  [DuckDBTypeId.SQLNULL]: 'STRING',
};

const civil = 'times without a zone; write TIMESTAMP if they are in UTC';

const reasons: Partial<Record<DuckDBTypeId, string>> = {
  [DuckDBTypeId.TIMESTAMP]: civil,
  [DuckDBTypeId.TIMESTAMP_S]: civil,
  [DuckDBTypeId.TIMESTAMP_MS]: civil,
  [DuckDBTypeId.TIMESTAMP_NS]: civil,
  [DuckDBTypeId.UBIGINT]: 'integers beyond 64 bits with a sign',
  [DuckDBTypeId.SQLNULL]: 'no row has a value',
};
