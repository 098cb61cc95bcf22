import type { Row } from '../api/client.ts';
import { writeExactJson } from '../api/exact-json.ts';

/** By which column rows stand. */
export type Order = { readonly column: string; readonly direction: 'ascending' | 'descending' };

const collator = new Intl.Collator('en', { numeric: true });

/** The rows in an order; as they came without one. NULL is last. */
export function ordered(rows: readonly Row[], order: Order | undefined): readonly Row[] {
  if (!order) return rows;
  const { column, direction } = order;
  const sign = direction === 'ascending' ? 1 : -1;
  const isNothing = (value: unknown) => value === null || value === undefined;
  return [...rows].sort(({ [column]: one }, { [column]: other }) => {
    if (isNothing(one) || isNothing(other)) return Number(isNothing(one)) - Number(isNothing(other));
    return sign * compare(one, other);
  });
}

function compare(one: unknown, other: unknown): number {
  if (isNumber(one) && isNumber(other)) return one < other ? -1 : Number(one > other);
  return collator.compare(textOf(one), textOf(other));
}

const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'bigint';

const textOf = (value: unknown) => (typeof value === 'object' ? writeExactJson(value) : String(value));
