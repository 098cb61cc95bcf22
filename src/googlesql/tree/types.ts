import type { ColumnType } from '../../base/rows.ts';

/** A type without parts. `NULL` is the type of a bare NULL that has no other type yet. */
export type ScalarKind = Exclude<ColumnType, 'STRUCT'> | 'INTERVAL' | RangeKind | 'NULL';

export const rangeKinds = ['RANGE<DATE>', 'RANGE<DATETIME>', 'RANGE<TIMESTAMP>'] as const;
export type RangeKind = (typeof rangeKinds)[number];

export const isRange = (kind: string): kind is RangeKind => kind.startsWith('RANGE<');

export type ScalarType = {
  readonly kind: ScalarKind;
  /** Whether BYTES are a sketch in the embedded engine's format, which BigQuery can't read. */
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

/** A GoogleSQL type, with its storage for the DuckDB printer. */
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
      return `STRUCT<${type.fields.map(f => (f.name ? `${writtenName(f.name)} ` : '') + typeName(f.type)).join(', ')}>`;
    default:
      return type.kind;
  }
}

/**
 * The first kind of scalar in a type of which the printer writes no text, for JSON or FORMAT; undefined if it writes the whole type.
 */
export function kindWithoutText(type: SqlType): ScalarKind | undefined {
  if (type.kind === 'ARRAY') return kindWithoutText(type.element);
  if (type.kind === 'STRUCT') return type.fields.map(field => kindWithoutText(field.type)).find(Boolean);
  return type.kind === 'INTERVAL' || type.kind === 'BIGNUMERIC' || isRange(type.kind) ? type.kind : undefined;
}

const writtenName = (name: string) =>
  /^[a-z_]\w*$/i.test(name) ? name : `\`${name.replaceAll('`', '\\`')}\``;

/** Whether two types are the same for a caller; storage does not matter. */
export function sameType(a: SqlType, b: SqlType): boolean {
  if (a === b) return true;
  if (a.kind === 'ARRAY') return b.kind === 'ARRAY' && sameType(a.element, b.element);
  return a.kind === 'STRUCT' && b.kind === 'STRUCT' ? sameFieldTypes(a, b) : a.kind === b.kind;
}

const sameFieldTypes = comparedOnce(
  (a, b) =>
    a.fields.length === b.fields.length &&
    a.fields.every((field, i) => sameType(field.type, b.fields[i]!.type)),
);

/** STRUCTs with fewer scalars are compared in less time than remembering the result takes. */
const minRemembered = 20;

/** Makes a comparison of STRUCTs remember its results: nested records are compared at each level. */
export function comparedOnce(
  compare: (a: StructType, b: StructType) => boolean,
): (a: StructType, b: StructType) => boolean {
  const known = new WeakMap<StructType, WeakMap<StructType, boolean>>();
  return (a, b) => {
    if (leavesOf(a) < minRemembered) return compare(a, b);
    const ofFirst = known.get(a) ?? new WeakMap<StructType, boolean>();
    known.set(a, ofFirst);
    const found = ofFirst.get(b) ?? compare(a, b);
    ofFirst.set(b, found);
    return found;
  };
}

/** A type on the optional side of an outer join, with every array in it marked; the type itself if there are none. */
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

/** @throws RangeError if the type is larger than `maxPathSteps` */
export function structOf(fields: readonly StructField[]): StructType {
  const type: StructType = { kind: 'STRUCT', fields, presence: false };
  if (pathSteps(type) > maxPathSteps) throw new RangeError('Type too large');
  return type;
}

/** Maximum `pathSteps` of a STRUCT. A short text can pair a type with itself again and again. */
const maxPathSteps = 20_000;

/** How many scalars a value of a type holds, an array counted as one element. */
export const leavesOf = countOnce(1, () => 0);

/**
 * The number of fields on the paths to all scalars of a type: one per scalar in a flat record, more in nested ones. SQL that writes, casts
 * or compares each scalar grows with it.
 */
export const pathSteps = countOnce(0, leavesOf);

/** Makes a count over the scalars of a type, an array counted as one element, that is remembered for each STRUCT. */
function countOnce(ofScalar: number, ofStruct: (type: StructType) => number): (type: SqlType) => number {
  const known = new WeakMap<StructType, number>();
  return function count(type): number {
    if (type.kind === 'ARRAY') return count(type.element);
    if (type.kind !== 'STRUCT') return ofScalar;
    const found =
      known.get(type) ?? type.fields.reduce((sum, field) => sum + count(field.type), ofStruct(type));
    known.set(type, found);
    return found;
  };
}
