import { DuckDBListType, DuckDBStructType, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { SourceField, SourceFields } from '../endpoints/sources.ts';
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

/** The columns of a source as first stored: every repeated record a plain STRUCT. */
export function firstLayout(fields: SourceFields): CatalogColumn[] {
  return Object.entries(fields).map(([name, field]) => ({ name, type: typeOf(field, true) }));
}

/** The columns of a source as JSON rows bring them: every repeated record a list. */
export function listLayout(fields: SourceFields): CatalogColumn[] {
  return Object.entries(fields).map(([name, field]) => ({ name, type: typeOf(field, false) }));
}

function typeOf(field: SourceField, single: boolean): SqlType {
  if (!Array.isArray(field)) return scalar(field);
  const [element] = field;
  if (typeof element === 'string') return arrayOf(scalar(element));
  const fields = Object.entries(element).map(([name, inner]) => ({ name, type: typeOf(inner, single) }));
  return { kind: 'ARRAY', single, element: { kind: 'STRUCT', presence: single, fields } };
}

/** The type of a stored column, read from the database. */
export function storedType(type: DuckDBType): SqlType {
  if (type instanceof DuckDBListType) {
    const { valueType } = type;
    const element = valueType instanceof DuckDBStructType ? recordType(valueType) : storedType(valueType);
    return { kind: 'ARRAY', single: false, element };
  }
  if (type instanceof DuckDBStructType) return { kind: 'ARRAY', single: true, element: recordType(type) };
  const kind = scalarKinds[type.typeId];
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

const scalarKinds: Partial<Record<DuckDBTypeId, 'STRING' | 'INT64' | 'FLOAT64' | 'BOOL' | 'TIMESTAMP'>> = {
  [DuckDBTypeId.VARCHAR]: 'STRING',
  [DuckDBTypeId.BIGINT]: 'INT64',
  [DuckDBTypeId.DOUBLE]: 'FLOAT64',
  [DuckDBTypeId.BOOLEAN]: 'BOOL',
  [DuckDBTypeId.TIMESTAMP_TZ]: 'TIMESTAMP',
};

/** DuckDB's name of a stored type, for CREATE and ALTER TABLE. */
export function storedTypeSql(type: SqlType): string {
  switch (type.kind) {
    case 'ARRAY':
      return type.single ? storedTypeSql(type.element) : `${storedTypeSql(type.element)}[]`;
    case 'STRUCT': {
      const presence = type.presence ? [`${quoteName(presenceLeaf)} BOOLEAN`] : [];
      const fields = type.fields.map(field => `${quoteName(field.name)} ${storedTypeSql(field.type)}`);
      return `STRUCT(${[...presence, ...fields].join(', ')})`;
    }
    case 'STRING':
      return 'VARCHAR';
    case 'INT64':
      return 'BIGINT';
    case 'FLOAT64':
      return 'DOUBLE';
    case 'BOOL':
      return 'BOOLEAN';
    case 'TIMESTAMP':
      return 'TIMESTAMPTZ';
    default:
      throw new Error(`No log column has the type ${type.kind}`);
  }
}

/**
 * SQL that turns a value of one layout into the same value of another. A list that becomes a single record
 * loses the elements after the first: widen the table before.
 */
export function convertLayout(sql: string, from: SqlType, to: SqlType, depth = 0): string {
  if (from.kind === 'STRUCT' && to.kind === 'STRUCT') {
    const presence = to.presence ? [`${quoteText(presenceLeaf)}: true`] : [];
    const fields = to.fields.map(({ name, type }) => {
      const source = from.fields.find(field => field.name === name);
      const value = source
        ? convertLayout(`(${sql}).${quoteName(name)}`, source.type, type, depth)
        : `NULL::${storedTypeSql(type)}`;
      return `${quoteText(name)}: ${value}`;
    });
    return `{${[...presence, ...fields].join(', ')}}`;
  }
  if (from.kind !== 'ARRAY' || to.kind !== 'ARRAY' || to.element.kind !== 'STRUCT') return sql;
  if (!to.single && !from.single) {
    const item = `e${depth}`;
    return `list_transform(${sql}, lambda ${item}: ${convertLayout(item, from.element, to.element, depth + 1)})`;
  }
  const one = from.single ? sql : `(${sql})[1]`;
  const isThere = from.single ? `(${one}).${quoteName(presenceLeaf)} IS NOT NULL` : `${one} IS NOT NULL`;
  const converted = convertLayout(one, from.element, to.element, depth);
  const none = to.single ? 'NULL' : '[]';
  return `CASE WHEN ${isThere} THEN ${to.single ? converted : `[${converted}]`} ELSE ${none} END`;
}

/** The columns' type in which the records at these dotted paths are lists. */
export function widenLayout(columns: readonly CatalogColumn[], paths: ReadonlySet<string>): CatalogColumn[] {
  const widen = (type: SqlType, path: string): SqlType => {
    if (type.kind !== 'ARRAY' || type.element.kind !== 'STRUCT') return type;
    const fields = type.element.fields.map(field => ({
      name: field.name,
      type: widen(field.type, `${path}.${field.name}`),
    }));
    return { kind: 'ARRAY', single: type.single && !paths.has(path), element: { ...type.element, fields } };
  };
  return columns.map(({ name, type }) => ({ name, type: widen(type, name) }));
}

/** The stored columns plus the fields of a source that they lack: lists stay lists, and no field is removed. */
export function extendLayout(
  stored: readonly CatalogColumn[],
  wanted: readonly CatalogColumn[],
): CatalogColumn[] {
  const extended = stored.map(({ name, type }) => {
    const other = wanted.find(column => column.name === name);
    return { name, type: other ? extendType(type, other.type) : type };
  });
  return [...extended, ...wanted.filter(({ name }) => !stored.some(column => column.name === name))];
}

function extendType(stored: SqlType, wanted: SqlType): SqlType {
  if (stored.kind !== 'ARRAY' || stored.element.kind !== 'STRUCT') return stored;
  if (wanted.kind !== 'ARRAY' || wanted.element.kind !== 'STRUCT') return stored;
  const fields = extendLayout(stored.element.fields, wanted.element.fields);
  return { ...stored, element: { ...stored.element, fields } };
}
