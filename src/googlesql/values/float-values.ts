import type { EngineFunctions } from './engine-function.ts';
import { toDigits } from './float-digits.ts';

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

/** Functions of FLOAT64 that DuckDB lacks, and those of `inDuckDb` for arguments for which DuckDB's own fail or differ. */
export const floatValues: EngineFunctions = {
  ...Object.fromEntries(
    Object.entries(functions).map(([name, call]) => [
      `bq_${name}(FLOAT64) FLOAT64`,
      (x: number) => checked(call(x), x, name.toUpperCase()),
    ]),
  ),
  'bq_float_trunc(FLOAT64, INT64) FLOAT64': (x: number, digits: bigint) => toDigits(x, digits, false),
  'bq_float_round(FLOAT64, INT64) FLOAT64': (x: number, digits: bigint) => toDigits(x, digits, true),
  'bq_cosine_distance(ARRAY<FLOAT64>, ARRAY<FLOAT64>) FLOAT64': (a: Vector, b: Vector) => {
    const pairs = pairsOf(a, b, 'COSINE_DISTANCE');
    const [product, first, second] = [
      sum(pairs.map(([x, y]) => x * y)),
      sum(pairs.map(([x]) => x * x)),
      sum(pairs.map(([, y]) => y * y)),
    ];
    if (first === 0 || second === 0) throw new Error('Cannot compute cosine distance against zero vector.');
    return 1 - product / (Math.sqrt(first) * Math.sqrt(second));
  },
  'bq_euclidean_distance(ARRAY<FLOAT64>, ARRAY<FLOAT64>) FLOAT64': (a: Vector, b: Vector) =>
    Math.sqrt(sum(pairsOf(a, b, 'EUCLIDEAN_DISTANCE').map(([x, y]) => (x - y) * (x - y)))),
};

type Vector = readonly (number | null)[];

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function pairsOf(a: Vector, b: Vector, name: string): readonly (readonly [number, number])[] {
  if (a.length !== b.length)
    throw new Error(`Array length mismatch: ${a.length} and ${b.length}. in function: ${name}`);
  return a.map((x, i) => {
    const y = b[i] ?? null;
    if (x === null || y === null) throw new Error(`Cannot compute ${name} with a NULL element`);
    return [x, y] as const;
  });
}

/** Fails if a finite number has no finite result. */
function checked(answer: number, x: number, name: string): number {
  if (Number.isFinite(answer) || !Number.isFinite(x)) return answer;
  const isOverflow = name === 'SINH' || name === 'COSH';
  throw new Error(`Floating point ${isOverflow ? 'overflow' : 'error'} in function: ${name}(${x})`);
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
