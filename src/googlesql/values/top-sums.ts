import type { EngineFunctions } from './engine-function.ts';

/** Maximum values of one APPROX_TOP_SUM: they are held in memory. */
const maxValues = 1_000_000;

const greatestInteger = 2n ** 63n - 1n;
const greatestNumeric = 10n ** 38n - 1n;

/** What APPROX_TOP_SUM needs, exactly: the sum of weights for each key, in the order in which keys first come. */
export const topSums: EngineFunctions = {
  /** Where each key comes first, from 1. */
  'bq_first_places(ARRAY<STRING>) ARRAY<INT64>': (keys: readonly string[]) => {
    if (keys.length > maxValues)
      throw new Error(`APPROX_TOP_SUM of more than ${maxValues} values is not supported`);
    const places = new Map<string, bigint>();
    for (const [i, key] of keys.entries()) if (!places.has(key)) places.set(key, BigInt(i + 1));
    return [...places.values()];
  },
  'bq_key_sums_int64(ARRAY<STRING>, ARRAY<INT64>) ARRAY<INT64>': (
    keys: readonly string[],
    weights: readonly (bigint | null)[],
  ) => sums(keys, weights, (a, b) => checked(a + b, greatestInteger, 'int64 overflow')),
  'bq_key_sums_numeric(ARRAY<STRING>, ARRAY<NUMERIC>) ARRAY<NUMERIC>': (
    keys: readonly string[],
    weights: readonly (bigint | null)[],
  ) => sums(keys, weights, (a, b) => checked(a + b, greatestNumeric, 'numeric overflow')),
  'bq_key_sums_float64(ARRAY<STRING>, ARRAY<FLOAT64>) ARRAY<FLOAT64>': (
    keys: readonly string[],
    weights: readonly (number | null)[],
  ) => sums(keys, weights, (a, b) => a + b),
};

/** The sum of weights by key; NULL where all are NULL. */
function sums<Weight extends number | bigint>(
  keys: readonly string[],
  weights: readonly (Weight | null)[],
  add: (a: Weight, b: Weight) => Weight,
): (Weight | null)[] {
  const totals = new Map<string, Weight | null>();
  for (const [i, key] of keys.entries()) {
    const weight = weights[i] ?? null;
    // NaN is not at least 0 either.
    if (weight !== null && !(weight >= 0)) throw new Error('APPROX_TOP_SUM weights must be non-negative');
    const total = totals.get(key) ?? null;
    totals.set(key, total === null || weight === null ? (total ?? weight) : add(total, weight));
  }
  return [...totals.values()];
}

function checked(value: bigint, greatest: bigint, problem: string): bigint {
  if (value > greatest) throw new Error(problem);
  return value;
}
