import { row } from './function-row.ts';

/** Values as texts, so that equal ones have one hash. */
const hashedTypes: Readonly<Record<string, string>> = {
  INT64: 'cast($1 as varchar)',
  NUMERIC: 'bq_wire_numeric($1)',
  STRING: '$1',
  BYTES: 'hex($1)',
};

const defaultPrecision = 15;

const init = (type: string, precision: string) =>
  `bq_hll_init(array_agg(distinct cast(hash(${hashedTypes[type]}) >> 1 as bigint)) filter (where $1 is not null), '${type}', ${precision})`;

const merged = 'bq_hll_merge(array_agg($1) filter (where $1 is not null))';

/** Sketches of distinct values. */
export const sketchAggregateRows = [
  ...Object.keys(hashedTypes).flatMap(type => [
    row(`HLL_COUNT.INIT(${type}) SKETCH`, init(type, String(defaultPrecision))),
    row(`HLL_COUNT.INIT(${type}, INT64) SKETCH`, init(type, '$2')),
  ]),
  row('HLL_COUNT.MERGE(BYTES) INT64', `coalesce(bq_hll_count(${merged}), 0)`),
  row('HLL_COUNT.MERGE_PARTIAL(BYTES) SKETCH', merged),
];

export const sketchRows = [row('HLL_COUNT.EXTRACT(BYTES) INT64', 'coalesce(bq_hll_count($1), 0)')];

/**
 * The greatest sums of a group's weights first, NULL last, and of equal sums the greatest value first; NULL for a group without rows. A
 * lambda names the collected rows once.
 */
const topSums = (type: string) => {
  const keys = "list_transform(a[1], lambda e: cast(to_json({'v': e.v}) as varchar))";
  const sums = `bq_key_sums_${type.toLowerCase()}(${keys}, list_transform(a[1], lambda e: e.w))`;
  const found =
    "lambda p: {'a': p[2] is not null, 's': p[2], 'b': a[1][p[1]].v is not null, 'k': a[1][p[1]].v}";
  const sorted = `list_reverse_sort(list_transform(list_zip(bq_first_places(${keys}), ${sums}), ${found}))`;
  const top = `list_transform(list_slice(${sorted}, 1, $3), lambda e: {'value': e.k, 'sum': e.s})`;
  return `array_extract(list_transform([row(array_agg({'v': $1, 'w': $2}))], lambda a: case when a[1] is not null then ${top} end), 1)`;
};

export const topSumRows = ['INT64', 'FLOAT64', 'NUMERIC'].map(type =>
  row(`APPROX_TOP_SUM(C, ${type}, INT64) TOP<T> OF ${type}`, topSums(type)),
);
