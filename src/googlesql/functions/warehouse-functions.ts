import { type SqlType, scalar } from '../tree/types.ts';
import { row, rowsByName, unsupported } from './function-row.ts';

/** Signatures of one name, or of several with the same parameters and results. */
const all = (names: string, ...signatures: readonly string[]) =>
  names.split(' ').flatMap(name => signatures.map(signature => `${name}${signature}`));

/**
 * Scalar functions of BigQuery without a form in the embedded engine, and further signatures of others: only the warehouse
 * answers them. All of them read nothing but their arguments. A row of the other tables with the same signature has precedence.
 * Source: BigQuery, GoogleSQL reference.
 */
const scalarSignatures: readonly string[] = [
  // Text
  'COLLATE(STRING, STRING) STRING',
  // Of records and whole rows, too.
  ...all('CONTAINS_SUBSTR SEARCH', '(T, STRING) BOOL'),
  'TEXT_ANALYZE(STRING) ARRAY<STRING>',
  'BAG_OF_WORDS(ARRAY<STRING>) ARRAY<STRUCT<term STRING, count INT64>>',
  // Where DuckDB's functions can't read the pattern
  ...all('REGEXP_EXTRACT REGEXP_SUBSTR', '(STRING, STRING) STRING'),
  'REGEXP_EXTRACT_ALL(STRING, STRING) ARRAY<STRING>',
  'REGEXP_REPLACE(STRING, STRING, STRING) STRING',
  // Numbers
  'PARSE_BIGNUMERIC(STRING) BIGNUMERIC',
  'RANGE_BUCKET(BIGNUMERIC, ARRAY<BIGNUMERIC>) INT64',
  ...all('NULLIFZERO ZEROIFNULL', '(BIGNUMERIC) BIGNUMERIC'),
  'TRUNC(NUMERIC, INT64, STRING) NUMERIC',
  ...all('ABS SIGN ROUND TRUNC CEIL CEILING FLOOR SQRT EXP LN LOG10 SAFE_NEGATE', '(BIGNUMERIC) BIGNUMERIC'),
  ...all('ROUND TRUNC', '(BIGNUMERIC, INT64) BIGNUMERIC', '(BIGNUMERIC, INT64, STRING) BIGNUMERIC'),
  ...all(
    'MOD DIV POW POWER LOG SAFE_ADD SAFE_SUBTRACT SAFE_MULTIPLY SAFE_DIVIDE',
    '(BIGNUMERIC, BIGNUMERIC) BIGNUMERIC',
  ),
  // Dates and times
  ...['DATE', 'DATETIME', 'TIMESTAMP'].flatMap(type =>
    all(`${type}_BUCKET`, `(${type}, INTERVAL) ${type}`, `(${type}, INTERVAL, ${type}) ${type}`),
  ),
  // JSON
  ...all('TO_JSON', '(T) JSON'),
  ...all('TO_JSON_STRING', '(T) STRING'),
  'JSON_FLATTEN(JSON) ARRAY<JSON>',
  // Arrays
  'ARRAY_IS_DISTINCT(ARRAY<T>) BOOL',
  ...all(
    'GENERATE_ARRAY',
    '(BIGNUMERIC, BIGNUMERIC) ARRAY<BIGNUMERIC>',
    '(BIGNUMERIC, BIGNUMERIC, BIGNUMERIC) ARRAY<BIGNUMERIC>',
  ),
  // Networks
  ...all('NET.PUBLIC_SUFFIX NET.REG_DOMAIN', '(STRING) STRING'),
  // Sketches
  'KLL_QUANTILES.EXTRACT_INT64(BYTES, INT64) ARRAY<INT64>',
  'KLL_QUANTILES.EXTRACT_FLOAT64(BYTES, INT64) ARRAY<FLOAT64>',
  'KLL_QUANTILES.EXTRACT_POINT_INT64(BYTES, FLOAT64) INT64',
  'KLL_QUANTILES.EXTRACT_POINT_FLOAT64(BYTES, FLOAT64) FLOAT64',
];

/** The same for aggregate functions. */
const aggregateSignatures: readonly string[] = [
  ...all('SUM AVG MIN MAX', '(BIGNUMERIC) BIGNUMERIC'),
  ...all('SUM AVG', '(INTERVAL) INTERVAL'),
  ...all('BIT_AND BIT_OR BIT_XOR', '(BYTES) BYTES'),
  ...all('HLL_COUNT.INIT', '(BIGNUMERIC) BYTES', '(BIGNUMERIC, INT64) BYTES'),
  'APPROX_TOP_SUM(C, BIGNUMERIC, INT64) TOP<T> OF BIGNUMERIC',
  ...all(
    'TF_IDF',
    '(ARRAY<STRING>) ARRAY<STRUCT<term STRING, tf_idf FLOAT64>>',
    '(ARRAY<STRING>, INT64) ARRAY<STRUCT<term STRING, tf_idf FLOAT64>>',
    '(ARRAY<STRING>, INT64, INT64) ARRAY<STRUCT<term STRING, tf_idf FLOAT64>>',
  ),
  'KLL_QUANTILES.MERGE_PARTIAL(BYTES) BYTES',
  ...all('KLL_QUANTILES.INIT_INT64', '(INT64) BYTES', '(INT64, INT64) BYTES'),
  ...all('KLL_QUANTILES.INIT_FLOAT64', '(FLOAT64) BYTES', '(FLOAT64, INT64) BYTES'),
  'KLL_QUANTILES.MERGE_INT64(BYTES, INT64) ARRAY<INT64>',
  'KLL_QUANTILES.MERGE_FLOAT64(BYTES, INT64) ARRAY<FLOAT64>',
  'KLL_QUANTILES.MERGE_POINT_INT64(BYTES, FLOAT64) INT64',
  'KLL_QUANTILES.MERGE_POINT_FLOAT64(BYTES, FLOAT64) FLOAT64',
];

const rowsOf = (signatures: readonly string[]) => signatures.map(signature => row(signature, unsupported));

export const warehouseRows = rowsOf(scalarSignatures);
export const warehouseAggregateRows = rowsOf(aggregateSignatures);

/** Scalar rows by name, for calls that a special function refuses. */
export const warehouseRowsByName = rowsByName(warehouseRows);

/** Their named arguments, with types. */
export const warehouseOptions: Readonly<Record<string, Readonly<Record<string, SqlType>>>> = {
  CONTAINS_SUBSTR: textOptions('json_scope'),
  SEARCH: textOptions('json_scope', 'analyzer', 'analyzer_options'),
  TEXT_ANALYZE: textOptions('analyzer', 'analyzer_options'),
};

function textOptions(...names: readonly string[]): Readonly<Record<string, SqlType>> {
  return Object.fromEntries(names.map(name => [name, scalar('STRING')]));
}
