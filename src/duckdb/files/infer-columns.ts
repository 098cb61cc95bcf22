import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DuckDBConnection,
  DuckDBDecimalType,
  DuckDBInstance,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api';
import type { CsvForm } from '../../endpoints/csv-form.ts';
import type { SourceFields, SourceFiles } from '../../endpoints/source.ts';
import { quoteName, quoteText } from '../../googlesql/tree/quote-text.ts';
import { scalarKinds } from '../layout.ts';
import { columnName, isColumnName } from './column-name.ts';
import { csvOptions } from './csv-options.ts';
import { convert, findCsvForm, findRaggedLine, toUtf8 } from './find-csv-form.ts';
import { findNumberForm, findOtherForms, findTimeForm, type TypedTable } from './find-value-forms.ts';

type Field = SourceFields[string];

/** A column that was found in files. */
export type InferredColumn = {
  readonly name: string;
  /** Its name in the files, if that differs. */
  readonly from: string | undefined;
  readonly field: Field;
  /** Why it has this type, if that is not the one that DuckDB detected. */
  readonly why: string | undefined;
};

/** The columns and the dialect found in files. */
export type InferredFiles = {
  readonly columns: readonly InferredColumn[];
  /** Columns with types that a source can't have. */
  readonly leftOut: readonly { readonly name: string; readonly type: string }[];
  readonly rows: number;
  /** The dialect of CSV files, as far as it is not the usual one. */
  readonly csv: CsvForm;
  /** Other forms of dates and times that also fit all values. */
  readonly otherForms: CsvForm;
};

type InferOptions = {
  /** Whether invalid CSV lines are skipped; the import reports them later. Default false. */
  readonly isLenient?: boolean;
};

/**
 * Finds the columns of files by reading all their rows. Types that would lose something are not guessed: a code with leading zeros stays
 * text, and decimals of text formats are exact.
 * @returns the columns in the files' order, and the number of rows
 * @throws Error with DuckDB's message for files that it cannot read
 */
