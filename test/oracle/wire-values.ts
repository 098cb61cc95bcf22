import type { Column } from '../../src/base/rows.ts';

/** A column of a result: `Column`, and nothing that two engines may say in different ways. */
export type WireColumn = Column;

/**
 * A value in a form that two engines share: INT64 and TIMESTAMP (microseconds) as decimal digits, FLOAT64 as
 * twelve significant digits, NUMERIC without trailing zeros, BYTES in base64, the other scalars as on the wire;
 * an ARRAY as an array (never NULL), a STRUCT as its values in order.
 */
export type WireValue = null | boolean | string | readonly WireValue[];

/** A FLOAT64 as text; two engines may add up the same numbers in another order, and keep another of two equal zeros. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return '0';
  return String(Number(value.toPrecision(12)));
}

/** JSON in one spelling: no white space, members sorted. */
export function jsonText(text: string): string {
  const sorted = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return JSON.stringify(JSON.parse(text), sorted);
}

/** Rows as texts; where the statement does not order them, in an order of their own. */
export function comparableRows(rows: readonly (readonly WireValue[])[], isOrdered: boolean): string[] {
  const texts = rows.map(row => JSON.stringify(row));
  return isOrdered ? texts : texts.sort();
}
