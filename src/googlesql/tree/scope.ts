import type { SqlPosition } from '../../base/errors.ts';
import type { BoundExpression } from './bound-tree.ts';
import { distinctStruct } from './distinct-struct.ts';
import { fieldName } from './duckdb-type.ts';
import { createExpressionKeys } from './expression-keys.ts';
import { invalidQuery } from './sql-error.ts';
import type { Identifier } from './syntax-tree.ts';
import type { StructField } from './types.ts';

/** A column in scope: its name, and the expression for which it stands. */
export type NamedValue = { readonly name: string; readonly value: BoundExpression };

/** The names of one FROM item: a table of columns, or one value (an element of UNNEST, a row of a value table) whose fields are visible too. */
export type RangeVariable = {
  /** Whether a pipe operator has hidden it: its columns are reachable only through its name. */
  readonly hidden?: true;
  /** Folded names of columns that USING has merged with others: they are reachable only through its name. */
  readonly mergedNames?: ReadonlySet<string>;
} & (
  | { readonly kind: 'table'; readonly name: string | undefined; readonly columns: readonly NamedValue[] }
  | { readonly kind: 'value'; readonly name: string | undefined; readonly value: BoundExpression }
);

/** The names that an expression can see. */
export type Scope = {
  readonly variables: readonly RangeVariable[];
  /** Columns merged by USING: one name, no ambiguity. */
  readonly merged: readonly NamedValue[];
  /** Names of the SELECT list, which win in GROUP BY, HAVING, QUALIFY and ORDER BY. */
  readonly aliases: readonly NamedValue[];
  /** The scope of the enclosing query. */
  readonly parent?: Scope;
};

export const emptyScope: Scope = { variables: [], merged: [], aliases: [] };

/** Names differ in the case of ASCII letters alone: the Kelvin sign is no `k`, to BigQuery either. */
export const foldName = (name: string): string => name.replace(/[A-Z]+/g, letters => letters.toLowerCase());

export const sameName = (a: string | undefined, b: string | undefined): boolean =>
  a === b ? a !== undefined : a?.length === b?.length && foldName(a ?? '') === foldName(b ?? '');

/** The meaning of the first part of a path: a value, or a table whose columns follow. */
export type Resolved =
  | { readonly kind: 'value'; readonly value: BoundExpression }
  | { readonly kind: 'table'; readonly variable: Extract<RangeVariable, { kind: 'table' }> };

/**
 * Finds a name, innermost query first. In one query: an output alias (where they count), then a FROM alias,
 * then a column merged by USING, then a column or an exposed field.
 * @throws GatewayError `invalid_query` when two columns carry the name
 */
export function resolveName(scope: Scope, identifier: Identifier): Resolved | undefined {
  const key = foldName(identifier.name);
  const names = known.get(scope) ?? new Map<string, Resolved | undefined>();
  known.set(scope, names);
  if (names.has(key)) return names.get(key);
  const found = resolveInLevel(scope, identifier) ?? (scope.parent && resolveName(scope.parent, identifier));
  names.set(key, found);
  return found;
}

/** Resolved names: a text may use a name often, over many tables and below many queries. */
const known = new WeakMap<Scope, Map<string, Resolved | undefined>>();

/** The names that an expression can use, innermost query first; for messages. */
export function* namesInScope(scope: Scope): Iterable<string> {
  for (let level: Scope | undefined = scope; level; level = level.parent) {
    yield* namesOf(level.aliases);
    yield* namesOf(level.merged);
    for (const variable of level.variables) {
      if (variable.name !== undefined) yield variable.name;
      yield* namesOf(columnsOf(variable));
    }
  }
}

/** The columns that an expression can use, innermost query first; for messages. */
export function* columnsInScope(scope: Scope): Iterable<StructField> {
  for (let level: Scope | undefined = scope; level; level = level.parent) {
    for (const variable of level.variables) {
      for (const { name, value } of columnsOf(variable)) yield { name, type: value.type };
    }
  }
}

export function* namesOf(named: Iterable<{ readonly name: string }>): Iterable<string> {
  for (const { name } of named) if (name !== '') yield name;
}

function resolveInLevel(scope: Scope, identifier: Identifier): Resolved | undefined {
  const { name } = identifier;
  const alias = onlyOne(columnsOfName(scope.aliases, name), identifier);
  if (alias) return { kind: 'value', value: alias.value };
  const variable = variableOfName(scope.variables, foldName(name));
  if (variable)
    return variable.kind === 'table' ? { kind: 'table', variable } : { kind: 'value', value: variable.value };
  const column = onlyOne(columnsNamed(scope, name), identifier);
  return column && { kind: 'value', value: column.value };
}

const variableIndexes = new WeakMap<readonly RangeVariable[], ReadonlyMap<string, RangeVariable>>();

/** @param key a folded name */
function variableOfName(variables: readonly RangeVariable[], key: string): RangeVariable | undefined {
  let index = variableIndexes.get(variables);
  if (!index) {
    const byName = new Map<string, RangeVariable>();
    // The first variable of a name wins.
    for (const variable of variables.toReversed())
      if (variable.name !== undefined) byName.set(foldName(variable.name), variable);
    index = byName;
    variableIndexes.set(variables, index);
  }
  return index.get(key);
}

const knownColumns = new WeakMap<Scope, Map<string, readonly NamedValue[]>>();

