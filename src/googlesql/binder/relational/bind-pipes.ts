import type { BindContext, BoundSource } from '../../tree/bind-context.ts';
import {
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  call,
  literal,
  type OutputColumn,
} from '../../tree/bound-tree.ts';
import { cast } from '../../tree/coercion.ts';
import { columnsOfName, foldName } from '../../tree/scope.ts';
import { invalidQuery, startOfText } from '../../tree/sql-error.ts';
import type { Expression, Identifier, PipeOperator, Select } from '../../tree/syntax-tree.ts';
import { scalar } from '../../tree/types.ts';
import { holdsAggregate, holdsAnyAggregate, sizeOf } from '../../tree/walk-bound-tree.ts';
import { bindBoolean, bindExpression } from '../bind-expression.ts';
import { bindFrom } from '../bind-from.ts';
import { bindSelect } from '../bind-select.ts';
import { bindColumn } from '../bind-select-list.ts';
import { bindOrderKey, orderTerm, outputIndex, refuseOrder } from '../order-term.ts';
import {
  afterSelect,
  asQuery,
  closed,
  fromQuery,
  fromSource,
  inside,
  named,
  type Piped,
  withScope,
} from './piped.ts';
import { rowCount } from './row-count.ts';

const bool = scalar('BOOL');

type Operator<Kind extends PipeOperator['kind']> = Extract<PipeOperator, { kind: Kind }>;

/** Binds a set operation of queries; passed in by the file that binds queries. */
type BindSetOperation = (
  context: BindContext,
  input: BoundQuery,
  operator: Operator<'setOperation'>,
) => BoundQuery;

/** Binds the operators after a query, or after FROM: each sees the result of the one before it. */
export function bindPipes(
  context: BindContext,
  input: BoundQuery | BoundSource,
  operators: readonly PipeOperator[],
  bindSetOperation: BindSetOperation,
): Omit<BoundQuery, 'subsets'> {
  const at = operators[0]?.at ?? startOfText;
  let piped = 'columns' in input ? fromQuery(context, input, at) : fromSource(context, input);
  for (const operator of operators) piped = applied(context, piped, operator, bindSetOperation);
  return asQuery(piped, []);
}

function applied(
  context: BindContext,
  piped: Piped,
  operator: PipeOperator,
  bindSetOperation: BindSetOperation,
): Piped {
  switch (operator.kind) {
    case 'where':
      return filtered(context, piped, operator);
    case 'assert':
      return asserted(context, piped, operator);
    case 'select':
      return selected(context, piped, operator);
    case 'extend':
      return extended(context, piped, operator);
    case 'set':
      return assigned(context, piped, operator);
    case 'drop':
      return dropped(context, piped, operator.names);
    case 'rename':
      return renamed(context, piped, operator);
    case 'as':
      return withScope(context, piped, operator.name.name, piped.columns, []);
    case 'aggregate':
      return aggregated(context, piped, operator);
    case 'distinct': {
      const items = [{ kind: 'star', at: operator.at, except: [], replace: [] }] as const;
      return selected(context, piped, {
        kind: 'select',
        at: operator.at,
        distinct: true,
        items,
        windows: [],
      });
    }
    case 'orderBy':
      return ordered(context, piped, operator);
    case 'limit':
      return closed(context, piped, {
        at: operator.at,
        limit: rowCount(context, operator.limit, 'LIMIT'),
        offset: rowCount(context, operator.offset, 'OFFSET'),
      });
    case 'join': {
      const { source } = closed(context, piped, operator);
      return fromSource(context, bindFrom({ ...context, input: source }, operator.join));
    }
    case 'setOperation':
      return fromQuery(
        context,
        bindSetOperation(context, { subsets: [], ...asQuery({ ...piped, orderBy: [] }, []) }, operator),
        operator.at,
      );
  }
}

