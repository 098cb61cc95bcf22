import { GatewayError, type SqlPosition } from '../../base/errors.ts';
import { holdsKind, isNested } from '../functions/nested-comparison.ts';
import type { BindContext } from '../tree/bind-context.ts';
import {
  type BoundExpression,
  type BoundFrom,
  type BoundOrder,
  type BoundSelect,
  type OutputColumn,
  unsupportedCall,
} from '../tree/bound-tree.ts';
import { distinctStruct } from '../tree/distinct-struct.ts';
import { pathsInSubqueries } from '../tree/query-reads.ts';
import { emptyScope, foldName, type NamedValue, onlySelected, type Scope } from '../tree/scope.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import { canonical, typeAsPart } from '../tree/storage.ts';
import type { Expression, OrderItem, Select, WindowSpec } from '../tree/syntax-tree.ts';
import { typeName } from '../tree/types.ts';
import { holdsAggregate, holdsAnalytic, holdsAnyAggregate, sizeOf } from '../tree/walk-bound-tree.ts';
import { bindBoolean, bindExpression } from './bind-expression.ts';
import { bindFrom, nextRelation, outputColumns } from './bind-from.ts';
import { bindSelectList, type SelectedItem } from './bind-select-list.ts';
import { bindUnusedWindows } from './bind-window.ts';
import { inferredKeys, refuseUngrouped } from './grouping.ts';
import { guardBranches, guardGroups } from './guard-branches.ts';
import { bindOrderKey, isPlainLiteral, orderTerm, outputIndex, refuseOrder } from './order-term.ts';
import { refuseWithoutFrom } from './refuse-without-from.ts';

type BoundSelectResult = {
  readonly body: BoundSelect;
  readonly columns: readonly OutputColumn[];
  readonly orderBy: readonly BoundOrder[];
};

/**
 * Binds one SELECT in the order in which SQL sees it: FROM, WHERE, the list, then the clauses that also see the
 * list's aliases. ORDER BY belongs to the enclosing query, but uses the names of this SELECT.
 */
export function bindSelect(
  outer: BindContext,
  written: Select,
  writtenOrder: readonly OrderItem[],
): BoundSelectResult {
  const source = written.from && bindFrom(outer, written.from);
  const fromScope: Scope = source?.scope ?? { ...emptyScope, parent: outer.scope };
  const windows = windowsByName(written);
  const rows: BindContext = { ...outer, scope: fromScope, windows, aggregatesRefusedIn: 'WHERE clause' };
  const where = written.where && bindBoolean(rows, written.where, 'WHERE clause');

  const list: BindContext = { ...rows, aggregatesRefusedIn: undefined };
  const items = bindSelectList(list, written);
  refuseWithoutFrom(
    written,
    items.map(item => item.value),
    writtenOrder,
  );
  const withAliases: BindContext = { ...list, scope: { ...fromScope, aliases: aliasesOf(items) } };
  const columns = items.map(({ name, anonymous, value }) => ({ name, anonymous, type: typeAsPart(value) }));
  const around = bindAround(withAliases, written, writtenOrder, { items, columns });
  const select = around ? { ...written, having: undefined, qualify: undefined } : written;
  const order = around ? [] : writtenOrder;

  const groupBy = bindGroupBy(withAliases, select, items, source?.from);
  const having = select.having && bindBoolean(withAliases, select.having, 'HAVING clause');
  if (having && holdsAnalytic(having))
    throw invalidQuery('Analytic function not allowed in HAVING clause', select.having!.at);
  const qualify = select.qualify && bindBoolean(withAliases, select.qualify, 'QUALIFY clause');
  if (qualify && !holdsAnalytic(qualify) && !items.some(({ value }) => holdsAnalytic(value)))
    throw invalidQuery('The QUALIFY clause requires analytic function to be present', select.qualify!.at);
  const { keyOf } = outer.statement;
  const keyed = order.length > 0 ? items.map(({ value }, i) => [keyOf(value), i] as const) : [];
  const positions = new Map(keyed.toReversed());
  const orderBy = order.map(item => bindOrder(withAliases, item, { columns, items, positions }));
  bindUnusedWindows(list, select);

  const json = select.distinct && items.find(({ value }) => holdsKind(value.type, 'JSON'));
  if (json) throw invalidQuery(`Column ${json.name} of type JSON cannot be used in SELECT DISTINCT`, json.at);
  const ordered = orderBy.map(({ by }) => (typeof by === 'number' ? items[by]!.value : by));
  const clauses = [having, qualify].filter(clause => clause !== undefined);
  refuseUngrouped(groupBy, { select, items, others: [...ordered, ...clauses], from: source?.from, keyOf });

  const isGrouped = groupBy !== undefined || having || items.some(({ value }) => holdsAggregate(value));
  const guardGrouped = guardGroups(groupBy ?? [], keyOf);
  const guard = isGrouped ? guardGrouped : guardBranches;
  const guarded = items.map(item => ({ ...item, value: guard(item.value) }));
  const body = {
    kind: 'select',
    distinct: select.distinct,
    from: source?.from,
    where: where && guardBranches(where),
    groupBy: groupBy?.map(key => printableKey(key, select.at)),
    groupingSets: typeof select.groupBy === 'object' ? select.groupBy.sets : undefined,
    having: having && guardGrouped(having),
    qualify: qualify && guard(qualify),
  } as const;
  const selected = packed(select, guarded, { body, columns, orderBy });
  if (around) return around(selected);
  const isCalculated = select.distinct && orderBy.some(({ by }) => typeof by !== 'number');
  return isCalculated ? orderedDistinct(withAliases, order, { select, items, selected }) : selected;
}

