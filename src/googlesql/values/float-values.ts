import type { EngineFunctions } from './engine-function.ts';

const functions: Readonly<Record<string, (x: number) => number>> = {
  acos: Math.acos,
  acosh: Math.acosh,
  asin: Math.asin,
  asinh: Math.asinh,
  atanh: Math.atanh,
  cosh: Math.cosh,
  cot: x => 1 / Math.tan(x),
  coth: x => 1 / Math.tanh(x),
  csc: x => 1 / Math.sin(x),
  csch: x => 1 / Math.sinh(x),
  sec: x => 1 / Math.cos(x),
  sech: x => 1 / Math.cosh(x),
  sinh: Math.sinh,
};

/** Functions of FLOAT64 that fail where DuckDB's go on, or that it lacks. */
export const floatValues: EngineFunctions = {
  ...Object.fromEntries(
    Object.entries(functions).map(([name, call]) => [
      `bq_${name}(FLOAT64) FLOAT64`,
      (x: number) => checked(call(x), x, name.toUpperCase()),
    ]),
  ),
  'bq_float_trunc(FLOAT64, INT64) FLOAT64': truncate,
};

/** A finite number gives a finite answer, or none. */
function checked(answer: number, x: number, name: string): number {
  if (Number.isFinite(answer) || !Number.isFinite(x)) return answer;
  const isOverflow = name === 'SINH' || name === 'COSH';
  throw new Error(`Floating point ${isOverflow ? 'overflow' : 'error'} in function: ${name}(${x})`);
}

/** Cuts the digits of a number's exact value, of which it may have a thousand. */
function truncate(x: number, digits: bigint): number {
  if (!Number.isFinite(x) || digits > 1100n) return x;
  if (digits < -310n) return x < 0 ? -0 : 0;
  const [numerator, denominator] = fractionOf(x);
  const scale = 10n ** (digits < 0n ? -digits : digits);
  const whole = digits < 0n ? numerator / (denominator * scale) : (numerator * scale) / denominator;
  return Math.sign(x) * Number(`${whole < 0n ? -whole : whole}e${-digits}`);
}

/** A FLOAT64 as a fraction of integers, exactly. */
export function fractionOf(x: number): [numerator: bigint, denominator: bigint] {
  let exponent = 0;
  let scaled = x;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    exponent++;
  }
  return [BigInt(scaled), 2n ** BigInt(exponent)];
}
