import type { SqlPosition } from '../../base/errors.ts';
import type { BoundAggregate, BoundExpression, BoundFrom, BoundSelect } from '../tree/bound-tree.ts';
import type { KeyOf } from '../tree/expression-keys.ts';
import { pathsInSubqueries, relationsOf } from '../tree/query-reads.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { Select } from '../tree/syntax-tree.ts';
import { childrenOf, holdsAggregate, holdsAnyAggregate } from '../tree/walk-bound-tree.ts';
import type { SelectedItem } from './bind-select-list.ts';

type Clauses = {
  readonly select: Select;
  readonly items: readonly SelectedItem[];
  /** HAVING, QUALIFY and ORDER BY. */
  readonly others: readonly BoundExpression[];
  readonly from: BoundFrom | undefined;
  readonly keyOf: KeyOf;
};

/**
 * Refuses a column that is neither grouped nor aggregated in a query with GROUP BY or an aggregate: it would have many values where one
 * is needed.
 */
export function refuseUngrouped(groupBy: BoundSelect['groupBy'], clauses: Clauses): void {
  const { select, items, others, from, keyOf } = clauses;
  refuseGroupingOfOthers(groupBy, clauses);
  refuseKeysWithinKeys(groupBy, clauses);
  const isAggregated = groupBy || [...items.map(i => i.value), ...others].some(holdsAggregate);
  if (select.having && !groupBy && !items.some(({ value }) => holdsAggregate(value)))
    throw invalidQuery('The HAVING clause requires GROUP BY or aggregation to be present', select.having.at);
  if (!isAggregated) return;
  const grouped = { keys: new Set((groupBy ?? []).map(keyOf)), keyOf, relations: relationsOf(from) };
  for (const { value, at } of items) {
    if (holdsUngrouped(value, grouped)) throw refusal('SELECT list expression', at);
  }
  for (const value of others) {
    if (holdsUngrouped(value, grouped)) throw refusal('An expression', select.at);
  }
}

/**
 * The keys of GROUP BY ALL: the items without an aggregate or analytic call that read something of FROM. Without any, all rows are one
 * group.
 */
export function inferredKeys(
  items: readonly SelectedItem[],
  from: BoundFrom | undefined,
): readonly SelectedItem[] {
  const relations = relationsOf(from);
  return items.filter(({ value }) => !holdsAnyAggregate(value) && readsAny(value, relations));
}

/** Whether an item reads something of FROM; a subquery always counts. */
function readsAny(value: BoundExpression, relations: ReadonlySet<number>): boolean {
  if (value.kind === 'column') return relations.has(value.relation);
  if (value.kind === 'subquery' || value.kind === 'inQuery') return true;
  return childrenOf(value).some(child => readsAny(child, relations));
}

/** Refuses GROUPING of anything but a key: it says whether a row is grouped by that key. */
function refuseGroupingOfOthers(
  groupBy: BoundSelect['groupBy'],
  { select, items, others, keyOf }: Clauses,
): void {
  const keys = new Set(groupBy?.map(keyOf));
  for (const call of [...items.map(item => item.value), ...others].flatMap(groupingCalls)) {
    if (!keys.has(keyOf(call.arguments[0]!)))
      throw invalidQuery(
        'GROUPING must have an argument that exists within the group-by expression list',
        select.at,
      );
  }
}

/**
 * Refuses grouping sets with a key inside another key: an item of the list could be the outer key or be made of the inner one, and the two
 * differ.
 */
function refuseKeysWithinKeys(groupBy: BoundSelect['groupBy'], { select, keyOf }: Clauses): void {
  const hasSets = typeof select.groupBy === 'object' && select.groupBy.sets !== undefined;
  if (!hasSets || groupBy === undefined) return;
  const keys = new Set(groupBy.map(keyOf));
  const holdsKey = (value: BoundExpression): boolean =>
    childrenOf(value).some(child => keys.has(keyOf(child)) || holdsKey(child));
  if (groupBy.some(holdsKey))
    throw invalidQuery('Grouping sets with a key within another key are not supported', select.at);
}

function groupingCalls(expression: BoundExpression): readonly BoundAggregate[] {
  if (expression.kind === 'aggregate' && expression.name === 'GROUPING') return [expression];
  return childrenOf(expression).flatMap(groupingCalls);
}

function refusal(what: string, at: SqlPosition) {
  return invalidQuery(`${what} references a column which is neither grouped nor aggregated`, at);
}

type Grouped = {
  readonly keys: ReadonlySet<number>;
  readonly keyOf: KeyOf;
  readonly relations: ReadonlySet<number>;
};

function holdsUngrouped(expression: BoundExpression, grouped: Grouped): boolean {
  if (expression.kind === 'aggregate' && !expression.over) return false;
  if (grouped.keys.size > 0 && grouped.keys.has(grouped.keyOf(expression))) return false;
  if (expression.kind === 'column') return grouped.relations.has(expression.relation);
  if (expression.kind === 'subquery' || expression.kind === 'inQuery') {
    for (const path of pathsInSubqueries(expression)) if (isUngrouped(path, grouped)) return true;
  }
  return childrenOf(expression).some(child => holdsUngrouped(child, grouped));
}

/** A path that a subquery reads: of the query around it, and no part of it is a key. */
function isUngrouped(path: BoundExpression, grouped: Grouped): boolean {
  if (grouped.keys.has(grouped.keyOf(path))) return false;
  if (path.kind === 'field') return isUngrouped(path.of, grouped);
  return path.kind === 'column' && grouped.relations.has(path.relation);
}