/**
 * Handles HAVING, QUALIFY and ORDER BY with a subquery that refers to an aggregate of the list, which DuckDB does not allow: they become
 * WHERE and ORDER BY of an enclosing SELECT.
 * @returns undefined if no subquery does that, or if the clauses refer to more than the list has
 */
function bindAround(
  context: BindContext,
  select: Select,
  order: readonly OrderItem[],
  { items, columns }: { readonly items: readonly SelectedItem[]; readonly columns: readonly OutputColumn[] },
): ((selected: BoundSelectResult) => BoundSelectResult) | undefined {
  const clauses = [select.having, select.qualify].filter(clause => clause !== undefined);
  const mayName = items.some(({ value }) => holdsAnyAggregate(value)) && !select.distinct && !select.as;
  if (!mayName || ![...clauses, ...order].some(hasSubquery)) return undefined;
  // Windows see the rows that HAVING keeps.
  if (select.having && (select.qualify || items.some(({ value }) => holdsAnalytic(value)))) return undefined;
  const { relation, moved, columnOf } = moveOut(context, select, { items, columns });
  const scope = onlySelected(context.scope, columnOf);
  const inside: BindContext = {
    ...context,
    scope,
    aggregatesRefusedIn: 'a clause of the enclosing SELECT',
    windows: new Map(),
  };
  let conditions: readonly BoundExpression[];
  let orderBy: readonly BoundOrder[];
  try {
    conditions = clauses.map(clause => bindBoolean(inside, clause, 'HAVING clause'));
    orderBy = order.map(item => bindOrder(inside, item, { columns, items: moved, positions: new Map() }));
  } catch (error) {
    // They also refer to names of this SELECT; if that is an error, it is reported for the original clause.
    if (!(error instanceof GatewayError)) throw error;
    return undefined;
  }
  const isAggregate = (path: BoundExpression): boolean =>
    path.kind === 'field'
      ? isAggregate(path.of)
      : path.kind === 'column' && path.relation === relation && holdsAnyAggregate(items[path.index]!.value);
  const values = [...conditions, ...orderBy.flatMap(({ by }) => (typeof by === 'number' ? [] : [by]))];
  if (!values.some(value => [...pathsInSubqueries(value)].some(isAggregate))) return undefined;
  return ({ body }) => ({
    body: {
      kind: 'select',
      distinct: false,
      items: moved.map(item => item.value),
      from: { kind: 'derived', relation, query: { subsets: [], body, orderBy: [], columns } },
      where: conditions[0] && guardBranches(conditions[0]),
    },
    columns,
    orderBy,
  });
}

