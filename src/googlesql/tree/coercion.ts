import type { SqlPosition } from '../../base/errors.ts';
import { readTemporal } from '../times/read-temporal.ts';
import { type BoundExpression, unsupportedCall } from './bound-tree.ts';
import { tryWith } from './let-in.ts';
import { invalidQuery, onlyOnWarehouse } from './sql-error.ts';
import { asComputed, commonNulls, isEmptyArray, nullsOf, plainStorage, sameStorage } from './storage.ts';
import { arrayOf, type SqlType, type StructType, sameType, scalar, structOf, typeName } from './types.ts';

const numericRank: Readonly<Record<string, number>> = { INT64: 1, NUMERIC: 2, BIGNUMERIC: 3, FLOAT64: 4 };
const temporalKinds = ['TIMESTAMP', 'DATETIME', 'DATE', 'TIME'];

/** From → to, for implicit casts. Literals and NULL can be cast to more types. */
const implicitCasts: Readonly<Record<string, readonly string[]>> = {
  INT64: ['NUMERIC', 'BIGNUMERIC', 'FLOAT64'],
  NUMERIC: ['BIGNUMERIC', 'FLOAT64'],
  BIGNUMERIC: ['FLOAT64'],
  DATE: ['DATETIME'],
};

/** From → to, for explicit casts. Source: GoogleSQL, "Conversion rules". */
const explicitCasts: Readonly<Record<string, readonly string[]>> = {
  INT64: ['BOOL', 'STRING', 'NUMERIC', 'BIGNUMERIC', 'FLOAT64'],
  NUMERIC: ['INT64', 'STRING', 'BIGNUMERIC', 'FLOAT64'],
  BIGNUMERIC: ['INT64', 'STRING', 'NUMERIC', 'FLOAT64'],
  FLOAT64: ['INT64', 'STRING', 'NUMERIC', 'BIGNUMERIC'],
  BOOL: ['INT64', 'STRING'],
  STRING: ['INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC', 'BOOL', 'BYTES', ...temporalKinds],
  BYTES: ['STRING'],
  DATE: ['STRING', 'DATETIME', 'TIMESTAMP'],
  DATETIME: ['STRING', 'DATE', 'TIME', 'TIMESTAMP'],
  TIME: ['STRING'],
  TIMESTAMP: ['STRING', 'DATE', 'DATETIME', 'TIME'],
  INTERVAL: ['STRING'],
  'RANGE<DATE>': ['STRING'],
  'RANGE<DATETIME>': ['STRING'],
  'RANGE<TIMESTAMP>': ['STRING'],
};

const isTemporal = (type: SqlType): boolean => temporalKinds.includes(type.kind);

/**
 * The cost of coercing an expression to a type: 0 if it has that type, 1 if it can be coerced, 2 if it then loses digits, undefined if it
 * can't.
 */
export function coercionCost(from: BoundExpression, to: SqlType): Cost | undefined {
  // STRUCTs are compared field by field below; doing it here too would repeat that at each level.
  if (from.type.kind === 'STRUCT' && to.kind === 'STRUCT') return fieldsCost(from, from.type, to);
  if (sameType(from.type, to)) return 0;
  if (from.type.kind === 'NULL') return 1;
  if (isEmptyArray(from) && to.kind === 'ARRAY') return 1;
  if (from.type.kind === 'NUMERIC' && to.kind === 'FLOAT64') return 2;
  if (implicitCasts[from.type.kind]?.includes(to.kind)) return 1;
  const isText = from.type.kind === 'STRING' && (from.kind === 'literal' || from.kind === 'parameter');
  if (isText && isTemporal(to)) return 1;
  if (from.kind === 'literal' && from.type.kind === 'FLOAT64' && to.kind === 'NUMERIC') return 1;
  if (!isLiteralArray(from) || to.kind !== 'ARRAY') return undefined;
  return mostOf(
    1,
    from.elements.map(part => coercionCost(part, to.element)),
  );
}

type Cost = 0 | 1 | 2;

