import type { SqlPosition } from '../../base/errors.ts';
import { type BoundExpression, call, joinConditions, unsupportedCall } from '../tree/bound-tree.ts';
import { anyValueOf, coerce, supertype } from '../tree/coercion.ts';
import { fieldName } from '../tree/duckdb-type.ts';
import { isPlainConstant, isRepeatable } from '../tree/let-in.ts';
import { inTemplate, quoteName } from '../tree/quote-text.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import { canonical } from '../tree/storage.ts';
import {
  leavesOf,
  pathSteps,
  type SqlType,
  type StructField,
  type StructType,
  scalar,
  typeName,
} from '../tree/types.ts';

const bool = scalar('BOOL');

/** Maximum scalars in a compared value, each of which is a separate comparison, and maximum `pathSteps`. */
const [maxComparedLeaves, maxComparedSteps] = [500, 2000];

export const isNested = ({ kind }: SqlType): boolean => kind === 'STRUCT' || kind === 'ARRAY';

/** The comparison of two scalars, for fields: `operator` of operators.ts. */
export type Compare = (name: string, values: readonly BoundExpression[], at: SqlPosition) => BoundExpression;

/**
 * `=` of two STRUCTs or ARRAYs: false if a pair of parts differs, else NULL if a pair is unknown. DuckDB's own treats two NULLs
 * as equal, and fails for fields with different names.
 */
export function nestedEquality(
  values: readonly BoundExpression[],
  compare: Compare,
  at: SqlPosition,
): BoundExpression {
  const [left, right] = sameKind('=', values, at);
  if (left!.kind === 'call' && left!.unsupported)
    return unsupportedCall(left!.unsupported, bool, [left!, right!]);
  if (left!.type.kind === 'ARRAY')
    return call('ARRAY =', equalText(left!.type, '$1', '$2'), [left!, right!], bool);
  const names = createNames(isRepeatable);
  const [first, second] = [names.parts(left!), names.parts(right!)];
  const tests = first.map((part, i) => compare('=', [part, second[i]!], at));
  return names.around(joinConditions('AND', tests));
}

/** IS DISTINCT FROM, for which two NULLs are equal anywhere in a value, as they are in DuckDB. */
export function nestedDistinction(values: readonly BoundExpression[], at: SqlPosition): BoundExpression {
  const both = sameKind('IS DISTINCT FROM', values, at).map(value => canonical(value, at));
  return call('IS DISTINCT FROM', '($1 is distinct from $2)', both, bool);
}

/** `x IN UNNEST(array)` of STRUCTs. */
export function nestedInArray(of: BoundExpression, array: BoundExpression, at: SqlPosition): BoundExpression {
  const element = array.type.kind === 'ARRAY' ? array.type.element : scalar('NULL');
  const [value, something] = sameKind('IN UNNEST', [of, anyValueOf(element)], at);
  const { type } = something!;
  const list = coerce(array, { kind: 'ARRAY', element: type, single: false, nulls: 'NULL' }, at);
  // DuckDB's lambdas can't contain columns of an enclosing query: everything but constants gets a name.
  const names = createNames(isPlainConstant);
  const parts = names.parts(value!).map(part => canonical(part, at));
  const elements = names.name(canonical(list, at));
  const fields = type.kind === 'STRUCT' ? type.fields : [];
  const tests = fields.map((field, i) => equalText(field.type, `\${${i + 1}}`, `e.${fieldText(field, i)}`));
  const template =
    `list_extract(list_transform([list_transform(\${${fields.length + 1}}, lambda e: ${tests.join(' and ')})], lambda tests: ` +
    'case when coalesce(len(tests), 0) = 0 then false when list_contains(tests, true) then true ' +
    'when list_count(tests) < len(tests) then null else false end), 1)';
  return names.around(call('STRUCT IN UNNEST', template, [...parts, elements], bool));
}