function filtered(context: BindContext, piped: Piped, { at, condition }: Operator<'where'>): Piped {
  const bind = (rows: Piped) => {
    const bound = bindBoolean(inside(context, rows), condition, 'WHERE clause');
    if (holdsAggregate(bound))
      throw invalidQuery('Aggregate function not allowed in pipe WHERE', condition.at);
    return bound;
  };
  const where = bind(piped);
  if (!holdsAnyAggregate(where) && !piped.where) return { ...piped, where };
  const rows = piped.where ? closed(context, piped, { at }) : piped;
  const again = rows === piped ? where : bind(rows);
  return holdsAnyAggregate(again) ? closed(context, rows, { at, qualify: again }) : { ...rows, where: again };
}

/** ASSERT: the same rows, after each was checked against the condition. */
function asserted(context: BindContext, piped: Piped, operator: Operator<'assert'>): Piped {
  const { at, condition } = operator;
  const rows = piped.where ? closed(context, piped, { at }) : piped;
  const within = inside(context, rows);
  const test = bindBoolean(within, condition, 'ASSERT');
  const payload = operator.payload.map(value =>
    cast(bindExpression(within, value), scalar('STRING'), false, value.at),
  );
  refuseAggregates([test, ...payload], 'ASSERT', condition.at);
  const words = payload.map((_, i) => `coalesce($${i + 1}, 'NULL')`).join(" || ' ' || ");
  const template = `cast(bq_fail('Assert failed${words ? `: ' || ${words}` : "'"}) as boolean)`;
  const otherwise = call('ASSERT', template, payload, bool);
  const branches = [{ when: test, result: literal('BOOL', 'TRUE') }];
  const where: BoundExpression = { kind: 'case', type: bool, branches, otherwise };
  // With a LIMIT, below which DuckDB pushes no later filter: each row must be checked here.
  return closed(context, { ...rows, where }, { at, limit: Number.MAX_SAFE_INTEGER });
}

/** A SELECT over the rows so far. */
function selectOver(
  context: BindContext,
  piped: Piped,
  select: Pick<Select, 'at' | 'items' | 'windows'> & Partial<Select>,
): { readonly body: BoundSelect; readonly columns: readonly OutputColumn[] } {
  const { at } = select;
  const whole: Select = { kind: 'select', distinct: false, from: { kind: 'input', at }, ...select };
  const { body, columns } = bindSelect({ ...context, input: piped.source }, whole, []);
  return { body: { ...body, where: piped.where }, columns };
}

function selected(context: BindContext, piped: Piped, operator: Operator<'select'>): Piped {
  const { kind: _, ...select } = operator;
  const { body, columns } = selectOver(context, piped, select);
  refuseAggregates(body.items, 'SELECT', operator.at);
  const keys = operator.distinct ? [] : piped.orderBy;
  return afterSelect(context, { body, columns, at: operator.at }, keys);
}

function refuseAggregates(values: readonly BoundExpression[], operator: string, at: Expression['at']): void {
  if (values.some(holdsAggregate))
    throw invalidQuery(`Aggregate functions are not allowed in pipe ${operator}; use pipe AGGREGATE`, at);
}

function extended(context: BindContext, piped: Piped, { at, items, windows }: Operator<'extend'>): Piped {
  const { body, columns } = selectOver(context, piped, { at, items, windows });
  refuseAggregates(body.items, 'EXTEND', at);
  const added = columns.map(({ name, anonymous }, i) => ({
    name: anonymous ? '' : name,
    value: body.items[i]!,
  }));
  return closed(context, piped, { at, columns: [...piped.columns, ...added] });
}

function assigned(context: BindContext, piped: Piped, { at, items }: Operator<'set'>): Piped {
  const values = new Map<string, BoundExpression>();
  for (const { name, expression } of items) {
    onlyColumn(piped, name, 'SET');
    if (values.has(foldName(name.name)))
      throw invalidQuery(`Column ${name.name} is set twice in pipe SET`, name.at);
    values.set(foldName(name.name), bindColumn(inside(context, piped), expression));
  }
  refuseAggregates([...values.values()], 'SET', at);
  const columns = piped.columns.map(({ name, value }) => ({
    name,
    value: values.get(foldName(name)) ?? value,
  }));
  return closed(context, piped, { at, columns });
}

