import { isPlainConstant } from '../tree/let-in.ts';
import { row, type Variant } from './function-row.ts';

const withTexts = 'list_transform($1, lambda e: coalesce(e, $3))';

/** Joins texts with a calculated separator, which DuckDB's own function does not accept, as elements between them. */
const joined = (texts: string) =>
  `(case when $2 is not null then array_to_string(flatten(list_transform(list_filter(${texts}, lambda e: e is not null), lambda e, i: case when i = 1 then [e] else [$2, e] end)), '') end)`;

const hasConstantSeparator: Variant['applies'] = ([, separator]) =>
  separator!.kind !== 'named' && isPlainConstant(separator!);

/** ARRAY_LENGTH is a node of its own: it must not read the elements. */
export const arrayRows = [
  row('ARRAY_CONCAT(ARRAY<T>) ARRAY<T>', '$1'),
  row('ARRAY_CONCAT(ARRAY<T>, ARRAY<T>) ARRAY<T>', 'bq_array_concat($1, $2)'),
  row('ARRAY_CONCAT(ARRAY<T>, ARRAY<T>, ARRAY<T>) ARRAY<T>', 'bq_array_concat(bq_array_concat($1, $2), $3)'),
  row(
    'ARRAY_CONCAT(ARRAY<T>, ARRAY<T>, ARRAY<T>, ARRAY<T>...) ARRAY<T>',
    '(case when $null then null else list_concat($*) end)',
  ),
  row('ARRAY_SLICE(ARRAY<T>, INT64, INT64) ARRAY<T>', 'bq_array_slice($1, $2, $3)'),
  row('ARRAY_REVERSE(ARRAY<T>) ARRAY<T>', 'list_reverse($1)'),
  row(
    'ARRAY_FIRST(ARRAY<T>) T',
    "$1[case when len($1) = 0 then bq_fail('ARRAY_FIRST cannot get the first element of an empty array') else 1 end]",
  ),
  row(
    'ARRAY_LAST(ARRAY<T>) T',
    "$1[case when len($1) = 0 then bq_fail('ARRAY_LAST cannot get the last element of an empty array') else len($1) end]",
  ),
  row('ARRAY_TO_STRING(ARRAY<STRING>, STRING) STRING', joined('$1'), {
    variants: [{ template: 'bq_array_to_string($1, $2)', applies: hasConstantSeparator }],
  }),
  row(
    'ARRAY_TO_STRING(ARRAY<STRING>, STRING, STRING) STRING',
    `(case when $3 is not null then ${joined(withTexts)} end)`,
    {
      variants: [
        {
          template: `(case when $3 is not null then bq_array_to_string(${withTexts}, $2) end)`,
          applies: hasConstantSeparator,
        },
      ],
    },
  ),
  row('ARRAY_TO_STRING(ARRAY<BYTES>, BYTES) BYTES', 'bq_bytes_join($1, $2)'),
  row(
    'ARRAY_TO_STRING(ARRAY<BYTES>, BYTES, BYTES) BYTES',
    '(case when $3 is not null then bq_bytes_join(list_transform($1, lambda e: coalesce(e, $3)), $2) end)',
  ),
  ...['COSINE', 'EUCLIDEAN'].map(name =>
    row(
      `${name}_DISTANCE(ARRAY<FLOAT64>, ARRAY<FLOAT64>) FLOAT64`,
      `bq_${name.toLowerCase()}_distance($1, $2)`,
    ),
  ),
  row('GENERATE_ARRAY(INT64, INT64) ARRAY<INT64>', 'bq_generate_array($1, $2, 1)'),
  row('GENERATE_ARRAY(INT64, INT64, INT64) ARRAY<INT64>', 'bq_generate_array($1, $2, $3)'),
  row('GENERATE_ARRAY(NUMERIC, NUMERIC) ARRAY<NUMERIC>', 'bq_generate_numerics($1, $2, 1::decimal(38, 9))'),
  row('GENERATE_ARRAY(NUMERIC, NUMERIC, NUMERIC) ARRAY<NUMERIC>', 'bq_generate_numerics($1, $2, $3)'),
  row('GENERATE_ARRAY(FLOAT64, FLOAT64) ARRAY<FLOAT64>', 'bq_generate_floats($1, $2, 1::double)'),
  row('GENERATE_ARRAY(FLOAT64, FLOAT64, FLOAT64) ARRAY<FLOAT64>', 'bq_generate_floats($1, $2, $3)'),
  row(
    'GENERATE_TIMESTAMP_ARRAY(TIMESTAMP, TIMESTAMP, INTERVAL) ARRAY<TIMESTAMP>',
    'bq_generate_timestamps($1, $2, $3)',
  ),
  row('GENERATE_DATE_ARRAY(DATE, DATE) ARRAY<DATE>', "bq_generate_dates($1, $2, interval '1 day')"),
  row('GENERATE_DATE_ARRAY(DATE, DATE, INTERVAL) ARRAY<DATE>', 'bq_generate_dates($1, $2, $3)'),
];
