import { trimSpaces } from './casts/trim-spaces.ts';
import type { EngineFunctions } from './engine-function.ts';
import { fractionOf } from './float-values.ts';

/** The NUMERIC 1: NUMERIC is a whole number of billionths, of at most 38 digits. */
export const numericOne = 1_000_000_000n;
const greatest = 10n ** 38n - 1n;

/** Arithmetic of NUMERIC that DuckDB has in FLOAT64 only: exact, rounded once, halves away from zero. */
export const numericValues: EngineFunctions = {
  'bq_numeric_multiply(NUMERIC, NUMERIC) NUMERIC': (a: bigint, b: bigint) =>
    checked(divideRounded(a * b, numericOne), () => `${numericText(a)} * ${numericText(b)}`),
  'bq_numeric_divide(NUMERIC, NUMERIC) NUMERIC': (a: bigint, b: bigint) => {
    const call = () => `${numericText(a)} / ${numericText(b)}`;
    refuseZero(b, call);
    return checked(divideRounded(a * numericOne, b), call);
  },
  'bq_numeric_div(NUMERIC, NUMERIC) NUMERIC': (a: bigint, b: bigint) => {
    const call = () => `DIV(${numericText(a)}, ${numericText(b)})`;
    refuseZero(b, call);
    return checked((a / b) * numericOne, call);
  },
  'bq_numeric_mod(NUMERIC, NUMERIC) NUMERIC': (a: bigint, b: bigint) => {
    refuseZero(b, () => `MOD(${numericText(a)}, ${numericText(b)})`);
    return a % b;
  },
  /** @param whole the sum of the whole parts, which NUMERIC may not hold */
  'bq_numeric_total(STRING, NUMERIC) NUMERIC': (whole: string, fractions: bigint) =>
    checked(BigInt(whole) * numericOne + fractions, () => 'SUM'),
  'bq_numeric_average(STRING, NUMERIC, INT64) NUMERIC': (whole: string, fractions: bigint, count: bigint) =>
    divideRounded(BigInt(whole) * numericOne + fractions, count),
  /** @param name a statistic as DuckDB names it; over no NULL */
  'bq_numeric_statistic(ARRAY<NUMERIC>, STRING) FLOAT64': statistic,
  'bq_numeric_round(NUMERIC, INT64) NUMERIC': (x: bigint, digits: bigint) =>
    checked(toDigits(x, digits, divideRounded), () => `ROUND(${numericText(x)}, ${digits})`),
  'bq_numeric_round_by(NUMERIC, INT64, STRING) NUMERIC': (x: bigint, digits: bigint, mode: string) => {
    const divide = { ROUND_HALF_AWAY_FROM_ZERO: divideRounded, ROUND_HALF_EVEN: divideToEven }[mode];
    if (!divide) throw new Error(`Could not cast literal "${mode}" to type ROUNDING_MODE`);
    return checked(toDigits(x, digits, divide), () => `ROUND(${numericText(x)}, ${digits}, "${mode}")`);
  },
  'bq_numeric_trunc(NUMERIC, INT64) NUMERIC': (x: bigint, digits: bigint) =>
    toDigits(x, digits, (a, b) => a / b),
  'bq_numeric_floor(NUMERIC) NUMERIC': (x: bigint) =>
    checked(floorDivide(x, numericOne) * numericOne, () => `FLOOR(${numericText(x)})`),
  'bq_numeric_ceil(NUMERIC) NUMERIC': (x: bigint) =>
    checked(-floorDivide(-x, numericOne) * numericOne, () => `CEIL(${numericText(x)})`),
  'bq_numeric_sqrt(NUMERIC) NUMERIC': (x: bigint) => {
    if (x < 0n) throw new Error(`SQRT is undefined for negative value: SQRT(${numericText(x)})`);
    const root = squareRoot(x * numericOne);
    return x * numericOne - root * root > root ? root + 1n : root;
  },
  'bq_parse_numeric(STRING) NUMERIC': parseNumeric,
  'bq_nearest_numeric(FLOAT64) NUMERIC': (x: number) => {
    const [numerator, denominator] = fractionOf(x);
    return divideRounded(numerator * numericOne, denominator);
  },
};

/** Maximum values of a statistic: they are held in memory. */
const maxValues = 1_000_000;

