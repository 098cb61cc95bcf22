import type { ColumnType } from '../../base/rows.ts';

/** A type without parts. `NULL` is the type of a bare NULL that nothing has given a type yet. */
export type ScalarKind = Exclude<ColumnType, 'STRUCT'> | 'INTERVAL' | RangeKind | 'NULL';

export const rangeKinds = ['RANGE<DATE>', 'RANGE<DATETIME>', 'RANGE<TIMESTAMP>'] as const;
export type RangeKind = (typeof rangeKinds)[number];

export const isRange = (kind: string): kind is RangeKind => kind.startsWith('RANGE<');

export type ScalarType = {
  readonly kind: ScalarKind;
  /** BYTES of the embedded engine's own, which mean nothing to BigQuery. */
  readonly isSketch?: true;
};

/**
 * An array, to every caller. `single` says how it is stored: the repeated record is one plain DuckDB STRUCT
 * (no element: see `StructType.presence`), never a LIST.
 */
export type ArrayType = {
  readonly kind: 'ARRAY';
  readonly element: SqlType;
  readonly single: boolean;
  /**
   * What NULL in its storage means. Not given: empty, as in every table. `NULL`: a computed array, NULL is NULL.
   * `UNCLEAR`: either, as when an outer join found no row; what depends on it is refused.
   */
  readonly nulls?: 'NULL' | 'UNCLEAR';
};

export type StructField = { readonly name: string; readonly type: SqlType };

/** `presence`: the stored struct has a boolean leaf `_p`, NULL exactly when there is no struct. */
export type StructType = {
  readonly kind: 'STRUCT';
  readonly fields: readonly StructField[];
  readonly presence: boolean;
};

/** A GoogleSQL type, with what the DuckDB printer must know of its storage. */
export type SqlType = ScalarType | ArrayType | StructType;

export type CatalogColumn = { readonly name: string; readonly type: SqlType };

/** A base table, under the name that it has in DuckDB too; unquoted. */
export type CatalogTable = {
  readonly name: string;
  readonly columns: readonly CatalogColumn[];
};

/** Base tables by the name that a query writes, dots included: `cloudflare.logs.prod`. */
export type Catalog = ReadonlyMap<string, CatalogTable>;

/** The name of a type as BigQuery writes it in its messages. */
export function typeName(type: SqlType): string {
  switch (type.kind) {
    case 'ARRAY':
      return `ARRAY<${typeName(type.element)}>`;
    case 'STRUCT':
      return `STRUCT<${type.fields.map(f => (f.name ? `${f.name} ` : '') + typeName(f.type)).join(', ')}>`;
    default:
      return type.kind;
  }
}

/** Whether two types are one and the same to a caller; storage does not count. */
export function sameType(a: SqlType, b: SqlType): boolean {
  if (a === b) return true;
  if (a.kind === 'ARRAY') return b.kind === 'ARRAY' && sameType(a.element, b.element);
  if (a.kind !== 'STRUCT') return a.kind === b.kind;
  return (
    b.kind === 'STRUCT' &&
    a.fields.length === b.fields.length &&
    a.fields.every((field, i) => sameType(field.type, b.fields[i]!.type))
  );
}

/** A type on the side of an outer join that may have no row, with every array in it marked; itself where there is none to mark. */
export function onOuterSide(type: SqlType): SqlType {
  if (type.kind === 'ARRAY') {
    const element = onOuterSide(type.element);
    return type.nulls && element === type.element
      ? type
      : { ...type, element, nulls: type.nulls ?? 'UNCLEAR' };
  }
  if (type.kind !== 'STRUCT') return type;
  const types = type.fields.map(field => onOuterSide(field.type));
  if (type.fields.every((field, i) => field.type === types[i])) return type;
  return { ...type, fields: type.fields.map((field, i) => ({ ...field, type: types[i]! })) };
}

export const scalar = (kind: ScalarKind): ScalarType => ({ kind });
export const arrayOf = (element: SqlType): ArrayType => ({ kind: 'ARRAY', element, single: false });

/** @throws RangeError if the type is larger than anybody could read */
export function structOf(fields: readonly StructField[]): StructType {
  const type: StructType = { kind: 'STRUCT', fields, presence: false };
  if (leavesOf(type) > maxLeaves) throw new RangeError('Type too large');
  return type;
}

/** Most scalars in a STRUCT. A short text can pair a type with itself over and over. */
const maxLeaves = 20_000;

const knownLeaves = new WeakMap<StructType, number>();

/** How many scalars a value of a type holds, an array counted as one element. */
export function leavesOf(type: SqlType): number {
  if (type.kind === 'ARRAY') return leavesOf(type.element);
  if (type.kind !== 'STRUCT') return 1;
  const known = knownLeaves.get(type);
  if (known !== undefined) return known;
  const leaves = type.fields.reduce((sum, field) => sum + leavesOf(field.type), 0);
  knownLeaves.set(type, leaves);
  return leaves;
}
