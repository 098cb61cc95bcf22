import type { BoundOrder } from '../tree/bound-tree.ts';
import type { SqlType } from '../tree/types.ts';

/** What a term of ORDER BY sorts by. */
type SortKey = {
  /** The expression, or the number of its column. */
  readonly key: string;
  /** The expression itself, for a FLOAT64. */
  readonly value: () => string;
  readonly type: SqlType | undefined;
};

/** Prints a term of ORDER BY. NaN is the least number to BigQuery, the greatest to DuckDB. */
export function printOrderTerm(
  { key, value, type }: SortKey,
  { descending, nulls }: Pick<BoundOrder, 'descending' | 'nulls'>,
): string {
  const nullOrder = `nulls ${nulls.toLowerCase()}`;
  const plain = `${key} ${descending ? 'desc' : 'asc'} ${nullOrder}`;
  if (type?.kind !== 'FLOAT64') return plain;
  return `isnan(${value()}) ${descending ? 'asc' : 'desc'} ${nullOrder}, ${plain}`;
}
