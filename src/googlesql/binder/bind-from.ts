import type { SqlPosition } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest-name.ts';
import { operator } from '../functions/operators.ts';
import type { BindContext, BoundSource, Environment } from '../tree/bind-context.ts';
import {
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  type BoundSubset,
  call,
  type OutputColumn,
} from '../tree/bound-tree.ts';
import { unify } from '../tree/coercion.ts';
import {
  columnsNamed,
  emptyScope,
  foldName,
  joinScopes,
  type NamedValue,
  type RangeVariable,
  resolveName,
  type Scope,
  sameName,
} from '../tree/scope.ts';
import { invalidQuery, sandboxRefused } from '../tree/sql-error.ts';
import type { FromItem, Identifier } from '../tree/syntax-tree.ts';
import { type CatalogTable, onOuterSide, type SqlType, scalar, typeName } from '../tree/types.ts';
import { bindBoolean, bindExpression } from './bind-expression.ts';
import { bindPath } from './bind-path.ts';

/** Maximum tables, arrays and subsets that a statement may name, including those of the saved query. */
const maxRelations = 200;

type JoinSyntax = Extract<FromItem, { kind: 'join' }>;
type ArrayScan = Extract<FromItem, { kind: 'unnest' | 'table' }>;

/** Binds a FROM clause from left to right: an array path sees every item before it. */
export function bindFrom(context: BindContext, item: FromItem): BoundSource {
  if (item.kind === 'join') return bindJoin(context, item);
  // The parser makes this node only for pipe operators, which bind their own input.
  if (item.kind === 'input') return context.input!;
  if (item.kind === 'pivot') return context.binder.pivot(context, item, bindFrom(context, item.of));
  if (item.kind === 'unpivot') return context.binder.unpivot(context, item, bindFrom(context, item.of));
  if (isArrayScan(context, item, emptyScope)) return bindArrayScan(context, item, undefined, undefined);
  return bindItem(context, item);
}

function bindItem(
  context: BindContext,
  item: Exclude<FromItem, { kind: 'unnest' | 'join' | 'input' | 'pivot' | 'unpivot' }>,
): BoundSource {
  const relation = nextRelation(context, item);
  if (item.kind === 'derived') {
    const query = context.binder.query(context, item.query);
    const from = { kind: 'derived', relation, query } as const;
    return { from, scope: queryScope(context, { name: item.alias?.name, relation, query, at: item.at }) };
  }
  if (item.offset) throw invalidQuery('WITH OFFSET can only be used with array scans', item.offset.at);
  const name = item.alias?.name ?? item.path.at(-1)?.name;
  const target = findTable(context, item);
  if ('query' in target) {
    context.statement.subsetReads.push(target);
    return {
      from: { kind: 'subset', relation, subset: target },
      scope: queryScope(context, { name, relation, query: target.query, at: item.at }),
    };
  }
  const columns = outputColumns(relation, target.columns);
  return {
    from: { kind: 'table', relation, table: target },
    scope: tableScope(context, { name, columns, at: item.at }),
  };
}

/**
 * Numbers a new relation.
 * @throws GatewayError `invalid_query` if there are too many: DuckDB takes seconds to plan a hundred joins, and fails with an error of its
 * own for a thousand
 */
export function nextRelation({ statement }: BindContext, { at }: Pick<FromItem, 'at'>): number {
  const relation = statement.nextId();
  if (relation <= maxRelations) return relation;
  throw invalidQuery(`The query reads too many tables; the limit is ${maxRelations}`, at);
}

/** Finds a table: the nearest subset, then the base tables, which a caller's SQL can't see. */
function findTable(
  context: BindContext,
  item: Extract<FromItem, { kind: 'table' }>,
): BoundSubset | CatalogTable {
  const key = item.path.map(part => part.name).join('.');
  let root: Environment = context.environment;
  for (let level: Environment | undefined = root; level; level = level.parent) {
    const subset = item.path.length === 1 ? level.subsets.get(foldName(key)) : undefined;
    if (subset) return subset;
    root = level;
  }
  const hint = () => didYouMean(key, [...subsetNames(context.environment), ...(root.catalog?.keys() ?? [])]);
  if (!root.catalog) {
    const rule = "; the caller's SQL can read subsets only";
    throw sandboxRefused(`Table not found: ${key}${hint() || rule}`, item.at);
  }
  const table = root.catalog.get(key);
  if (!table) throw invalidQuery(`Table not found: ${key}${hint()}`, item.at);
  const impliedAlias = item.alias ? undefined : item.path.at(-1)?.name;
  context.statement.tables.push({ name: table.name, at: item.at, impliedAlias });
  return table;
}

