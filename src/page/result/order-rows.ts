import { type Column, isNumeric } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { writeExactJson } from '../api/exact-json.ts';

/** The column and direction by which rows are ordered. */
export type Order = { readonly column: string; readonly direction: 'ascending' | 'descending' };

const collator = new Intl.Collator('en', { numeric: true });

/** The rows in an order; unchanged without one. NULL is last. */
export function ordered(
  rows: readonly Row[],
  columns: readonly Column[],
  order: Order | undefined,
): readonly Row[] {
  const column = columns.find(({ name }) => name === order?.column);
  if (!order || !column) return rows;
  const { name } = column;
  const compareCells = comparisonOf(column);
  const sign = order.direction === 'ascending' ? 1 : -1;
  const isNothing = (value: unknown) => value === null || value === undefined;
  return [...rows].sort(({ [name]: one }, { [name]: other }) => {
    if (isNothing(one) || isNothing(other)) return Number(isNothing(one)) - Number(isNothing(other));
    return sign * compareCells(one, other);
  });
}

/** Decimals, NaN and infinities come as text and are compared as numbers; the texts of dates and times sort in their order. */
function comparisonOf(column: Column): (one: unknown, other: unknown) => number {
  if (isNumeric(column)) return compareNumbers;
  if (['DATE', 'DATETIME', 'TIME'].includes(column.type))
    return (one, other) => compare(String(one), String(other));
  return (one, other) =>
    isNumber(one) && isNumber(other) ? compare(one, other) : collator.compare(textOf(one), textOf(other));
}

/** By their size; decimals that a FLOAT64 makes equal, by their digits. NaN is first, as in BigQuery. */
function compareNumbers(one: unknown, other: unknown): number {
  const [left, right] = [Number(one), Number(other)];
  if (Number.isNaN(left) || Number.isNaN(right)) return compare(Number.isNaN(right), Number.isNaN(left));
  if (left !== right || one === other) return compare(left, right);
  const texts = [String(one), String(other)];
  if (!texts.every(text => /^-?\d+(?:\.\d+)?$/.test(text))) return 0;
  const digits = Math.max(...texts.map(text => fractionOf(text).length));
  const [exact, exactOther] = texts.map(text =>
    BigInt(text.replace(/\..*/, '') + fractionOf(text).padEnd(digits, '0')),
  );
  return compare(exact!, exactOther!);
}

const fractionOf = (text: string) => text.split('.')[1] ?? '';

type Comparable = number | bigint | string | boolean;

const compare = (one: Comparable, other: Comparable) => (one < other ? -1 : Number(one > other));

const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'bigint';

const textOf = (value: unknown) => (typeof value === 'object' ? writeExactJson(value) : String(value));
