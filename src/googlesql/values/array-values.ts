import { type EngineFunctions, maxElements } from './engine-function.ts';

/** Arrays of numbers, which DuckDB generates of integers only. */
export const arrayValues: EngineFunctions = {
  'bq_generate_floats(FLOAT64, FLOAT64, FLOAT64) ARRAY<FLOAT64>': (
    start: number,
    end: number,
    step: number,
  ) => {
    if ([start, end, step].some(Number.isNaN))
      throw new Error('Sequence start, end, and step cannot be NaN.');
    if (step === 0) throw new Error('Sequence step cannot be 0.');
    if (!Number.isFinite(step)) throw new Error('Sequence step cannot be +/-inf.');
    // Each from the start: sums of steps would end elsewhere.
    return elements(
      i => start + i * step,
      x => (step > 0 ? x <= end : x >= end),
    );
  },
  'bq_generate_numerics(NUMERIC, NUMERIC, NUMERIC) ARRAY<NUMERIC>': (
    start: bigint,
    end: bigint,
    step: bigint,
  ) => {
    if (step === 0n) throw new Error('Sequence step cannot be 0.');
    return elements(
      i => start + BigInt(i) * step,
      x => (step > 0n ? x <= end : x >= end),
    );
  },
};

function elements<N>(elementAt: (i: number) => N, isWithin: (x: N) => boolean): readonly N[] {
  const found: N[] = [];
  for (let x = elementAt(0); isWithin(x); x = elementAt(found.length)) {
    if (found.length === maxElements)
      throw new Error(`GENERATE_ARRAY produces too many elements; the limit is ${maxElements}`);
    found.push(x);
  }
  return found;
}