export async function inferColumns(
  files: SourceFiles,
  { isLenient = false }: InferOptions = {},
): Promise<InferredFiles> {
  if (files.format !== 'csv' || !isLenient) return inferPlain(files, isLenient);
  const folder = await mkdtemp(join(tmpdir(), 'source-'));
  try {
    const paths: string[] = [];
    for (const [at, path] of files.paths.entries()) {
      const copy = join(folder, `${at}.csv`);
      // Globs are left to DuckDB.
      paths.push(!/[*?[{]/.test(path) && (await toUtf8(path, copy)) ? copy : path);
    }
    return await inferPlain({ ...files, paths }, isLenient);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function inferPlain(files: SourceFiles, isLenient: boolean): Promise<InferredFiles> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const [first] = (
      await connection.runAndReadAll(
        `SELECT file FROM glob([${files.paths.map(quoteText).join(', ')}]) LIMIT 1`,
      )
    ).getRows();
    const path = String(first?.[0] ?? files.paths[0]);
    const csv = files.format === 'csv' ? await findCsvForm(connection, path) : {};
    try {
      return await inferForm(connection, files, { csv, isLenient });
    } catch (error) {
      if (files.format !== 'csv') throw error;
      const tolerant = { csv: { ...csv, strict: false }, isLenient };
      if (isLenient) return { ...(await inferForm(connection, files, tolerant)), csv };
      if (/unicode|encoded/i.test(String(error))) {
        throw new Error(`${path} is neither UTF-8 nor Latin-1 or UTF-16 throughout${convert}`, {
          cause: error,
        });
      }
      const ragged = await findRaggedLine(path, csv);
      // For example mixed line endings.
      if (ragged === undefined) return await inferForm(connection, files, tolerant);
      throw new Error(
        `${path}: ${ragged}. Correct it, or load the file: with --load such lines are left out and reported`,
        { cause: error },
      );
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

type Form = {
  readonly csv: CsvForm;
  readonly isLenient: boolean;
  /** Types of columns for which DuckDB would guess another one, for instance because groups of digits occur only after its first 2,048 rows. */
  readonly types?: Readonly<Record<string, 'BIGINT' | 'DOUBLE'>>;
};

async function inferForm(
  connection: DuckDBConnection,
  files: SourceFiles,
  form: Form,
): Promise<InferredFiles> {
  const table = readAll(files, form);
  const described = await connection.run(`SELECT * FROM ${table} LIMIT 0`);
  const found = described.columnNames().map((name, at) => ({ name, type: described.columnTypes()[at]! }));
  const names = found.map(({ name }) => name);
  const asText = readText(files, form, names);
  const facts = found.map(({ name, type }) =>
    files.format === 'parquet' ? 'NULL' : factSql(name, type, form.csv),
  );
  const counted = await connection.runAndReadAll(`SELECT count(*), ${facts.join(', ')} FROM ${asText}`);
  const [row = []] = counted.getRows();
  const read: TypedTable = { asText, columns: found };
  if (files.format === 'csv') {
    const { csv } = form;
    const isNumberKnown = csv.decimal !== undefined || csv.thousands !== undefined;
    const numbers = isNumberKnown ? undefined : await findNumberForm(connection, read, csv);
    const times = csv.timestamp === undefined ? await findTimeForm(connection, read) : undefined;
    if (numbers || times) {
      const types = { ...form.types, ...numbers?.types };
      return inferForm(connection, files, { ...form, types, csv: { ...csv, ...numbers?.csv, ...times } });
    }
  }
  const taken = new Set(names.filter(isColumnName).map(name => name.toLowerCase()));
  const columns: InferredColumn[] = [];
  const leftOut: { name: string; type: string }[] = [];
  for (const [at, { name, type }] of found.entries()) {
    const own = isColumnName(name) ? name : columnName(name, taken, at + 1);
    taken.add(own.toLowerCase());
    const type_ = chosen(type, row[at + 1]);
    if (type_) columns.push({ name: own, from: own === name ? undefined : name, ...type_ });
    else leftOut.push({ name, type: String(type) });
  }
  const dates = { date: 'DATE', timestamp: 'TIMESTAMP' } as const;
  const csv = Object.fromEntries(
    // A form that no column has is dropped.
    Object.entries(form.csv).filter(
      ([key]) =>
        !(key in dates) ||
        found.some(({ type }) => String(type).startsWith(dates[key as keyof typeof dates])),
    ),
  );
  const otherForms = await findOtherForms(connection, read, csv);
  return { columns, leftOut, rows: Number(row[0]), csv, otherForms };
}

function readAll({ paths, format }: SourceFiles, { csv, isLenient, types = {} }: Form): string {
  const list = `[${paths.map(quoteText).join(', ')}]`;
  if (format === 'parquet') return `read_parquet(${list}, union_by_name = true)`;
  if (format === 'json') return `read_json(${list}, sample_size = -1, union_by_name = true)`;
  const { delimiter = ',' } = csv;
  const named = Object.entries(types).map(([name, type]) => `${quoteText(name)}: '${type}'`);
  const typed = named.length > 0 ? `, types = {${named.join(', ')}}` : '';
  const lenient = isLenient ? ', ignore_errors = true' : '';
  return `read_csv(${list}, sample_size = -1, union_by_name = true${csvOptions({ ...csv, delimiter })}${typed}${lenient})`;
}

/** SQL of the same rows with all values as text. */
function readText(files: SourceFiles, form: Form, names: readonly string[]): string {
  const all = readAll(files, { ...form, types: {} });
  if (files.format === 'parquet') return all;
  if (files.format === 'csv') return all.replace(/\)$/, ', all_varchar = true)');
  const texts = names.map(name => `${quoteText(name)}: 'VARCHAR'`).join(', ');
  // A function, because `$$` and `$&` are special in a replacement text.
  return all.replace(/\)$/, () => `, columns = {${texts}})`);
}

/**
 * SQL of the facts that decide between types: leading zeros, 64-bit integers, decimals that NUMERIC can hold, booleans in known words, times
 * that all have a zone.
 */
function factSql(name: string, type: DuckDBType, { decimal, thousands }: CsvForm): string {
  const written = `trim(${quoteName(name)}::VARCHAR)`;
  const whole = thousands ? `replace(${written}, ${quoteText(thousands)}, '')` : written;
  const text = decimal === ',' ? `replace(${whole}, ',', '.')` : whole;
  if (isInteger(type)) return `bool_or(regexp_matches(${text}, '^[+-]?0[0-9]'))`;
  if (isLarge(type)) return `bool_and(TRY_CAST(${text} AS BIGINT) IS NOT NULL OR ${written} IS NULL)`;
  if (type.typeId === DuckDBTypeId.BOOLEAN) return `bool_or(lower(${text}) NOT IN ('true', 'false'))`;
  if (type.typeId === DuckDBTypeId.DOUBLE) {
    // DuckDB infers no integer type larger than BIGINT from CSV: longer codes become DOUBLE.
    const isCode = `bool_or(regexp_full_match(${text}, '[+-]?(0[0-9]+|[0-9]{30,})'))`;
    const isNumeric = `bool_and(regexp_full_match(${text}, '[+-]?[0-9]{1,29}([.][0-9]{1,9})?'))`;
    return `CASE WHEN ${isCode} THEN 'code' ELSE ${isNumeric}::VARCHAR END`;
  }
  if (type.typeId === DuckDBTypeId.VARCHAR) {
    const isNumber = `regexp_full_match(${written}, '[+-]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?')`;
    const spoils = `any_value(${written}) FILTER (WHERE NOT ${isNumber})`;
    return `CASE WHEN count_if(${isNumber}) >= ${mostly} * count(${written}) THEN ${spoils} END`;
  }
  if (!isCivil(type)) return 'NULL';
  // Next to a column of dates in several forms, DuckDB types dates as times.
  const isDay = `bool_and(regexp_full_match(${text}, '[0-9]{4}-[0-9]{2}-[0-9]{2}'))`;
  const saysZone = `bool_and(regexp_matches(${text}, ':[0-9]{2}.*([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$'))`;
  return `CASE WHEN ${isDay} THEN 'day' WHEN ${saysZone} THEN 'zone' END`;
}

/** If at least this share of values are numbers, the report explains why the column is text. */
const mostly = 0.9;

const integers: readonly DuckDBTypeId[] = [
  DuckDBTypeId.TINYINT, DuckDBTypeId.SMALLINT, DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT, DuckDBTypeId.USMALLINT, DuckDBTypeId.UINTEGER,
]; // biome-ignore format: one list

const isInteger = ({ typeId }: DuckDBType) => integers.includes(typeId);

const isLarge = ({ typeId }: DuckDBType) =>
  typeId === DuckDBTypeId.UBIGINT || typeId === DuckDBTypeId.HUGEINT;

const isCivil = ({ typeId }: DuckDBType) => scalarTypes[typeId] === 'DATETIME';

type Chosen = Pick<InferredColumn, 'field' | 'why'>;

/** @returns undefined for a type that a source can't have */
function chosen(type: DuckDBType, found: unknown): Chosen | undefined {
  const fact = found === true;
  if (isInteger(type) && fact) return { field: 'STRING', why: 'some values have leading zeros' };
  if (isLarge(type) && fact) return { field: 'INT64', why: undefined };
  if (type.typeId === DuckDBTypeId.BOOLEAN && fact)
    return { field: 'STRING', why: 'words other than true and false' };
  if (type.typeId === DuckDBTypeId.DOUBLE && found === 'code')
    return { field: 'STRING', why: 'some values have leading zeros, or more digits than a number keeps' };
  if (type.typeId === DuckDBTypeId.DOUBLE && found === 'true') {
    return {
      field: 'NUMERIC',
      why: 'all values are decimals of at most nine places, which NUMERIC keeps exact',
    };
  }
  if (type.typeId === DuckDBTypeId.VARCHAR && typeof found === 'string') {
    return { field: 'STRING', why: `most values are numbers, but not ${JSON.stringify(found.slice(0, 40))}` };
  }
  if (found === 'day') return { field: 'DATE', why: undefined };
  if (found === 'zone') return { field: 'TIMESTAMP', why: 'all times say their zone' };
  return fieldOf(type);
}

function fieldOf(type: DuckDBType): Chosen | undefined {
  if (type instanceof DuckDBListType) {
    const element = fieldOf(type.valueType);
    // A list of lists has no type in BigQuery.
    if (Array.isArray(element?.field)) return { field: 'JSON', why: 'a list of lists' };
    return element && { field: [element.field as Exclude<Field, unknown[]>], why: element.why };
  }
  if (type instanceof DuckDBMapType) return { field: 'JSON', why: 'names that differ from row to row' };
  if (type instanceof DuckDBStructType) return recordOf(type);
  if (type instanceof DuckDBDecimalType) {
    const isNumeric = type.scale <= 9 && type.width - type.scale <= 29;
    return { field: isNumeric ? 'NUMERIC' : 'BIGNUMERIC', why: undefined };
  }
  if (type.alias === 'JSON') return { field: 'JSON', why: undefined };
  const found = isInteger(type) ? 'INT64' : scalarTypes[type.typeId];
  return found && { field: found, why: reasons[type.typeId] };
}

/** The type for a STRUCT: JSON if one of its fields can't be a field of a source. */
function recordOf({ entryNames, entryTypes }: DuckDBStructType): Chosen {
  const fields = entryNames.map((name, at) => [name, fieldOf(entryTypes[at]!)?.field] as const);
  const different = new Set(entryNames.map(name => name.toLowerCase()));
  const isOurs = fields.every(([name, field]) => isColumnName(name) && field !== undefined);
  if (!isOurs || different.size < entryNames.length || entryNames.length === 0) {
    return { field: 'JSON', why: 'a record with fields that no column can have' };
  }
  return { field: Object.fromEntries(fields) as SourceFields, why: undefined };
}

/** Those that are stored, and those that occur only in files. */
const scalarTypes: typeof scalarKinds = {
  ...scalarKinds,
  [DuckDBTypeId.ENUM]: 'STRING',
  [DuckDBTypeId.UUID]: 'STRING',
  [DuckDBTypeId.SQLNULL]: 'STRING',
  [DuckDBTypeId.UBIGINT]: 'NUMERIC',
  [DuckDBTypeId.HUGEINT]: 'BIGNUMERIC',
  [DuckDBTypeId.FLOAT]: 'FLOAT64',
  [DuckDBTypeId.TIMESTAMP_S]: 'DATETIME',
  [DuckDBTypeId.TIMESTAMP_MS]: 'DATETIME',
  [DuckDBTypeId.TIMESTAMP_NS]: 'DATETIME',
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