function* subsetNames(environment: Environment): Iterable<string> {
  for (let level: Environment | undefined = environment; level; level = level.parent) {
    for (const { name } of level.subsets.values()) yield name;
  }
}

function bindJoin(context: BindContext, item: JoinSyntax): BoundSource {
  const left = bindFrom(context, item.left);
  const isScan = isArrayScan(context, item.right, left.scope);
  const keepsElements = item.join === 'RIGHT' || item.join === 'FULL' || item.using !== undefined;
  if (isScan && !keepsElements) return bindArrayScan(context, item.right, left, item);
  if (isScan && readsFrom(context, left.scope, item.right)) {
    const what = item.using ? 'USING' : `${item.join} JOIN`;
    throw invalidQuery(
      `Array scan is not allowed with ${what} where the array depends on the left side`,
      item.at,
    );
  }
  const right = bindFrom(context, item.right);
  const [leftScope, rightScope] = item.using
    ? [left.scope, right.scope].map(scopeWithMerged(item.using))
    : [left.scope, right.scope];
  const scope = joinScopes(
    item.join === 'RIGHT' || item.join === 'FULL' ? outerScope(leftScope!) : leftScope!,
    item.join === 'LEFT' || item.join === 'FULL' ? outerScope(rightScope!) : rightScope!,
    item.right.at,
  );
  if (item.using) return bindUsing(item, item.using, left, right, scope);
  if (!item.on && item.join !== 'CROSS') {
    throw invalidQuery(`${item.join} JOIN must have an immediately following ON or USING clause`, item.at);
  }
  const on = item.on && bindBoolean(fromContext(context, scope), item.on, 'ON clause');
  return { from: { kind: 'join', join: item.join, left: left.from, right: right.from, on }, scope };
}

/** The names of a join side that may be missing in a row. */
function outerScope(scope: Scope): Scope {
  return {
    ...scope,
    merged: outerColumns(scope.merged),
    variables: scope.variables.map(variable =>
      variable.kind === 'table'
        ? { ...variable, columns: outerColumns(variable.columns) }
        : { ...variable, value: outerValue(variable.value) },
    ),
  };
}

const outerValue = (value: BoundExpression) =>
  ({ ...value, type: onOuterSide(value.type) }) as BoundExpression; // only marked

/** Columns on an outer side of a join; another join may make them outer again. */
const knownOuter = new WeakSet<readonly NamedValue[]>();

function outerColumns(columns: readonly NamedValue[]): readonly NamedValue[] {
  if (knownOuter.has(columns)) return columns;
  const isMarked = columns.every(({ value: { type } }) => onOuterSide(type) === type);
  const outer = isMarked ? columns : columns.map(c => ({ ...c, value: outerValue(c.value) }));
  knownOuter.add(outer);
  return outer;
}

