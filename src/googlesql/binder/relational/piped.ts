import type { BindContext, BoundSource } from '../../tree/bind-context.ts';
import type {
  BoundExpression,
  BoundOrder,
  BoundQuery,
  BoundSelect,
  OutputColumn,
} from '../../tree/bound-tree.ts';
import { emptyScope, type NamedValue, type RangeVariable, type Scope } from '../../tree/scope.ts';
import { typeAsPart } from '../../tree/storage.ts';
import type { PipeOperator } from '../../tree/syntax-tree.ts';
import { nextRelation, outputColumns } from '../bind-from.ts';
import { everyColumn } from '../bind-select-list.ts';

/** The table that one operator passes to the next. */
export type Piped = {
  readonly source: BoundSource;
  /** Columns in order; names of tables that are still usable are in the scope, see `RangeVariable.hidden`. */
  readonly columns: readonly NamedValue[];
  /** Its only column is a row of a value table, see `OutputColumn.isRow`. */
  readonly isRow?: boolean;
  /** A condition that is still to be applied to the rows. */
  readonly where?: BoundExpression;
  /** The order of the rows. */
  readonly orderBy: readonly BoundOrder[];
};

export function fromSource(context: BindContext, source: BoundSource): Piped {
  const columns = everyColumn(source.scope);
  const hidden = source.scope.variables.filter(({ name }) => name !== undefined);
  return withScope(context, { source, columns, orderBy: [] }, undefined, columns, hidden);
}

export function fromQuery(context: BindContext, query: BoundQuery, at: PipeOperator['at']): Piped {
  const relation = nextRelation(context, { at });
  const columns = outputColumns(relation, query.columns);
  const source: BoundSource = { from: { kind: 'derived', relation, query }, scope: emptyScope };
  const isRow = query.columns[0]?.isRow ?? false;
  return withScope(context, { source, columns, isRow, orderBy: [] }, undefined, columns, []);
}

/** The table under a name, with these columns and the hidden names of tables. */
export function withScope(
  context: BindContext,
  piped: Piped,
  name: string | undefined,
  columns: readonly NamedValue[],
  hidden: readonly RangeVariable[],
): Piped {
  const rows = piped.isRow
    ? ({ kind: 'value', name, value: columns[0]!.value } as const)
    : ({ kind: 'table', name, columns } as const);
  const variables = [rows, ...hidden.map(variable => ({ ...variable, hidden: true }) as const)];
  const scope: Scope = { ...emptyScope, parent: context.scope, variables };
  return { ...piped, columns, source: { ...piped.source, scope } };
}

const hiddenOf = ({ source }: Piped) => source.scope.variables.filter(variable => variable.hidden);

/** Where an expression of an operator is bound. */
export function inside(context: BindContext, { source }: Piped): BindContext {
  return {
    ...context,
    scope: source.scope,
    aggregatesRefusedIn: undefined,
    windows: new Map(),
    input: source,
  };
}

/** The rows as a query with the columns, followed by further values. */
export function asQuery(
  { source, columns, isRow, where, orderBy }: Piped,
  more: readonly BoundExpression[],
  slice: Pick<BoundQuery, 'limit' | 'offset'> = {},
): Omit<BoundQuery, 'subsets'> {
  let unnamed = 0;
  const named = columns.map(({ name, value }): OutputColumn => {
    const anonymous = name === '';
    return { name: anonymous ? `f${unnamed++}_` : name, anonymous, type: typeAsPart(value), isRow };
  });
  const hidden = more.map((value): OutputColumn => ({ name: '', anonymous: true, type: typeAsPart(value) }));
  const items = [...columns.map(({ value }) => value), ...more];
  const body: BoundSelect = { kind: 'select', distinct: false, items, from: source.from, where };
  return { body, orderBy, columns: [...named, ...hidden], ...slice };
}

/**
 * Makes a table of the rows so far, so that later operators refer to each value once. Names and order are kept.
 * `columns`: replaces its columns by these; `qualify`: keeps only rows that fulfil it.
 */
export function closed(
  context: BindContext,
  piped: Piped,
  {
    at,
    columns = piped.columns,
    qualify,
    ...slice
  }: Pick<BoundQuery, 'limit' | 'offset'> & {
    at: PipeOperator['at'];
    columns?: readonly NamedValue[];
    qualify?: BoundExpression;
  },
): Piped {
  const { keyOf } = context.statement;
  const positions = new Map<number, number>();
  for (const [i, { value }] of columns.entries())
    if (!positions.has(keyOf(value))) positions.set(keyOf(value), i);
  const more: BoundExpression[] = [];
  const keep = (value: BoundExpression) => {
    if (positions.has(keyOf(value))) return;
    positions.set(keyOf(value), columns.length + more.length);
    more.push(value);
  };
  for (const variable of hiddenOf(piped)) {
    if (variable.kind === 'value') keep(variable.value);
    else for (const { value } of variable.columns) keep(value);
  }
  for (const { by } of piped.orderBy) if (typeof by !== 'number') keep(by);
  const query = asQuery({ ...piped, columns }, more, slice);
  const body = qualify && query.body.kind === 'select' ? { ...query.body, qualify } : query.body;
  const relation = nextRelation(context, { at });
  context.statement.count('columns', query.columns.length, at);
  const outputs = outputColumns(relation, query.columns);
  const moved = (value: BoundExpression) => outputs[positions.get(keyOf(value))!]!.value;
  const movedColumns = columns.map(({ name, value }, i) => ({ name, value: outputs[i]?.value ?? value }));
  const hidden = hiddenOf(piped).map(variable =>
    variable.kind === 'value'
      ? { ...variable, value: moved(variable.value) }
      : { ...variable, columns: variable.columns.map(c => ({ ...c, value: moved(c.value) })) },
  );
  const orderBy = piped.orderBy.map(order => ({
    ...order,
    by: typeof order.by === 'number' ? order.by : moved(order.by),
  }));
  const from = { kind: 'derived', relation, query: { subsets: [], ...query, body } } as const;
  const isRow = piped.isRow && columns === piped.columns;
  const next: Piped = { source: { from, scope: emptyScope }, columns: movedColumns, isRow, orderBy };
  const [table] = piped.source.scope.variables;
  return withScope(context, next, table?.name, movedColumns, hidden);
}

/** The rows of a SELECT; sort keys follow its columns. */
export function afterSelect(
  context: BindContext,
  {
    body,
    columns,
    at,
  }: {
    readonly body: BoundSelect;
    readonly columns: readonly OutputColumn[];
    readonly at: PipeOperator['at'];
  },
  orderBy: readonly BoundOrder[],
): Piped {
  const keys = orderBy.flatMap(({ by }) => (typeof by === 'number' ? [] : [by]));
  const behind = keys.map((value): OutputColumn => ({ name: '', anonymous: true, type: typeAsPart(value) }));
  const query: BoundQuery = {
    subsets: [],
    body: { ...body, items: [...body.items, ...keys] },
    orderBy: [],
    columns: [...columns, ...behind],
  };
  const { source, columns: all, isRow } = fromQuery(context, query, at);
  const moved = orderBy.map((order, i) => ({ ...order, by: all[columns.length + i]!.value }));
  const own = all.slice(0, columns.length);
  return withScope(context, { source, columns: own, isRow, orderBy: moved }, undefined, own, []);
}

/** Names of the tables from which the columns come, including that of the whole table. */
export function named(piped: Piped): readonly RangeVariable[] {
  return piped.source.scope.variables.filter(({ name }) => name !== undefined);
}
