import { DuckDBListType, DuckDBStructType, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { SourceField, SourceFields } from '../endpoints/source.ts';
import type { ParameterType } from '../engine/engine.ts';
import { duckDbType } from '../googlesql/tree/duckdb-type.ts';
import { quoteName, quoteText } from '../googlesql/tree/quote-text.ts';
import {
  arrayOf,
  type CatalogColumn,
  type SqlType,
  type StructType,
  scalar,
} from '../googlesql/tree/types.ts';

/**
 * How log rows are stored in DuckDB. A repeated record is one plain STRUCT with a boolean leaf `_p` ("present") until a
 * row brings a second element, and a LIST of such STRUCTs from then on: a scan of plain STRUCTs reads only the
 * leaves it needs, six times faster than through lists. Callers see an array either way.
 */

/** The leaf that is true if the record is present: testing it reads one column, testing the STRUCT reads all. */
export const presenceLeaf = '_p';

/** The column or field with a name; BigQuery and DuckDB ignore letter case. */
export function columnNamed(columns: readonly CatalogColumn[], name: string): CatalogColumn | undefined {
  const lower = name.toLowerCase();
  return columns.find(column => column.name.toLowerCase() === lower);
}

/** The columns of a source as first stored: every repeated record a plain STRUCT. */
export function firstLayout(fields: SourceFields): CatalogColumn[] {
  return Object.entries(fields).map(([name, field]) => ({ name, type: typeOf(field, true) }));
}

/** The columns of a source as they are in JSON rows: every repeated record a list. */
export function listLayout(fields: SourceFields): CatalogColumn[] {
  return Object.entries(fields).map(([name, field]) => ({ name, type: typeOf(field, false) }));
}

function typeOf(field: SourceField, single: boolean): SqlType {
  if (typeof field === 'string') return scalar(field);
  if (!Array.isArray(field)) return recordOf(field, single, false);
  const [element] = field;
  if (typeof element === 'string') return arrayOf(scalar(element));
  return { kind: 'ARRAY', single, element: recordOf(element, single, single) };
}

function recordOf(fields: SourceFields, single: boolean, presence: boolean): StructType {
  const types = Object.entries(fields).map(([name, inner]) => ({ name, type: typeOf(inner, single) }));
  return { kind: 'STRUCT', presence, fields: types };
}

/** The type of a stored column, read from the database. */
export function storedType(type: DuckDBType): SqlType {
  if (type instanceof DuckDBListType) {
    const { valueType } = type;
    const element = valueType instanceof DuckDBStructType ? recordType(valueType) : storedType(valueType);
    return { kind: 'ARRAY', single: false, element };
  }
  if (type instanceof DuckDBStructType) {
    const record = recordType(type);
    // A record that is not repeated has no such leaf: DuckDB distinguishes its NULL from a record of NULLs.
    return record.presence ? { kind: 'ARRAY', single: true, element: record } : record;
  }
  const kind = type.alias === 'JSON' ? 'JSON' : scalarKinds[type.typeId];
  if (kind) return scalar(kind);
  throw new Error(`No log column has the DuckDB type ${type}`);
}

function recordType({ entryNames, entryTypes }: DuckDBStructType): StructType {
  const fields = entryNames.map((name, at) => ({ name, duckDbType: entryTypes[at]! }));
  return {
    kind: 'STRUCT',
    presence: entryNames.includes(presenceLeaf),
    fields: fields
      .filter(({ name }) => name !== presenceLeaf)
      .map(({ name, duckDbType }) => ({ name, type: storedType(duckDbType) })),
  };
}

/** The types of stored values that are neither records nor lists. */
export const scalarKinds: Readonly<Partial<Record<DuckDBTypeId, ParameterType>>> = {
  [DuckDBTypeId.VARCHAR]: 'STRING',
  [DuckDBTypeId.BLOB]: 'BYTES',
  [DuckDBTypeId.BIGINT]: 'INT64',
  [DuckDBTypeId.DOUBLE]: 'FLOAT64',
  [DuckDBTypeId.BOOLEAN]: 'BOOL',
  [DuckDBTypeId.DECIMAL]: 'NUMERIC',
  [DuckDBTypeId.TIMESTAMP_TZ]: 'TIMESTAMP',
  [DuckDBTypeId.TIMESTAMP]: 'DATETIME',
  [DuckDBTypeId.DATE]: 'DATE',
  [DuckDBTypeId.TIME]: 'TIME',
};

/** DuckDB's name of a stored type, for CREATE and ALTER TABLE. */
export function storedTypeSql(type: SqlType): string {
  if (type.kind === 'ARRAY')
    return type.single ? storedTypeSql(type.element) : `${storedTypeSql(type.element)}[]`;
  if (type.kind !== 'STRUCT') return duckDbType(type);
  const presence = type.presence ? [`${quoteName(presenceLeaf)} BOOLEAN`] : [];
  const fields = type.fields.map(field => `${quoteName(field.name)} ${storedTypeSql(field.type)}`);
  return `STRUCT(${[...presence, ...fields].join(', ')})`;
}

/**
 * Gives stored columns the types that their source declares, if DuckDB has one type for two: a BIGNUMERIC is stored as a NUMERIC.
 */
export function declaredTypes(stored: readonly CatalogColumn[], fields: SourceFields): CatalogColumn[] {
  return stored.map(({ name, type }) => ({ name, type: declaredType(type, fields[name]) }));
}

function declaredType(stored: SqlType, field: SourceField | undefined): SqlType {
  if (field === 'BIGNUMERIC' && stored.kind === 'NUMERIC') return scalar(field);
  if (stored.kind === 'ARRAY' && Array.isArray(field)) {
    // The element of an array is of the same kind as the declared one.
    return { ...stored, element: declaredType(stored.element, field[0]) };
  }
  if (stored.kind !== 'STRUCT' || typeof field !== 'object' || Array.isArray(field)) return stored;
  return { ...stored, fields: declaredTypes(stored.fields, field) };
}

type ConvertOptions = {
  /** Whether to fail instead of rounding a value. Default false: stored values only ever get wider types. */
  readonly isExact?: boolean;
  /** Number of lambdas around the value. Default 0. */
  readonly depth?: number;
};

/**
 * SQL that converts a value from one layout to another. A list that becomes a single record
 * loses the elements after the first: widen the table first.
 */
export function convertLayout(
  sql: string,
  from: SqlType,
  to: SqlType,
  { isExact = false, depth = 0 }: ConvertOptions = {},
): string {
  const options = { isExact, depth };
  if (from.kind === 'STRUCT' && to.kind === 'STRUCT') {
    if (storedTypeSql(from) === storedTypeSql(to)) return sql;
    const presence = to.presence ? [`${quoteText(presenceLeaf)}: true`] : [];
    const fields = to.fields.map(({ name, type }) => {
      const source = columnNamed(from.fields, name);
      const value = source
        ? convertLayout(`(${sql}).${quoteName(source.name)}`, source.type, type, options)
        : `NULL::${storedTypeSql(type)}`;
      return `${quoteText(name)}: ${value}`;
    });
    const record = `{${[...presence, ...fields].join(', ')}}`;
    // An element of an array is always present.
    return to.presence ? record : `CASE WHEN ${sql} IS NOT NULL THEN ${record} END`;
  }
  if (to.kind === 'STRING') return textSql(sql, from);
  if (to.kind !== 'ARRAY') return isExact ? exactSql(sql, from, to) : sql;
  const isList = from.kind === 'ARRAY' && !from.single;
  if (to.element.kind !== 'STRUCT') {
    if (!isExact || !isList || storedTypeSql(from) === storedTypeSql(to)) return sql;
  } else if (from.kind === 'STRUCT') {
    const record = convertLayout(sql, from, to.element, options);
    return `CASE WHEN ${sql} IS NOT NULL THEN ${to.single ? record : `[${record}]`} ELSE ${to.single ? 'NULL' : '[]'} END`;
  }
  if (from.kind !== 'ARRAY') return sql;
  if (!to.single && !from.single) {
    const item = `e${depth}`;
    const converted = convertLayout(item, from.element, to.element, { isExact, depth: depth + 1 });
    return `list_transform(${sql}, lambda ${item}: ${converted})`;
  }
  if (to.single && !from.single) {
    const item = `e${depth}`;
    const converted = convertLayout(item, from.element, to.element, { isExact, depth: depth + 1 });
    return `list_transform(${sql}, lambda ${item}: CASE WHEN ${item} IS NOT NULL THEN ${converted} END)[1]`;
  }
  const one = from.single ? sql : `(${sql})[1]`;
  const isThere = from.single ? `(${one}).${quoteName(presenceLeaf)} IS NOT NULL` : `${one} IS NOT NULL`;
  const converted = convertLayout(one, from.element, to.element, options);
  const none = to.single ? 'NULL' : '[]';
  return `CASE WHEN ${isThere} THEN ${to.single ? converted : `[${converted}]`} ELSE ${none} END`;
}

const numberKinds: readonly SqlType['kind'][] = ['INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC'];

/** SQL of a value in another scalar type. It fails if DuckDB would round the value or cut something off. */
function exactSql(sql: string, from: SqlType, to: SqlType): string {
  const [given, wanted] = [storedTypeSql(from), storedTypeSql(to)];
  if (given === wanted) return sql;
  const isText = from.kind === 'STRING';
  // Other texts have many spellings of one value.
  if (isText && !numberKinds.includes(to.kind)) return `CAST(${sql} AS ${wanted})`;
  const compared = isText ? 'DOUBLE' : given;
  // An expression that occurs twice must not fail: DuckDB moves it out of the TRY that looks for such values.
  const converted = `TRY_CAST(${sql} AS ${wanted})`;
  const isSame = `TRY_CAST(${converted} AS ${compared}) = TRY_CAST(${sql} AS ${compared})`;
  const refused = `CAST(CAST(${sql} AS VARCHAR) || ' does not fit' AS ${wanted})`;
  return `CASE WHEN ${sql} IS NULL OR ${isSame} THEN ${converted} ELSE ${refused} END`;
}

/** SQL of the field at a dotted path; if a record is a list, that of its first element. */
export function pathSql(columns: readonly CatalogColumn[], path: string | undefined, table = ''): string {
  let fields = columns;
  let sql = table;
  for (const part of path?.split('.') ?? []) {
    const found = columnNamed(fields, part);
    if (!found) return 'NULL';
    const { name, type } = found;
    sql += `${sql && '.'}${quoteName(name)}`;
    const record = type.kind === 'ARRAY' ? type.element : type;
    if (type.kind === 'ARRAY' && !type.single) sql = `(${sql}[1])`;
    fields = record.kind === 'STRUCT' ? record.fields : [];
  }
  return path ? sql : 'NULL';
}

/** SQL of a value as text; arrays and records as JSON, instead of DuckDB's own form. */
function textSql(sql: string, from: SqlType): string {
  if (from.kind !== 'ARRAY' && from.kind !== 'STRUCT') return sql;
  const isThere = from.kind === 'ARRAY' ? `len(${sql}) > 0` : `${sql} IS NOT NULL`;
  return `CASE WHEN ${isThere} THEN to_json(${sql})::VARCHAR END`;
}

/** The columns with lists for the records at these dotted paths. */
export function widenLayout(columns: readonly CatalogColumn[], paths: ReadonlySet<string>): CatalogColumn[] {
  const lower = new Set([...paths].map(path => path.toLowerCase()));
  const widen = (type: SqlType, path: string): SqlType => {
    const record = type.kind === 'ARRAY' ? type.element : type;
    if (record.kind !== 'STRUCT') return type;
    const fields = record.fields.map(field => ({
      name: field.name,
      type: widen(field.type, `${path}.${field.name}`),
    }));
    if (type.kind !== 'ARRAY') return { ...record, fields };
    return {
      kind: 'ARRAY',
      single: type.single && !lower.has(path.toLowerCase()),
      element: { ...record, fields },
    };
  };
  return columns.map(({ name, type }) => ({ name, type: widen(type, name) }));
}

/** For each type, those that can hold all its values. */
const wider: Partial<Record<SqlType['kind'], readonly SqlType['kind'][]>> = {
  // For instance a number that was learned as an integer, and later had a fraction.
  INT64: ['FLOAT64', 'NUMERIC', 'BIGNUMERIC'],
  DATE: ['DATETIME', 'TIMESTAMP'],
  DATETIME: ['TIMESTAMP'],
};

/** The stored columns plus the missing fields of a source: lists stay lists, no field is removed, and no type becomes narrower. */
export function extendLayout(
  stored: readonly CatalogColumn[],
  wanted: readonly CatalogColumn[],
): CatalogColumn[] {
  const extended = stored.map(({ name, type }) => {
    const other = columnNamed(wanted, name);
    return { name, type: other ? extendType(type, other.type) : type };
  });
  return [...extended, ...wanted.filter(({ name }) => !columnNamed(stored, name))];
}

function extendType(stored: SqlType, wanted: SqlType): SqlType {
  if (stored.kind === 'STRUCT' && wanted.kind === 'STRUCT') {
    return { ...stored, fields: extendLayout(stored.fields, wanted.fields) };
  }
  if (wider[stored.kind]?.includes(wanted.kind)) return wanted;
  const [record, other] = [stored, wanted].map(type => (type.kind === 'ARRAY' ? type.element : type));
  if (record?.kind !== 'STRUCT' || other?.kind !== 'STRUCT') return stored;
  const fields = extendLayout(record.fields, other.fields);
  if (stored.kind === 'ARRAY') return { ...stored, element: { ...record, fields } };
  return { kind: 'ARRAY', single: true, element: { ...record, presence: true, fields } };
}

/** SQL that decodes the bytes in a value, at any depth, which are base64 in text formats. */
export function decodeBytes(sql: string, field: SourceField, depth = 0): string {
  if (field === 'BYTES') return `from_base64(${sql})`;
  if (typeof field === 'string' || !JSON.stringify(field).includes('"BYTES"')) return sql;
  if (Array.isArray(field)) {
    const element = `e${depth}`;
    return `list_transform(${sql}, lambda ${element}: ${decodeBytes(element, field[0], depth + 1)})`;
  }
  const fields = Object.entries(field).map(
    ([name, inner]) => `${quoteText(name)}: ${decodeBytes(`(${sql}).${quoteName(name)}`, inner, depth)}`,
  );
  return `CASE WHEN ${sql} IS NOT NULL THEN {${fields.join(', ')}} END`;
}
