import { row } from './function-row.ts';

const inEngine = [
  ...['ACOS', 'ACOSH', 'ASIN', 'ASINH', 'ATANH', 'COSH', 'COT', 'COTH', 'CSC', 'CSCH', 'SEC', 'SECH', 'SINH'],
].map(name => row(`${name}(FLOAT64) FLOAT64`, `bq_${name.toLowerCase()}($1)`));

/** Functions of angles and roots; RANGE_BUCKET counts what is not above. */
export const floatRows = [
  ...inEngine,
  row('ATAN(FLOAT64) FLOAT64', 'atan($1)'),
  row('ATAN2(FLOAT64, FLOAT64) FLOAT64', 'atan2($1, $2)'),
  row('TANH(FLOAT64) FLOAT64', 'tanh($1)'),
  row('CBRT(FLOAT64) FLOAT64', 'cbrt($1)'),
  row('TRUNC(FLOAT64, INT64) FLOAT64', 'bq_float_trunc($1, $2)'),
  row('BIT_COUNT(INT64) INT64', 'cast(bit_count($1) as bigint)'),
  row('BIT_COUNT(BYTES) INT64', 'bq_bit_count($1)'),
  row(
    'RANGE_BUCKET(FLOAT64, ARRAY<FLOAT64>) INT64',
    '(case when not isnan($1) then bq_range_bucket($1, $2) end)',
  ),
  row('RANGE_BUCKET(C, ARRAY<T>) INT64', 'bq_range_bucket($1, $2)'),
];