/** A STRUCT becomes another field by field. */
function fieldsCost(value: BoundExpression, from: StructType, to: StructType): Cost | undefined {
  if (from === to || (value.kind !== 'struct' && sameType(from, to))) return 0;
  if (from.fields.length !== to.fields.length) return undefined;
  const costs = structParts(value).map((part, i) => {
    const { type } = to.fields[i]!;
    if (part === bareNull && sameType(from.fields[i]!.type, type)) return 0;
    const isWritten = isLiteralArray(part) && part.elements.length > 0;
    return coercionCost(isWritten ? anyValueOf(part.type) : part, type);
  });
  return mostOf(0, costs);
}

function mostOf(least: Cost, costs: readonly (Cost | undefined)[]): Cost | undefined {
  let most = least;
  for (const cost of costs) {
    if (cost === undefined) return undefined;
    if (cost > most) most = cost;
  }
  return most;
}

/** The fields of a STRUCT: the arguments of its constructor, or placeholders of their types. */
function structParts(value: BoundExpression): readonly BoundExpression[] {
  if (value.kind === 'struct')
    return value.values.map(part => (part.kind === 'null' && part.isBare ? bareNull : part));
  return value.type.kind === 'STRUCT' ? value.type.fields.map(({ type }) => anyValueOf(type)) : [];
}

const noType = scalar('NULL');
const bareNull: BoundExpression = { kind: 'null', type: noType };

/** A placeholder for any value of a type. */
export const anyValueOf = (type: SqlType): BoundExpression => ({
  kind: 'column',
  type,
  relation: 0,
  index: 0,
});

function isLiteralArray(value: BoundExpression): value is Extract<BoundExpression, { kind: 'array' }> {
  return value.kind === 'array' && value.elements.every(({ kind }) => kind === 'literal' || kind === 'null');
}

/** Coerces an expression to a type. @throws BigQuery's error if `coercionCost` does not allow it */
export function coerce(from: BoundExpression, to: SqlType, at: SqlPosition): BoundExpression {
  if (from.kind === 'struct' && sameStorage(from.type, to)) return from;
  if (to.kind !== 'NULL' && from.kind !== 'null' && coercionCost(from, to) === undefined)
    throw invalidQuery(`Could not cast ${typeName(from.type)} to type ${typeName(to)}`, at);
  return coerced(from, to, at);
}

/** Coerces an expression all of whose parts are known to be coercible. */
function coerced(from: BoundExpression, to: SqlType, at: SqlPosition): BoundExpression {
  if (to.kind === 'NULL') return from;
  if (from.kind === 'null') return { kind: 'null', type: to };
  if (isEmptyArray(from) && to.kind === 'ARRAY')
    return { kind: 'array', type: arrayOf(to.element), elements: [] };
  if (sameStorage(from.type, to)) return from;
  if (from.kind === 'literal' && isTemporal(to)) return temporalLiteral(from.value, to, at);
  if (from.kind === 'struct' && to.kind === 'STRUCT' && !to.presence) {
    const values = from.values.map((value, i) => coerced(value, to.fields[i]!.type, at));
    return { kind: 'struct', type: to, values };
  }
  if (isLiteralArray(from) && to.kind === 'ARRAY' && !sameType(from.type, to))
    return { kind: 'array', type: to, elements: from.elements.map(part => coerced(part, to.element, at)) };
  return { kind: 'cast', type: to, of: from, safe: false };
}

/**
 * The one type that every expression can become, NULL when all of them are bare NULLs.
 * @returns undefined when there is none
 */
export function supertype(expressions: readonly BoundExpression[]): SqlType | undefined {
  // The usual case.
  const only = onlyScalar(expressions) ?? onlyStruct(expressions);
  if (only) return only;
  const goal = commonType(expressions);
  // The types of its fields have been found one by one.
  if (!goal || (goal.kind === 'STRUCT' && !allFit(expressions, goal))) return undefined;
  const nulls = expressions
    .filter(e => e.type.kind === goal.kind)
    .reduce((type, e) => commonNulls(type, e.type), goal);
  return plainWhenMixed(nulls, expressions);
}