/** Every column or exposed field of a name, over all FROM items; those that USING has merged count as one. Each is looked for once. */
export function columnsNamed(scope: Scope, name: string): readonly NamedValue[] {
  const key = foldName(name);
  const names = knownColumns.get(scope) ?? new Map<string, readonly NamedValue[]>();
  knownColumns.set(scope, names);
  const known = names.get(key);
  if (known) return known;
  const columns = [...columnsOfKey(scope.merged, key)];
  let mergedNames: RangeVariable['mergedNames'];
  let isMerged = false;
  for (const variable of scope.variables) {
    // Neighbouring tables share the set.
    if (variable.mergedNames !== mergedNames) {
      ({ mergedNames } = variable);
      isMerged = mergedNames?.has(key) ?? false;
    }
    if (variable.hidden || isMerged) continue;
    for (const column of columnsOfKey(columnsOf(variable), key)) columns.push(column);
  }
  names.set(key, columns);
  return columns;
}

const indexes = new WeakMap<readonly NamedValue[], ReadonlyMap<string, readonly NamedValue[]>>();

/** The columns of a name in a list, which is indexed once. */
export function columnsOfName(columns: readonly NamedValue[], name: string): readonly NamedValue[] {
  return columnsOfKey(columns, foldName(name));
}

/** @param key a folded name */
function columnsOfKey(columns: readonly NamedValue[], key: string): readonly NamedValue[] {
  let index = indexes.get(columns);
  if (!index) {
    index = Map.groupBy(columns, column => foldName(column.name));
    indexes.set(columns, index);
  }
  return index.get(key) ?? none;
}

const none: readonly NamedValue[] = [];

const exposed = new WeakMap<RangeVariable, readonly NamedValue[]>();

/** The columns of a FROM item; an element that is not a STRUCT has only itself. */
export function columnsOf(variable: RangeVariable): readonly NamedValue[] {
  if (variable.kind === 'table') return variable.columns;
  const { value } = variable;
  if (value.type.kind !== 'STRUCT') return none;
  const known = exposed.get(variable);
  if (known) return known;
  const columns = value.type.fields.map(
    ({ name, type }, index): NamedValue => ({
      name,
      value: { kind: 'field', type, of: value, name: fieldName(name, index) },
    }),
  );
  exposed.set(variable, columns);
  return columns;
}

const rowValues = new WeakMap<readonly NamedValue[], BoundExpression>();

/**
 * A whole row of a table as one value: `select t from t`.
 * @throws GatewayError `invalid_query` where two columns have one name
 */
export function rowValue(columns: readonly NamedValue[], at: SqlPosition): BoundExpression {
  const known = rowValues.get(columns);
  if (known) return known;
  const type = distinctStruct(
    columns.map(({ name, value }) => ({ name, type: value.type })),
    at,
  );
  const row: BoundExpression = { kind: 'struct', type, values: columns.map(column => column.value) };
  rowValues.set(columns, row);
  return row;
}

/** Two FROM scopes side by side, as a join leaves them. */
export function joinScopes(left: Scope, right: Scope, at: SqlPosition): Scope {
  const names = new Set(left.variables.map(({ name }) => name !== undefined && foldName(name)));
  for (const { name } of right.variables) {
    if (name !== undefined && names.has(foldName(name))) {
      throw invalidQuery(`Duplicate table alias ${name} in the same FROM clause`, at);
    }
  }
  return {
    ...left,
    variables: [...left.variables, ...right.variables],
    merged: [...left.merged, ...right.merged],
  };
}

function onlyOne(columns: readonly NamedValue[], { name, at }: Identifier): NamedValue | undefined {
  if (columns.length > 1 && isAmbiguous(columns)) throw invalidQuery(`Column name ${name} is ambiguous`, at);
  return columns[0];
}

const ambiguous = new WeakMap<readonly NamedValue[], boolean>();

/** The same expression twice under the same name is not ambiguous: `select x, x … order by x`. */
function isAmbiguous(columns: readonly NamedValue[]): boolean {
  const known = ambiguous.get(columns);
  if (known !== undefined) return known;
  const keyOf = createExpressionKeys();
  const first = keyOf(columns[0]!.value);
  const found = columns.some(({ value }) => keyOf(value) !== first);
  ambiguous.set(columns, found);
  return found;
}

/**
 * The names of a SELECT that are still in scope after DISTINCT, which keeps only the selected values. Names of outer queries are not.
 * @param placeOf returns the new place of a value; undefined for one that was not selected
 */
export function onlySelected(
  { aliases, merged, variables }: Scope,
  placeOf: (value: BoundExpression) => BoundExpression | undefined,
): Scope {
  const left = (columns: readonly NamedValue[]) =>
    columns.flatMap(({ name, value }) => {
      const place = placeOf(value);
      return place ? [{ name, value: place }] : [];
    });
  const variableLeft = (variable: RangeVariable): RangeVariable => {
    const value = variable.kind === 'value' ? placeOf(variable.value) : undefined;
    if (value) return { kind: 'value', name: variable.name, value };
    return { kind: 'table', name: variable.name, columns: left(columnsOf(variable)) };
  };
  return {
    ...emptyScope,
    aliases: left(aliases),
    merged: left(merged),
    variables: variables.map(variableLeft),
  };
}
