import type { SqlPosition } from '../../base/errors.ts';
import { type BoundExpression, unsupportedCall } from './bound-tree.ts';
import { isPath } from './query-reads.ts';
import { onlyOnWarehouse, type Unsupported, UnsupportedSql } from './sql-error.ts';
import { type ArrayType, arrayOf, comparedOnce, type SqlType, type StructType } from './types.ts';
import { childrenOf } from './walk-bound-tree.ts';

/** Why an expression that depends on whether an array is NULL or empty is unsupported: if the two are stored alike. */
export function unclearArray(value: BoundExpression, what: string, at: SqlPosition): Unsupported | undefined {
  if (value.type.kind !== 'ARRAY' || nullsOf(value) !== 'UNCLEAR') return undefined;
  const { reason } = onlyOnWarehouse(what, at);
  const where = 'for an array that an outer join or a missing element may leave out';
  return { ...reason, message: `${reason.message} ${where}` };
}

/** @throws UnsupportedSql where `unclearArray` has a reason */
export function refuseOuterArray(value: BoundExpression, what: string, at: SqlPosition): void {
  const unclear = unclearArray(value, what, at);
  if (unclear) throw new UnsupportedSql(unclear);
}

const knownNulls = new WeakMap<BoundExpression, { readonly nulls: ArrayType['nulls'] }>();

/** The `ArrayType.nulls` of the column that a value becomes. */
export function nullsOf(value: BoundExpression): ArrayType['nulls'] {
  if (value.type.kind !== 'ARRAY') return undefined;
  // Each enclosing call asks again, about everything below.
  const known = knownNulls.get(value) ?? { nulls: nullsOfArray(value, value.type) };
  knownNulls.set(value, known);
  return known.nulls;
}

function nullsOfArray(value: BoundExpression, type: ArrayType): ArrayType['nulls'] {
  if (value.kind === 'named') return nullsOf(value.value);
  if (value.kind === 'column') return type.nulls;
  // A subquery without rows is NULL, which looks like a stored empty array.
  if (value.kind === 'subquery' && value.form === 'SCALAR') return type.nulls === 'NULL' ? 'NULL' : 'UNCLEAR';
  // On any other way to a field something may be NULL.
  if (value.kind === 'field') return isPath(value) ? type.nulls : 'UNCLEAR';
  if (value.kind === 'cast' && type.nulls) return type.nulls;
  return type.single || childrenOf(value).some(holdsStoredArray) ? 'UNCLEAR' : 'NULL';
}

/** The type of a value as a column or a field, where its origin is no longer known. */
export function typeAsPart(value: BoundExpression): SqlType {
  return value.type.kind === 'ARRAY' ? { ...value.type, nulls: nullsOf(value) } : value.type;
}

const holdsStoredArray = (value: BoundExpression): boolean =>
  value.type.kind === 'ARRAY' && nullsOf(value) !== 'NULL';

/** Whether an expression is the array literal without elements and without a type of its own: `[]`. */
export function isEmptyArray(expression: BoundExpression): boolean {
  return (
    expression.kind === 'array' &&
    expression.elements.length === 0 &&
    expression.type.kind === 'ARRAY' &&
    expression.type.element.kind === 'NULL'
  );
}

/**
 * An array in the form for functions: a LIST that is NULL only if the array is NULL or that is unclear. Other values are unchanged.
 */
export function asComputed(value: BoundExpression): BoundExpression {
  const { type } = value;
  if (type.kind !== 'ARRAY' || isEmptyArray(value) || value.kind === 'null') return value;
  const nulls = nullsOf(value) ?? 'NULL';
  if (!type.single && nullsOf(value) === nulls) return value;
  return { kind: 'cast', type: { ...type, single: false, nulls }, of: value, safe: false };
}

/**
 * A value in a form in which values that are equal in BigQuery are equal in DuckDB: without parts that only storage needs, NULL as NULL, an
 * empty array as such. Unsupported if it is unclear whether an array in it is NULL or empty.
 */