/** The scalar type of all expressions except bare NULLs; undefined if there are several types, or types with parts. */
function onlyScalar(expressions: readonly BoundExpression[]): SqlType | undefined {
  let only: SqlType = noType;
  for (const { type } of expressions) {
    if (type.kind === 'ARRAY' || type.kind === 'STRUCT') return undefined;
    if (only.kind === 'NULL') only = type;
    else if (type.kind !== only.kind && type.kind !== 'NULL') return undefined;
  }
  return only;
}

/** The type of STRUCTs with the same storage; undefined if it differs, or they are not STRUCTs. */
function onlyStruct(expressions: readonly BoundExpression[]): SqlType | undefined {
  const { type } = expressions[0]!;
  if (type.kind !== 'STRUCT' || !expressions.every(each => sameStorage(type, each.type))) return undefined;
  return expressions.reduce<SqlType>((all, each) => commonNulls(all, each.type), type);
}

const allFit = (expressions: readonly BoundExpression[], type: SqlType): boolean =>
  expressions.every(e => coercionCost(e, type) !== undefined);

function commonType(expressions: readonly BoundExpression[]): SqlType | undefined {
  // The empty array literal takes the element type of the other expressions.
  const weaker = new Set(expressions.filter(isEmptyArray).map(({ type }) => type));
  let candidate: SqlType = scalar('NULL');
  for (const { type } of expressions) {
    if (candidate.kind === 'NULL' || (weaker.has(candidate) && !weaker.has(type))) candidate = type;
    else if (isWider(type, candidate)) candidate = type;
  }
  if (candidate.kind === 'STRUCT') {
    const isOne = expressions.every(({ type }) => type.kind === 'NULL' || sameType(type, candidate));
    return isOne ? candidate : commonParts(expressions);
  }
  const strongest = expressions.find(e => isTemporal(e.type))?.type;
  // A literal with a point does not turn NUMERIC into FLOAT64.
  const exact = expressions.find(e => candidate.kind === 'FLOAT64' && e.type.kind === 'NUMERIC')?.type;
  const goals = [
    ...(exact ? [exact] : []),
    candidate,
    ...(candidate.kind === 'STRING' && strongest ? [strongest] : []),
    // An array of literals takes the type of a calculated one.
    ...expressions.filter(e => e.type.kind === 'ARRAY' && !isLiteralArray(e)).map(e => e.type),
  ];
  return goals.find(goal => allFit(expressions, goal)) ?? commonParts(expressions);
}

/** The type whose fields or elements are the supertypes of those of all expressions. */
function commonParts(expressions: readonly BoundExpression[]): SqlType | undefined {
  const values = expressions.filter(({ type }) => type.kind !== 'NULL');
  const [first] = values;
  if (first?.type.kind === 'ARRAY' && values.every(isLiteralArray)) {
    const element = commonType(values.flatMap(value => value.elements));
    return element && arrayOf(element);
  }
  if (first?.type.kind !== 'STRUCT') return undefined;
  const { fields } = first.type;
  const rows = values.map(structParts);
  if (rows.some(parts => parts.length !== fields.length)) return undefined;
  const types = fields.map((_, i) => commonType(rows.map(parts => parts[i]!)));
  if (!types.every(type => type !== undefined)) return undefined;
  return structOf(fields.map(({ name }, i) => ({ name, type: types[i]! })));
}

/** Coerces expressions to their supertype. */
export function unify(
  expressions: readonly BoundExpression[],
  what: string,
  at: SqlPosition,
): { readonly type: SqlType; readonly values: readonly BoundExpression[] } {
  const type = supertype(expressions);
  if (!type) {
    const names = expressions.map(e => typeName(e.type)).join(', ');
    throw invalidQuery(`No matching signature for ${what} for argument types: ${names}`, at);
  }
  return { type, values: expressions.map(e => coerce(e, type, at)) };
}