function onlyColumn({ columns }: Piped, { name, at }: Identifier, operator: string): void {
  const found = columnsOfName(columns, name);
  if (found.length === 1) return;
  const what = found.length === 0 ? 'not found in' : 'ambiguous in';
  throw invalidQuery(`Column ${name} is ${what} the input table of pipe ${operator}`, at);
}

function dropped(context: BindContext, piped: Piped, names: readonly Identifier[]): Piped {
  context.statement.count('columns', piped.columns.length, names[0]!.at);
  const gone = new Set<string>();
  for (const { name, at } of names) {
    if (columnsOfName(piped.columns, name).length === 0)
      throw invalidQuery(`Column ${name} is not found in the input table of pipe DROP`, at);
    if (gone.has(foldName(name))) throw invalidQuery(`Duplicate column ${name} in pipe DROP`, at);
    gone.add(foldName(name));
  }
  const columns = piped.columns.filter(({ name }) => !gone.has(foldName(name)));
  if (columns.length === 0) throw invalidQuery('Pipe DROP would leave no columns', names[0]!.at);
  return withScope(context, piped, undefined, columns, named(piped));
}

function renamed(context: BindContext, piped: Piped, { names, at }: Operator<'rename'>): Piped {
  context.statement.count('columns', piped.columns.length, at);
  const to = new Map<string, string>();
  for (const { from, to: target } of names) {
    onlyColumn(piped, from, 'RENAME');
    to.set(foldName(from.name), target.name);
  }
  const columns = piped.columns.map(column => ({
    ...column,
    name: to.get(foldName(column.name)) ?? column.name,
  }));
  return withScope(context, piped, undefined, columns, named(piped));
}

/** Keys come first, then the aggregates. */
function aggregated(context: BindContext, piped: Piped, operator: Operator<'aggregate'>): Piped {
  const { at, keys, items, sets } = operator;
  const position = (i: number): Expression => ({ kind: 'literal', type: 'INT64', value: String(i + 1), at });
  const groupBy = sets || keys.length > 0 ? { keys: keys.map((_, i) => position(i)), sets } : undefined;
  const all = [...keys, ...items];
  if (all.length === 0) throw invalidQuery('Pipe AGGREGATE needs an aggregate or a GROUP BY', at);
  const list = all.map(({ expression, alias }) => ({ kind: 'expression', expression, alias }) as const);
  const { body, columns } = selectOver(context, piped, { at, items: list, windows: [], groupBy });
  for (const [i, value] of body.items.entries()) {
    const isKey = i < keys.length;
    if (holdsAggregate(value) === isKey)
      throw invalidQuery(
        isKey
          ? 'GROUP BY of pipe AGGREGATE cannot contain an aggregate function'
          : 'Each expression of pipe AGGREGATE must contain an aggregate function',
        all[i]!.expression.at,
      );
  }
  const rows = afterSelect(context, { body, columns, at }, []);
  const order = [
    ...items.map((item, i) => [item, keys.length + i] as const),
    ...keys.map((key, i) => [key, i] as const),
  ];
  const orderBy = order.flatMap(([item, i]) =>
    item.order ? [orderTerm({ ...item.order, expression: item.expression }, rows.columns[i]!.value)] : [],
  );
  return { ...rows, orderBy };
}

function ordered(context: BindContext, piped: Piped, { items, at }: Operator<'orderBy'>): Piped {
  context.statement.count('columns', piped.columns.length, at);
  const { columns } = asQuery(piped, []);
  const rows = inside(context, piped);
  const orderBy = items.map(item => {
    const position = item.expression.kind === 'literal' ? outputIndex(item.expression, columns) : undefined;
    const value =
      position === undefined ? bindOrderKey(rows, item.expression) : piped.columns[position]!.value;
    if (position !== undefined) context.statement.count('expressions', sizeOf(value), item.expression.at);
    refuseAggregates([value], 'ORDER BY', item.expression.at);
    refuseOrder(value.type, item.expression.at);
    return orderTerm(item, value);
  });
  return { ...piped, orderBy };
}