/** Converts two values to one type. @throws BigQuery's error if there is none */
function sameKind(
  name: string,
  values: readonly BoundExpression[],
  at: SqlPosition,
): readonly BoundExpression[] {
  const type = supertype(values);
  if (!type || !values.every(value => isNested(value.type) || value.type.kind === 'NULL')) {
    const types = values.map(value => typeName(value.type)).join(', ');
    throw invalidQuery(`No matching signature for operator ${name} for argument types: ${types}`, at);
  }
  if (holdsKind(type, 'JSON'))
    throw invalidQuery(`Equality is not defined for arguments of type ${typeName(type)}`, at);
  if (leavesOf(type) > maxComparedLeaves || pathSteps(type) > maxComparedSteps) {
    const what =
      leavesOf(type) > maxComparedLeaves
        ? `Comparing values of more than ${maxComparedLeaves} fields`
        : 'Comparing values of many fields so deep in records';
    const { reason } = onlyOnWarehouse(what, at);
    return values.map(value => unsupportedCall(reason, type, [value]));
  }
  return values.map(value => {
    const coerced = coerce(value, type, at);
    return type.kind === 'ARRAY' ? canonical(coerced, at) : coerced;
  });
}

/** Whether a kind of scalar is in a type. */
export const holdsKind = (type: SqlType, kind: string): boolean => kindsOf(type).has(kind);

/** The kinds of scalars in a type. */
export function kindsOf(type: SqlType): ReadonlySet<string> {
  if (type.kind === 'ARRAY') return kindsOf(type.element);
  return type.kind === 'STRUCT' ? kindsIn(type) : new Set([type.kind]);
}

const knownKinds = new WeakMap<StructType, ReadonlySet<string>>();

/** The kinds of scalars in a record; found once, because nested records are compared at each level. */
function kindsIn(type: StructType): ReadonlySet<string> {
  const known = knownKinds.get(type);
  if (known) return known;
  const kinds = new Set<string>();
  for (const field of type.fields) {
    let own = field.type;
    while (own.kind === 'ARRAY') own = own.element;
    if (own.kind === 'STRUCT') for (const kind of kindsIn(own)) kinds.add(kind);
    else kinds.add(own.kind);
  }
  knownKinds.set(type, kinds);
  return kinds;
}

/** Names for values, each calculated once; for the parts of a constructed STRUCT the STRUCT itself is not needed. */
function createNames(isPlain: (value: BoundExpression) => boolean) {
  const values: BoundExpression[] = [];
  const name = (value: BoundExpression): BoundExpression => {
    if (isPlain(value)) return value;
    values.push(value);
    return { kind: 'named', type: value.type, value };
  };
  return {
    name,
    parts(value: BoundExpression): readonly BoundExpression[] {
      if (value.kind === 'struct') return value.values.map(name);
      const of = name(value);
      const fields = of.type.kind === 'STRUCT' ? of.type.fields : [];
      return fields.map(({ name: field, type }, i) => ({
        kind: 'field',
        type,
        of,
        name: fieldName(field, i),
      }));
    },
    around: (body: BoundExpression): BoundExpression =>
      values.length === 0 ? body : { kind: 'let', type: body.type, values, body },
  };
}

/** A field's name in a template, escaped: callers choose it, and it may be `$1`. */
const fieldText = ({ name }: StructField, index: number) => inTemplate(quoteName(fieldName(name, index)));

/** Part of a template: `=` with BigQuery's meaning, of two texts that may be repeated cheaply. */
function equalText(type: SqlType, left: string, right: string): string {
  if (type.kind === 'FLOAT64') return `(${left} = ${right} and not (isnan(${left}) and isnan(${right})))`;
  if (type.kind === 'STRUCT') {
    const tests = type.fields.map((field, i) => {
      const name = fieldText(field, i);
      return equalText(field.type, `(${left}).${name}`, `(${right}).${name}`);
    });
    return `(${tests.join(' and ')})`;
  }
  if (type.kind !== 'ARRAY') return `(${left} = ${right})`;
  const level = depthOf(type);
  const pairs = `list_transform(list_zip(${left}, ${right}), lambda p${level}: ${equalText(type.element, `p${level}[1]`, `p${level}[2]`)})`;
  const folded =
    `list_extract(list_transform([${pairs}], lambda t${level}: case when list_contains(t${level}, false) then false ` +
    `when list_count(t${level}) < len(t${level}) then null else true end), 1)`;
  return `(case when ${left} is null or ${right} is null then null when len(${left}) <> len(${right}) then false else ${folded} end)`;
}

function depthOf(type: SqlType): number {
  if (type.kind === 'ARRAY') return 1 + depthOf(type.element);
  return type.kind === 'STRUCT' ? Math.max(0, ...type.fields.map(field => depthOf(field.type))) : 0;
}