const concatenated = ['INT64', 'FLOAT64', 'NUMERIC', 'BOOL', ...temporalKinds];

/** The operands of `||` and CONCAT: types other than STRING are cast, unless there are BYTES. */
export function concatenable(
  values: readonly BoundExpression[],
  at: SqlPosition,
): readonly BoundExpression[] {
  if (values.some(({ type }) => type.kind === 'BYTES')) return values;
  return values.map(value =>
    concatenated.includes(value.type.kind) ? cast(value, scalar('STRING'), false, at) : value,
  );
}

/** An explicit CAST or SAFE_CAST. */
export function cast(of: BoundExpression, to: SqlType, safe: boolean, at: SqlPosition): BoundExpression {
  // No DuckDB type has 38 digits after the point.
  if (to.kind === 'BIGNUMERIC' && explicitCasts[of.type.kind]?.includes(to.kind)) {
    return unsupportedCall(onlyOnWarehouse('BIGNUMERIC', at).reason, to, [of]);
  }
  if (of.kind === 'null') return { kind: 'null', type: to };
  if (sameType(of.type, to) || isEmptyArray(of)) return coerce(of, to, at);
  if (of.kind === 'struct' && to.kind === 'STRUCT' && of.values.length === to.fields.length) {
    const values = of.values.map((value, i) => cast(value, to.fields[i]!.type, safe, at));
    return { kind: 'struct', type: to, values };
  }
  if (!castable(of.type, to))
    throw invalidQuery(`Invalid cast from ${typeName(of.type)} to ${typeName(to)}`, at);
  if (of.kind === 'literal' && of.type.kind === 'STRING' && isTemporal(to) && !safe) {
    return temporalLiteral(of.value, to, at);
  }
  if (to.kind !== 'STRUCT' && to.kind !== 'ARRAY') return { kind: 'cast', type: to, of, safe };
  const whole = asComputed(of);
  const type = to.kind === 'ARRAY' ? { ...to, nulls: nullsOf(whole) } : to;
  // If one part fails to cast, the whole value is NULL; evaluating the parts may still fail.
  const parts = (of: BoundExpression): BoundExpression => ({ kind: 'cast', type, of, safe: false });
  return safe ? tryWith([whole], ([named]) => parts(named!)) : parts(whole);
}

/** Whether CAST can convert one type to another: arrays by their elements, structs field by field whatever the names. */
function castable(from: SqlType, to: SqlType): boolean {
  if (from.kind === 'NULL' || sameType(from, to)) return true;
  if (from.kind === 'ARRAY') return to.kind === 'ARRAY' && castable(from.element, to.element);
  if (from.kind !== 'STRUCT')
    return to.kind !== 'BIGNUMERIC' && Boolean(explicitCasts[from.kind]?.includes(to.kind));
  return (
    to.kind === 'STRUCT' &&
    from.fields.length === to.fields.length &&
    from.fields.every(({ type }, i) => castable(type, to.fields[i]!.type))
  );
}

/** A literal of a date or time type, checked here instead of when the query runs. */
export function temporalLiteral(text: string, type: SqlType, at: SqlPosition): BoundExpression {
  const value = readTemporal(text, type.kind);
  if (value === undefined) {
    throw invalidQuery(`Could not cast literal ${JSON.stringify(text)} to type ${typeName(type)}`, at);
  }
  return { kind: 'literal', type, value };
}

function isWider(type: SqlType, than: SqlType): boolean {
  const ranks = [numericRank[type.kind], numericRank[than.kind]];
  if (ranks[0] !== undefined && ranks[1] !== undefined) return ranks[0] > ranks[1];
  return implicitCasts[than.kind]?.includes(type.kind) ?? false;
}

/** Values with different storage are converted to the plain form. */
function plainWhenMixed(type: SqlType, expressions: readonly BoundExpression[]): SqlType {
  const isMixed = expressions.some(e => e.type.kind === type.kind && !sameStorage(e.type, type));
  return isMixed || expressions.some(isEmptyArray) ? plainStorage(type) : type;
}
