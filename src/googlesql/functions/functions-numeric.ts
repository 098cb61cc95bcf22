import { row, unsupported } from './function-row.ts';

/**
 * NUMERIC where DuckDB has FLOAT64 only: exact functions of the engine process. The transcendental ones are refused: their last digits
 * are an algorithm's.
 */
export const numericRows = [
  row('ROUND(NUMERIC) NUMERIC', 'bq_numeric_round($1, 0)'),
  row('ROUND(NUMERIC, INT64) NUMERIC', 'bq_numeric_round($1, $2)'),
  row('ROUND(NUMERIC, INT64, STRING) NUMERIC', 'bq_numeric_round_by($1, $2, $3)'),
  row('TRUNC(NUMERIC) NUMERIC', 'bq_numeric_trunc($1, 0)'),
  row('TRUNC(NUMERIC, INT64) NUMERIC', 'bq_numeric_trunc($1, $2)'),
  row('FLOOR(NUMERIC) NUMERIC', 'bq_numeric_floor($1)'),
  ...['CEIL', 'CEILING'].map(name => row(`${name}(NUMERIC) NUMERIC`, 'bq_numeric_ceil($1)')),
  row('SQRT(NUMERIC) NUMERIC', 'bq_numeric_sqrt($1)'),
  row('DIV(NUMERIC, NUMERIC) NUMERIC', 'bq_numeric_div($1, $2)'),
  row('MOD(NUMERIC, NUMERIC) NUMERIC', 'bq_numeric_mod($1, $2)'),
  row('SAFE_DIVIDE(NUMERIC, NUMERIC) NUMERIC', 'try(bq_numeric_divide($1, $2))'),
  row('SAFE_ADD(NUMERIC, NUMERIC) NUMERIC', 'try(cast($1 + $2 as decimal(38, 9)))'),
  row('SAFE_SUBTRACT(NUMERIC, NUMERIC) NUMERIC', 'try(cast($1 - $2 as decimal(38, 9)))'),
  row('SAFE_MULTIPLY(NUMERIC, NUMERIC) NUMERIC', 'try(bq_numeric_multiply($1, $2))'),
  row('SAFE_NEGATE(INT64) INT64', 'try(-$1)'),
  row('SAFE_NEGATE(FLOAT64) FLOAT64', '(-$1)'),
  row('SAFE_NEGATE(NUMERIC) NUMERIC', '(-$1)'),
  row('SAFE_NEGATE(BIGNUMERIC) BIGNUMERIC', unsupported),
  row('PARSE_NUMERIC(STRING) NUMERIC', 'bq_parse_numeric($1)'),
  row('PARSE_BIGNUMERIC(STRING) BIGNUMERIC', unsupported),
];