/** USING compares the columns and leaves one of each name, unqualified. */
function bindUsing(
  item: JoinSyntax,
  names: readonly Identifier[],
  left: BoundSource,
  right: BoundSource,
  scope: Scope,
): BoundSource {
  const pairs = names.map(name => {
    const sides = [left, right].map((side, i) => {
      const whole = side.scope.variables.find(variable => isWhole(variable, name));
      const [column, ...others] = whole ? [whole] : columnsNamed(side.scope, name.name);
      const where = `${i === 0 ? 'left' : 'right'} side of join`;
      if (!column) throw invalidQuery(`Column ${name.name} in USING clause not found on ${where}`, name.at);
      if (others.length > 0)
        throw invalidQuery(`Column ${name.name} in USING clause is ambiguous on ${where}`, name.at);
      return column.value;
    });
    const { type, values } = unify(sides, 'operator =', name.at);
    const equal = operator('=', values, name.at);
    return { name: name.name, type, sides, values, equal };
  });
  const on = operator(
    'AND',
    pairs.map(pair => pair.equal),
    item.at,
  );
  const merged = pairs.map(pair => ({ name: pair.name, value: mergedValue(item.join, pair) }));
  const again: ReadonlySet<string> = new Set(names.map(({ name }) => foldName(name)));
  const others = scope.merged.filter(({ name }) => !again.has(foldName(name)));
  return {
    from: { kind: 'join', join: item.join, left: left.from, right: right.from, on },
    scope: { ...scope, merged: [...merged, ...others] },
  };
}

/** Whether a name is that of an element or a whole row, which counts as a column of that name. */
const isWhole = (
  variable: RangeVariable,
  { name }: Identifier,
): variable is Extract<RangeVariable, { kind: 'value' }> =>
  variable.kind === 'value' && !variable.hidden && sameName(variable.name, name);

/** A side of a join without the columns that USING merges. */
const scopeWithMerged = (using: readonly Identifier[]) => {
  const names = new Set(using.map(({ name }) => foldName(name)));
  return (scope: Scope): Scope => ({ ...scope, variables: withMerged(scope.variables, names) });
};

/** Sets of merged names: neighbouring tables mostly have the same ones, so each set is made once. */
function withMerged(
  variables: readonly RangeVariable[],
  names: ReadonlySet<string>,
): readonly RangeVariable[] {
  const known = new Map<RangeVariable['mergedNames'], ReadonlySet<string>>([[undefined, names]]);
  return variables.flatMap((variable): readonly RangeVariable[] => {
    const before = variable.mergedNames;
    const mergedNames = known.get(before) ?? names.union(before!);
    known.set(before, mergedNames);
    const isMerged =
      variable.kind === 'value' && variable.name !== undefined && names.has(foldName(variable.name));
    if (!isMerged) return [{ ...variable, mergedNames }];
    // The name belongs to the merged column; the fields of a record remain visible.
    const isRecord = variable.value.type.kind === 'STRUCT' && !variable.hidden;
    return isRecord ? [{ ...variable, name: undefined, mergedNames }] : [];
  });
}

/** The merged column: that of the side whose rows are all kept; for FULL JOIN the one that is not NULL. */
function mergedValue(
  join: JoinSyntax['join'],
  {
    sides,
    values,
    type,
  }: { sides: readonly BoundExpression[]; values: readonly BoundExpression[]; type: SqlType },
): BoundExpression {
  if (join === 'FULL') return call('COALESCE', 'coalesce($*)', values, type);
  return sides[join === 'RIGHT' ? 1 : 0]!;
}

/** UNNEST, or a path that starts with something in FROM before it: `t.metadata`. */
function isArrayScan(context: BindContext, item: FromItem, left: Scope): item is ArrayScan {
  if (item.kind === 'unnest') return true;
  if (item.kind !== 'table' || item.path.length < 2) return false;
  const scope: Scope = { ...left, parent: context.scope };
  return !item.path[0]!.quoted || !item.path[0]!.name.includes('.')
    ? resolveName(scope, item.path[0]!) !== undefined
    : false;
}

/** Whether a syntax tree has a name that a scope itself may define, rather than an enclosing query. */
function readsFrom({ statement }: BindContext, { parent: _, ...scope }: Scope, item: ArrayScan): boolean {
  const reads = (node: unknown): boolean => {
    if (typeof node !== 'object' || node === null) return false;
    // Nested joins ask again about the same nodes.
    if ('kind' in node) statement.count('expressions', 1, item.at);
    if ('kind' in node && (node.kind === 'path' || node.kind === 'table')) {
      // Paths of names are the only nodes of these kinds.
      const { parts, path } = node as { parts?: readonly Identifier[]; path?: readonly Identifier[] };
      if (resolveName(scope, (parts ?? path)![0]!)) return true;
    }
    return Object.values(node).some(reads);
  };
  return reads(item);
}

