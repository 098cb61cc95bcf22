import type { BoundOrder } from '../tree/bound-tree.ts';

/** The sort key before a FLOAT64: NaN is the least number to BigQuery, the greatest to DuckDB. */
export function nanOrder(sql: string, descending: boolean, nulls: BoundOrder['nulls']): string {
  return `isnan(${sql}) ${descending ? 'asc' : 'desc'} nulls ${nulls.toLowerCase()}`;
}