/** Whether a part of a syntax tree contains a query. */
function hasSubquery(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false;
  return 'pipes' in node || Object.values(node).some(hasSubquery);
}

function windowsByName({ windows }: Select): BindContext['windows'] {
  const byName = new Map<string, WindowSpec>();
  for (const { name, spec } of windows) {
    const key = foldName(name.name);
    if (byName.has(key)) throw invalidQuery(`Duplicate window alias ${name.name}`, name.at);
    // A window can refer to those before it.
    if (spec.base && !byName.has(foldName(spec.base.name)))
      throw invalidQuery(`Unrecognized window alias ${spec.base.name}`, spec.base.at);
    byName.set(key, spec);
  }
  return byName;
}

/** SELECT AS STRUCT makes one column of all items, SELECT AS VALUE takes its only one. */
function packed(
  select: Select,
  items: readonly SelectedItem[],
  {
    body,
    columns,
    orderBy,
  }: {
    body: Omit<BoundSelect, 'items'>;
    columns: readonly OutputColumn[];
    orderBy: readonly BoundOrder[];
  },
): BoundSelectResult {
  const values = items.map(item => item.value);
  if (!select.as) return { body: { ...body, items: values }, columns, orderBy };
  if (select.as === 'VALUE') {
    if (items.length !== 1)
      throw invalidQuery('SELECT AS VALUE query must have exactly one column', select.at);
    return {
      body: { ...body, items: values },
      columns: [{ ...columns[0]!, name: 'f0_', anonymous: true, isRow: true }],
      orderBy,
    };
  }
  const fields = items.map(({ name, anonymous, value }) => ({
    name: anonymous ? '' : name,
    type: typeAsPart(value),
  }));
  const type = distinctStruct(fields, select.at);
  const struct: BoundExpression = { kind: 'struct', type, values };
  const byValue = orderBy.map(o => ({ ...o, by: typeof o.by === 'number' ? values[o.by]! : o.by }));
  return {
    body: { ...body, items: [struct] },
    columns: [{ name: 'f0_', anonymous: true, type, isRow: true }],
    orderBy: byValue,
  };
}

function aliasesOf(items: readonly SelectedItem[]): readonly NamedValue[] {
  return items.filter(item => !item.anonymous).map(({ name, value }) => ({ name, value }));
}

function bindGroupBy(
  context: BindContext,
  { groupBy }: Select,
  items: readonly SelectedItem[],
  from: BoundFrom | undefined,
): BoundSelect['groupBy'] {
  if (groupBy === undefined) return undefined;
  if (groupBy !== 'ALL' && groupBy.sets && groupBy.keys[0]) {
    // Each set is written with all its keys.
    const written = groupBy.sets.reduce((sum, set) => sum + set.length, 0);
    context.statement.count('expressions', written, groupBy.keys[0].at);
  }
  const named: BindContext = { ...context, aggregatesRefusedIn: 'GROUP BY clause' };
  const inside: BindContext = { ...named, scope: { ...context.scope, aliases: [] } };
  const keys =
    groupBy === 'ALL'
      ? inferredKeys(items, from)
      : groupBy.keys.map(expression => ({
          value: groupKey({ named, inside }, expression, items),
          at: expression.at,
        }));
  return keys.map(({ value, at }) => {
    if (holdsAnyAggregate(value)) {
      const what = holdsAnalytic(value) ? 'an analytic' : 'an aggregation';
      throw invalidQuery(`A column that contains ${what} function is not allowed in GROUP BY`, at);
    }
    if (holdsKind(value.type, 'JSON'))
      throw invalidQuery(`Grouping by expressions of type ${typeName(value.type)} is not allowed`, at);
    return value;
  });
}

/** DuckDB requires list items to equal their key exactly: they must not be stored values converted to another form. */
function printableKey(value: BoundExpression, at: SqlPosition): BoundExpression {
  if (!isNested(value.type) || canonical(value, at) === value) return value;
  const { reason } = onlyOnWarehouse(`GROUP BY of type ${value.type.kind} as a table holds it`, at);
  return unsupportedCall(reason, value.type, [value]);
}