/** Each row of the preceding items with each element of its array; without preceding items, each element. */
function bindArrayScan(
  context: BindContext,
  item: ArrayScan,
  left: BoundSource | undefined,
  join: JoinSyntax | undefined,
): BoundSource {
  const before: Scope = left?.scope ?? { ...emptyScope, parent: context.scope };
  const inFrom = fromContext(context, before);
  const array = item.kind === 'unnest' ? bindExpression(inFrom, item.array) : bindPath(inFrom, item.path);
  if (array.type.kind !== 'ARRAY') {
    throw invalidQuery(
      `Values referenced in UNNEST must be arrays. UNNEST contains expression of type ${typeName(array.type)}`,
      item.kind === 'unnest' ? item.array.at : item.at,
    );
  }
  const relation = nextRelation(context, item);
  const { element } = array.type;
  const known: SqlType = element.kind === 'NULL' ? scalar('INT64') : element;
  const type = join?.join === 'LEFT' ? onOuterSide(known) : known;
  const scanned = elementScope(context, { item, relation, type });
  const scope = left ? joinScopes(left.scope, scanned, item.at) : scanned;
  const on = join?.on && bindBoolean(fromContext(context, scope), join.on, 'ON clause');
  const from: BoundFrom = {
    kind: 'unnest',
    relation,
    input: left?.from,
    array,
    withOffset: item.offset !== undefined,
    outer: join?.join === 'LEFT',
    on: on?.kind === 'literal' && on.value === 'TRUE' ? undefined : on,
  };
  return { from, scope };
}

/** The name of the element: its alias, or the last part of a path. */
function elementScope(
  context: BindContext,
  { item, relation, type }: { item: ArrayScan; relation: number; type: SqlType },
): Scope {
  const fallback = item.kind === 'table' ? item.path.at(-1)?.name : undefined;
  const name = item.alias?.name ?? fallback;
  const value: BoundExpression = { kind: 'column', type, relation, index: 0 };
  const offset: BoundExpression = { kind: 'column', type: scalar('INT64'), relation, index: 1 };
  if (item.offset && sameName(name, item.offset.name))
    throw invalidQuery(`Duplicate alias ${item.offset.name} found`, item.offset.at);
  const offsets = item.offset ? [{ kind: 'value', name: item.offset.name, value: offset } as const] : [];
  return { ...emptyScope, parent: context.scope, variables: [{ kind: 'value', name, value }, ...offsets] };
}

function fromContext(context: BindContext, scope: Scope): BindContext {
  return { ...context, scope, aggregatesRefusedIn: 'FROM clause' };
}

/** The names of a value table: its rows under its own name, and the fields of a STRUCT. */
export function queryScope(
  context: BindContext,
  {
    name,
    relation,
    query,
    at,
  }: { name: string | undefined; relation: number; query: BoundQuery; at: SqlPosition },
): Scope {
  const columns = outputColumns(relation, query.columns);
  if (!query.columns[0]?.isRow) return tableScope(context, { name, columns, at });
  context.statement.count('columns', 1, at);
  return {
    ...emptyScope,
    parent: context.scope,
    variables: [{ kind: 'value', name, value: columns[0]!.value }],
  };
}

function tableScope(
  context: BindContext,
  { name, columns, at }: { name: string | undefined; columns: readonly NamedValue[]; at: SqlPosition },
): Scope {
  context.statement.count('columns', columns.length, at);
  return { ...emptyScope, parent: context.scope, variables: [{ kind: 'table', name, columns }] };
}

/** The columns of a query or a table, as a relation has them. */
export function outputColumns(
  relation: number,
  columns: readonly (Pick<OutputColumn, 'name' | 'type' | 'isHidden'> & { anonymous?: boolean })[],
): readonly NamedValue[] {
  const all = columns.map(
    ({ name, type, anonymous }, index): NamedValue => ({
      name: anonymous ? '' : name,
      value: type.kind === 'NULL' ? { kind: 'null', type } : { kind: 'column', type, relation, index },
    }),
  );
  return all.filter((_, index) => !columns[index]!.isHidden);
}
