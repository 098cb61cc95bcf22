import type { SqlPosition } from '../../base/errors.ts';
import type { BindContext } from '../tree/bind-context.ts';
import type { BoundExpression, BoundOrder, OutputColumn } from '../tree/bound-tree.ts';
import { foldName } from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { Expression, OrderItem } from '../tree/syntax-tree.ts';
import { type SqlType, typeName } from '../tree/types.ts';

/** A position (`order by 1`) or the name of an output column. */
export function outputIndex(expression: Expression, columns: readonly OutputColumn[]): number | undefined {
  if (expression.kind === 'literal' && expression.type === 'INT64') {
    const position = Number(expression.value);
    if (position >= 1 && position <= columns.length) return position - 1;
    throw invalidQuery(
      `ORDER BY column number item is out of range. Column numbers must be between 1 and ${columns.length}, inclusive`,
      expression.at,
    );
  }
  if (expression.kind !== 'path' || expression.parts.length !== 1) return undefined;
  const { name, at } = expression.parts[0]!;
  const found = indexOf(columns).get(foldName(name)) ?? [];
  if (found.length > 1) throw invalidQuery(`Column name ${name} is ambiguous`, at);
  return found[0];
}

const indexes = new WeakMap<readonly OutputColumn[], ReadonlyMap<string, readonly number[]>>();

/** The positions of each name that something can refer to. */
function indexOf(columns: readonly OutputColumn[]): ReadonlyMap<string, readonly number[]> {
  const known = indexes.get(columns);
  if (known) return known;
  const named = columns.flatMap(({ name, anonymous }, at) =>
    anonymous ? [] : [{ name: foldName(name), at }],
  );
  const groups = Map.groupBy(named, ({ name }) => name);
  const index = new Map([...groups].map(([name, places]) => [name, places.map(({ at }) => at)]));
  indexes.set(columns, index);
  return index;
}

/** BigQuery's NULL order: first when ascending, last when descending. */
export function orderTerm(item: OrderItem, by: BoundOrder['by']): BoundOrder {
  const { descending } = item;
  return { by, descending, nulls: item.nulls ?? (descending ? 'LAST' : 'FIRST') };
}

const plainLiterals: ReadonlySet<string> = new Set(['INT64', 'FLOAT64', 'STRING', 'BYTES', 'BOOL', 'NULL']);

/** A literal without the name of its type: not allowed as a sort or group key, unless it is an integer that is a position. */
export function isPlainLiteral(
  expression: Expression,
): expression is Extract<Expression, { kind: 'literal' }> {
  return expression.kind === 'literal' && plainLiterals.has(expression.type);
}

/** Binds a sort key that is neither a position nor the name of an output column. */
export function bindOrderKey(context: BindContext, expression: Expression): BoundExpression {
  if (isPlainLiteral(expression)) throw invalidQuery('Cannot ORDER BY literal values', expression.at);
  const value = context.binder.expression(context, expression);
  refuseOrder(value.type, expression.at);
  return value;
}

/** Types that have no order. */
export function refuseOrder(type: SqlType, at: SqlPosition): void {
  if (['ARRAY', 'STRUCT', 'JSON'].includes(type.kind))
    throw invalidQuery(`ORDER BY does not support expressions of type ${typeName(type)}`, at);
}