export function canonical(value: BoundExpression, at: SqlPosition): BoundExpression {
  if (isEmptyArray(value) || value.kind === 'null') return value;
  const type = typeAsPart(value);
  if (isCanonical(type)) return value;
  if (!holdsUnclear(type)) return { kind: 'cast', type: canonicalOf(type), of: value, safe: false };
  const { reason } = onlyOnWarehouse(
    'Comparing arrays that an outer join or a missing element may leave out',
    at,
  );
  return unsupportedCall(reason, canonicalOf(type), [value]);
}

const isCanonical = (type: SqlType): boolean => {
  if (type.kind === 'ARRAY') return !type.single && type.nulls === 'NULL' && isCanonical(type.element);
  return type.kind !== 'STRUCT' || (!type.presence && type.fields.every(field => isCanonical(field.type)));
};

/** Whether a type contains an array that may be NULL or empty without a way to tell which, see `ArrayType.nulls`. */
export function holdsUnclear(type: SqlType): boolean {
  if (type.kind === 'ARRAY') return type.nulls === 'UNCLEAR' || holdsUnclear(type.element);
  return type.kind === 'STRUCT' && type.fields.some(field => holdsUnclear(field.type));
}

function canonicalOf(type: SqlType): SqlType {
  if (type.kind === 'ARRAY')
    return { kind: 'ARRAY', single: false, nulls: 'NULL', element: canonicalOf(type.element) };
  if (type.kind !== 'STRUCT') return type;
  const fields = type.fields.map(field => ({ ...field, type: canonicalOf(field.type) }));
  return { kind: 'STRUCT', presence: false, fields };
}

/** The same type without `single` and `presence` anywhere in it. */
export function plainStorage(type: SqlType): SqlType {
  if (type.kind === 'ARRAY') return arrayOf(plainStorage(type.element));
  if (type.kind !== 'STRUCT') return type;
  const fields = type.fields.map(field => {
    const plain = plainStorage(field.type);
    const isArray = plain.kind === 'ARRAY' && field.type.kind === 'ARRAY';
    return { ...field, type: isArray ? { ...plain, nulls: field.type.nulls } : plain };
  });
  return { kind: 'STRUCT', fields, presence: false };
}

/** Whether two types are one DuckDB type: storage tricks and field names count. */
export function sameStorage(a: SqlType, b: SqlType): boolean {
  if (a === b) return true;
  if (a.kind === 'ARRAY')
    return b.kind === 'ARRAY' && a.single === b.single && sameStorage(a.element, b.element);
  return a.kind === 'STRUCT' && b.kind === 'STRUCT' ? sameFields(a, b) : a.kind === b.kind;
}

const sameFields = comparedOnce(
  (a, b) =>
    a.presence === b.presence &&
    a.fields.length === b.fields.length &&
    a.fields.every((f, i) => f.name === b.fields[i]!.name && sameStorage(f.type, b.fields[i]!.type)),
);

/** A type whose arrays within structs say what NULL means in both of two types. */
export function commonNulls(a: SqlType, b: SqlType): SqlType {
  if (a === b) return a;
  if (a.kind === 'ARRAY' && b.kind === 'ARRAY') return { ...a, element: commonNulls(a.element, b.element) };
  if (a.kind !== 'STRUCT' || b.kind !== 'STRUCT' || a.fields.length !== b.fields.length) return a;
  // Not a new type for each level of nested records, which would be compared again there.
  if (sameNulls(a, b)) return a;
  const fields = a.fields.map((field, i) => {
    const [type, other] = [commonNulls(field.type, b.fields[i]!.type), b.fields[i]!.type];
    if (type.kind !== 'ARRAY' || other.kind !== 'ARRAY' || type.nulls === other.nulls)
      return { ...field, type };
    return { ...field, type: { ...type, nulls: 'UNCLEAR' as const } };
  });
  return { ...a, fields };
}

const sameNulls: (a: StructType, b: StructType) => boolean = comparedOnce((a, b) =>
  a.fields.every(({ type }, i) => {
    let [own, other] = [type, b.fields[i]?.type];
    for (; own.kind === 'ARRAY' && other?.kind === 'ARRAY'; [own, other] = [own.element, other.element])
      if (own.nulls !== other.nulls) return false;
    return own.kind !== 'STRUCT' || other?.kind !== 'STRUCT' || sameNulls(own, other);
  }),
);
