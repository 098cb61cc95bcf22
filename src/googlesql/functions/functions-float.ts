import { row, unsupported } from './function-row.ts';

/** Functions of DuckDB, which have the C library's last digits like the reference. */
const inDuckDb = ['ACOS', 'ACOSH', 'ASIN', 'ASINH', 'ATANH', 'COSH', 'SINH'];

/** Those that are calculated as the reciprocal of another one. */
const reciprocals: Readonly<Record<string, string>> = {
  COT: 'tan',
  COTH: 'tanh',
  CSC: 'sin',
  CSCH: 'sinh',
  SEC: 'cos',
  SECH: 'cosh',
};

/** The arguments for which a function is defined, unless these are all finite ones. */
const domains: Readonly<Record<string, string>> = {
  ACOS: 'abs($1) <= 1',
  ACOSH: '$1 >= 1',
  ASIN: 'abs($1) <= 1',
  ATANH: 'abs($1) < 1',
};

/** Other arguments, and those without a finite result, are left to a function of the engine process. */
const checked = [...inDuckDb, ...Object.keys(reciprocals)].map(name => {
  const argument = `case when ${domains[name] ?? 'isfinite($1)'} then $1 end`;
  const reciprocal = reciprocals[name];
  const answer = reciprocal ? `1 / ${reciprocal}(${argument})` : `${name.toLowerCase()}(${argument})`;
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
