import type { BoundOrder, OutputColumn } from './bound-tree.ts';
import { sameName } from './scope.ts';
import { invalidQuery } from './sql-error.ts';
import type { Expression, OrderItem } from './syntax-tree.ts';

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
  const found = columns.flatMap((column, i) => (!column.anonymous && sameName(column.name, name) ? [i] : []));
  if (found.length > 1) throw invalidQuery(`Column name ${name} is ambiguous`, at);
  return found[0];
}

/** BigQuery's NULL order: first when ascending, last when descending. */
export function orderTerm(item: OrderItem, by: BoundOrder['by']): BoundOrder {
  const { descending } = item;
  return { by, descending, nulls: item.nulls ?? (descending ? 'LAST' : 'FIRST') };
}
