import type { BoundExpression } from '../tree/bound-tree.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { OrderItem, Select } from '../tree/syntax-tree.ts';
import { childrenOf } from '../tree/walk-bound-tree.ts';

/**
 * Refuses what a SELECT without FROM cannot have beyond the clauses that the parser refuses: one row is neither
 * sorted, nor made distinct, nor aggregated.
 * @throws GatewayError `invalid_query` with line and column
 */
export function refuseWithoutFrom(
  select: Select,
  values: readonly BoundExpression[],
  order: readonly OrderItem[],
): void {
  if (select.from) return;
  if (select.distinct) throw invalidQuery('Query without FROM clause cannot use SELECT DISTINCT', select.at);
  for (const aggregate of values.flatMap(aggregatesIn)) {
    const what = aggregate.over ? 'analytic functions' : 'aggregation';
    throw invalidQuery(`SELECT without FROM clause cannot use ${what}`, select.at);
  }
  if (order[0]) {
    throw invalidQuery('Query without FROM clause cannot have an ORDER BY clause', order[0].expression.at);
  }
}

/** The outermost aggregate calls of a value; those of a subquery have a FROM of their own. */
function aggregatesIn(value: BoundExpression): readonly Extract<BoundExpression, { kind: 'aggregate' }>[] {
  return value.kind === 'aggregate' ? [value] : childrenOf(value).flatMap(aggregatesIn);
}
