/**
 * A number of a chart, exact: an integer beyond 2^53 is a BigInt. NaN and infinities are numbers, as in SQL; null is no number, as the
 * sum of NULLs in SQL.
 */
export type Amount = number | bigint | null;

/** Reads a cell of a numeric column; decimals come as text. */
export function toAmount(value: unknown): Amount {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return null;
  const number = Number(value);
  return /^-?\d+$/.test(value) && !Number.isSafeInteger(number) ? BigInt(value) : number;
}

/** The sum of two amounts; null adds nothing. */
export function add(one: Amount, other: Amount): Amount {
  if (one === null || other === null) return one ?? other;
  if (isWhole(one) && isWhole(other)) {
    const exact = BigInt(one) + BigInt(other);
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
  }
  return Number(one) + Number(other);
}

/** The sum of amounts; null if there are none. */
export const sumOf = (amounts: readonly Amount[]): Amount => amounts.reduce(add, null);

/** The height of a bar; 0 for an amount that can't be drawn. */
export function heightOf(amount: Amount): number {
  const height = Number(amount);
  return Number.isFinite(height) ? height : 0;
}

/** The text of an amount, all digits of an integer among them. */
export const formatAmount = (amount: Amount): string => (amount === null ? 'NULL' : formatNumber(amount));

/** The text of a number, with at most six decimals; with an exponent if it would otherwise be 0 or hundreds of digits. */
export function formatNumber(value: number | bigint): string {
  const size = Math.abs(Number(value));
  const isLong =
    typeof value === 'number' && (size < 1e-6 || size >= 1e21) && size !== 0 && size !== Infinity;
  return isLong ? String(value) : value.toLocaleString('en-US', { maximumFractionDigits: 6 });
}

const isWhole = (amount: number | bigint) => typeof amount === 'bigint' || Number.isSafeInteger(amount);