/** A key can be an alias of the list, but names `inside` a key are not: there a path may belong to a table. */
function groupKey(
  { named, inside }: { readonly named: BindContext; readonly inside: BindContext },
  expression: Expression,
  items: readonly SelectedItem[],
): BoundExpression {
  if (expression.kind !== 'literal' || expression.type !== 'INT64') {
    if (isPlainLiteral(expression)) throw invalidQuery('Cannot GROUP BY literal values', expression.at);
    const isName = expression.kind === 'path' && expression.parts.length === 1;
    return bindExpression(isName ? named : inside, expression);
  }
  const item = items[Number(expression.value) - 1];
  if (item) return counted(named, item.value, expression.at);
  throw invalidQuery(`GROUP BY is out of SELECT column number range: ${expression.value}`, expression.at);
}

/** The value of the list at a position, which is bound again as if it were written there. */
function counted({ statement }: BindContext, value: BoundExpression, at: SqlPosition): BoundExpression {
  statement.count('expressions', sizeOf(value), at);
  return value;
}

function bindOrder(
  context: BindContext,
  item: OrderItem,
  list: {
    readonly columns: readonly OutputColumn[];
    readonly items: readonly SelectedItem[];
    /** Where the first item of a key stands, from 0. */
    readonly positions: ReadonlyMap<number, number>;
  },
): BoundOrder {
  const position = outputIndex(item.expression, list.columns);
  const { at } = item.expression;
  const value =
    position === undefined
      ? bindOrderKey(context, item.expression)
      : counted(context, list.items[position]!.value, at);
  refuseOrder(value.type, at);
  return orderTerm(item, position ?? list.positions.get(context.statement.keyOf(value)) ?? value);
}

/**
 * SELECT DISTINCT with a calculated order. After DISTINCT only the selected values remain, so ORDER BY becomes part of an enclosing SELECT
 * that sees those.
 */
function orderedDistinct(
  context: BindContext,
  order: readonly OrderItem[],
  {
    select,
    items,
    selected,
  }: {
    readonly select: Select;
    readonly items: readonly SelectedItem[];
    readonly selected: BoundSelectResult;
  },
): BoundSelectResult {
  const { body, columns } = selected;
  const { relation, moved, columnOf } = moveOut(context, select, { items, columns });
  const inside: BindContext = {
    ...context,
    scope: onlySelected(context.scope, value => (select.as ? undefined : columnOf(value))),
    aggregatesRefusedIn: 'ORDER BY clause after SELECT DISTINCT',
  };
  const orderBy = order.map(item => {
    try {
      return bindOrder(inside, item, { columns, items: moved, positions: new Map() });
    } catch (error) {
      // Bound before DISTINCT, the expression was right: it lacks a name here.
      if (!(error instanceof GatewayError)) throw error;
      const message = 'ORDER BY clause expression is not visible after SELECT DISTINCT';
      throw invalidQuery(message, item.expression.at);
    }
  });
  const from = { kind: 'derived', relation, query: { subsets: [], body, orderBy: [], columns } } as const;
  return {
    body: { kind: 'select', distinct: false, items: moved.map(item => item.value), from },
    columns,
    orderBy,
  };
}

/** Makes the list of a SELECT a relation for a query around it: its items as columns, and the column for an expression of the list. */
function moveOut(
  context: BindContext,
  select: Select,
  { items, columns }: { readonly items: readonly SelectedItem[]; readonly columns: readonly OutputColumn[] },
) {
  const relation = nextRelation(context, select);
  const { keyOf } = context.statement;
  const moved = outputColumns(relation, columns).map(({ value }, i) => ({ ...items[i]!, value }));
  // Of equal items the first one counts.
  const byKey = new Map(items.map((item, i) => [keyOf(item.value), moved[i]?.value] as const).toReversed());
  return { relation, moved, columnOf: (value: BoundExpression) => byKey.get(keyOf(value)) };
}
