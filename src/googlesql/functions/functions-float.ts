import { row, unsupported } from './function-row.ts';

/** Functions of DuckDB, which have the C library's last digits like the reference, and the arguments for which they are defined. */
const inDuckDb: Readonly<Record<string, readonly [call: string, domain: string]>> = {
  ACOS: ['acos($)', 'abs($1) <= 1'],
  ACOSH: ['acosh($)', '$1 >= 1'],
  ASIN: ['asin($)', 'abs($1) <= 1'],
  ASINH: ['asinh($)', 'isfinite($1)'],
  ATANH: ['atanh($)', 'abs($1) < 1'],
  COSH: ['cosh($)', 'isfinite($1)'],
  COT: ['1 / tan($)', 'isfinite($1)'],
  COTH: ['1 / tanh($)', 'isfinite($1)'],
  CSC: ['1 / sin($)', 'isfinite($1)'],
  CSCH: ['1 / sinh($)', 'isfinite($1)'],
  SEC: ['1 / cos($)', 'isfinite($1)'],
  SECH: ['1 / cosh($)', 'isfinite($1)'],
  SINH: ['sinh($)', 'isfinite($1)'],
};

/** Other arguments, and those without a finite result, are left to a function of the engine process. */
const checked = Object.entries(inDuckDb).map(([name, [call, domain]]) => {
  const answer = call.replace('$', `case when ${domain} then $1 end`);
  const rest = `bq_${name.toLowerCase()}($1)`;
  return row(`${name}(FLOAT64) FLOAT64`, `(case when isfinite(${answer}) then ${answer} else ${rest} end)`);
});

/** Functions of angles, roots and bits, and RANGE_BUCKET. */
export const floatRows = [
  ...checked,
  row('ATAN(FLOAT64) FLOAT64', 'atan($1)'),
  row('ATAN2(FLOAT64, FLOAT64) FLOAT64', 'atan2($1, $2)'),
  row('TANH(FLOAT64) FLOAT64', 'tanh($1)'),
  row('CBRT(FLOAT64) FLOAT64', 'cbrt($1)'),
  row('CBRT(NUMERIC) NUMERIC', unsupported),
  row('CBRT(BIGNUMERIC) BIGNUMERIC', unsupported),
  row('BIT_COUNT(INT64) INT64', 'cast(bit_count($1) as bigint)'),
  row('BIT_COUNT(BYTES) INT64', 'bq_bit_count($1)'),
  row(
    'RANGE_BUCKET(FLOAT64, ARRAY<FLOAT64>) INT64',
    '(case when not isnan($1) then bq_range_bucket($1, $2) end)',
  ),
  row('RANGE_BUCKET(C, ARRAY<T>) INT64', 'bq_range_bucket($1, $2)'),
];