function statistic(values: readonly bigint[], name: string): number | null {
  if (values.length > maxValues)
    throw new Error(`A variance of more than ${maxValues} NUMERIC values is not supported`);
  const count = BigInt(values.length);
  const divisor = name.endsWith('_samp') ? count - 1n : count;
  if (divisor < 1n) return null;
  let [sum, squares] = [0n, 0n];
  for (const value of values) {
    sum += value;
    squares += value * value;
  }
  const variance = quotient(squares * count - sum * sum, count * divisor * numericOne * numericOne);
  return name.startsWith('stddev') ? Math.sqrt(variance) : variance;
}

/** The FLOAT64 nearest to the quotient of two numbers that are not negative. */
function quotient(a: bigint, b: bigint): number {
  // Enough bits that those cut off do not matter.
  const shift = BigInt(Math.max(0, 128 - (a.toString(2).length - b.toString(2).length)));
  return Number((a << shift) / b) / 2 ** Number(shift);
}

/** A NUMERIC as BigQuery writes it, without trailing zeros. */
export function numericText(x: bigint): string {
  const digits = String(x < 0n ? -x : x).padStart(10, '0');
  const fraction = digits.slice(-9).replace(/0+$/, '');
  return `${x < 0n ? '-' : ''}${digits.slice(0, -9)}${fraction && `.${fraction}`}`;
}

/** The quotient, halves away from zero. */
export function divideRounded(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  const rest = a % b;
  if (2n * absolute(rest) < absolute(b)) return quotient;
  return a < 0n === b < 0n ? quotient + 1n : quotient - 1n;
}

function divideToEven(a: bigint, b: bigint): bigint {
  const isHalf = 2n * absolute(a % b) === absolute(b);
  return isHalf && (a / b) % 2n === 0n ? a / b : divideRounded(a, b);
}

function floorDivide(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

const absolute = (x: bigint) => (x < 0n ? -x : x);

function toDigits(x: bigint, digits: bigint, divide: (a: bigint, b: bigint) => bigint): bigint {
  if (digits >= 9n) return x;
  if (digits < -30n) return 0n;
  const unit = 10n ** (9n - digits);
  return divide(x, unit) * unit;
}

function checked(x: bigint, call: () => string): bigint {
  if (absolute(x) > greatest) throw new Error(`numeric overflow: ${call()}`);
  return x;
}

function refuseZero(divisor: bigint, call: () => string): void {
  if (divisor === 0n) throw new Error(`division by zero: ${call()}`);
}

/** The greatest integer whose square is not above. */
function squareRoot(x: bigint): bigint {
  if (x < 2n) return x;
  const near = BigInt(Math.ceil(Math.sqrt(Number(x))));
  let root = near + (near >> 40n) + 1n;
  for (;;) {
    const next = (root + x / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}

/** Spaces around the sign, commas between digits; more digits after the point than nine are rounded. */
function parseNumeric(text: string): bigint {
  const refuse = (): never => {
    throw new Error(`Invalid input to PARSE_NUMERIC: "${text}"`);
  };
  const trimmed = trimSpaces(text);
  const found =
    /^(?<lead>[+-]?)[\t-\r ]*(?<whole>\d[\d,]*|,[\d,]*)?(?:\.(?<fraction>\d*))?(?:[eE](?<exponent>[+-]?\d+))?(?<![\t-\r ])[\t-\r ]*(?<trail>[+-]?)$/.exec(
      trimmed,
    )?.groups;
  if (!found || (found.lead && found.trail)) return refuse();
  const whole = (found.whole ?? '').replaceAll(',', '');
  const fraction = found.fraction ?? '';
  if (!whole && !fraction) return refuse();
  const scale = BigInt(found.exponent ?? '0') - BigInt(fraction.length) + 9n;
  const digits = BigInt(whole + fraction);
  if (digits !== 0n && scale > 60n) return refuse();
  // A power of ten of any size would be calculated.
  const isZero = digits === 0n || scale < -1000n;
  const scaled = () => (scale >= 0n ? digits * 10n ** scale : divideRounded(digits, 10n ** -scale));
  const value = isZero ? 0n : scaled();
  if (value > greatest) return refuse();
  return found.lead === '-' || found.trail === '-' ? -value : value;
}
