import { type BoundExpression, call } from '../tree/bound-tree.ts';
import { fractionOf } from '../values/float-values.ts';
import { row, unsupported, type Variant } from './function-row.ts';
import { sketchAggregateRows, topSumRows } from './functions-sketch.ts';
import { isAlwaysFinite, magnitude, maxRowsExponent } from './magnitude.ts';

const sortable = ['INT64', 'FLOAT64', 'NUMERIC', 'STRING', 'TIMESTAMP', 'DATETIME', 'DATE', 'TIME'];

/**
 * Beyond this a square overflows, which DuckDB refuses, as it refuses NaN and infinities: such values are scaled down, and the result up
 * again.
 */
const largeSquare = '1e150';
const scale = 1e160;

/** Statistics of FLOAT64, with the number of values below which they are NULL; a variance that overflows is infinite. */
const statistics = Object.entries({
  STDDEV: ['stddev_samp', 2, `${scale}`],
  STDDEV_SAMP: ['stddev_samp', 2, `${scale}`],
  STDDEV_POP: ['stddev_pop', 1, `${scale}`],
  VARIANCE: ['var_samp', 2, `${scale} * ${scale}`],
  VAR_SAMP: ['var_samp', 2, `${scale} * ${scale}`],
  VAR_POP: ['var_pop', 1, `${scale} * ${scale}`],
}).map(([name, [duckDb, least, up]]) => {
  const plain = `${duckDb}($distinct$1)$over`;
  const small = `${duckDb}($distinctcase when abs($1) < ${largeSquare} then $1 end)$over`;
  const large = `${duckDb}($distinctcase when isfinite($1) then $1 / ${scale} end)$over * ${up}`;
  const template = `(case when max(abs($1))$over < ${largeSquare} then ${small} when count($distinct$1)$over >= ${least} then case when bool_and(isfinite($1))$over then ${large} else 'nan'::double end end)`;
  return row(`${name}(FLOAT64) FLOAT64`, template, { variants: [{ template: plain, applies: isSmall }] });
});

/** The same over NUMERIC, exact up to the last step: FLOAT64 has too few digits for values that lie close together. */
const numericStatistics = Object.entries({
  STDDEV: 'stddev_samp',
  STDDEV_SAMP: 'stddev_samp',
  STDDEV_POP: 'stddev_pop',
  VARIANCE: 'var_samp',
  VAR_SAMP: 'var_samp',
  VAR_POP: 'var_pop',
}).map(([name, statistic]) =>
  row(
    `${name}(NUMERIC) FLOAT64`,
    `bq_numeric_statistic(array_agg($distinct$1) filter (where $1 is not null)$over, '${statistic}')`,
  ),
);

/** Whether no value is so large that its square overflows, as with integers. */
function isSmall([value]: readonly BoundExpression[]): boolean {
  return (magnitude(value!) ?? Number.POSITIVE_INFINITY) < 400;
}

/** Whether both values of a pair are finite; NULL, which aggregates ignore, if either is NULL. */
const bothFinite = 'case when $1 is not null and $2 is not null then isfinite($1) and isfinite($2) end';

/** Over the pairs without a NULL. Beside NaN or infinity DuckDB fails, BigQuery answers NaN. */
const pairStatistics = Object.entries({ CORR: 2, COVAR_POP: 1, COVAR_SAMP: 2 }).map(([name, pairs]) => {
  const scaled = (first: string, second: string) => {
    // DuckDB also calculates branches that are not taken, and fails for large values.
    const fits = (value: string, down: string) =>
      down ? `isfinite(${value})` : `abs(${value}) < ${largeSquare}`;
    const both = `${fits('$1', first)} and ${fits('$2', second)}`;
    const up = [first, second].filter(down => name !== 'CORR' && down).map(() => ` * ${scale}`);
    return `${name.toLowerCase()}(case when ${both} then $1${first} end, case when ${both} then $2${second} end)$over${up.join('')}`;
  };
  const down = ` / ${scale}`;
  const areSmall = (value: string, other: string) =>
    `max(case when ${other} is not null then abs(${value}) end)$over < ${largeSquare}`;
  const bySecond = (first: string) =>
    `case when ${areSmall('$2', '$1')} then ${scaled(first, '')} else ${scaled(first, down)} end`;
  const finite = `case when ${areSmall('$1', '$2')} then ${bySecond('')} else ${bySecond(down)} end`;
  const answer = (text: string) => `(case when regr_count($1, $2)$over >= ${pairs} then ${text} end)`;
  const plain = answer(`${name.toLowerCase()}($1, $2)$over`);
  return row(
    `${name}(FLOAT64, FLOAT64) FLOAT64`,
    answer(`case when bool_and(${bothFinite})$over then ${finite} else 'nan'::double end`),
    { variants: [{ template: plain, applies: values => values.every(value => isSmall([value])) }] },
  );
});

const leastOfNumbers: Variant = { template: 'min($1)$over', applies: ([value]) => isAlwaysFinite(value!) };

export const arrayTemplate = 'array_agg($distinct$1$order)$filter$over';

/** Whether the sum of all rows stays finite. */
const cannotOverflow: Variant['applies'] = ([value]) =>
  (magnitude(value!) ?? Number.POSITIVE_INFINITY) + maxRowsExponent <= 1023;

/** Sums of the whole parts and of the fractions: DuckDB's sum of two NUMERIC may be beyond its 128 bits. */
const wholeSum = 'sum(cast(trunc($1) as hugeint))$over';
const fractionSum = 'sum($1 - trunc($1))$over';

/** The same for distinct values, which only DuckDB's own SUM can single out. */
const distinctWhole = 'cast(trunc(sum($distinct$1)$over) as hugeint)';
const distinctFraction = 'sum($distinct$1)$over - trunc(sum($distinct$1)$over)';

/** The values that are not NULL. */
export const listedTemplate = 'array_agg($distinct$1$order) filter (where $1 is not null)$over';

/** Aggregate functions, which also take OVER where `$over` stands. All of them ignore NULL. */
export const aggregateRows = [
  row('COUNT() INT64', 'count(*)$over'),
  row('COUNT(T) INT64', 'count($distinct$1)$over'),
  row('COUNTIF(BOOL) INT64', 'count($distinctcase when $1 then 1 end)$over'),
  // DuckDB sums BIGINT in 128 bits; the cast fails where BigQuery overflows.
  row('SUM(INT64) INT64', 'cast(sum($distinct$1)$over as bigint)'),
  row('SUM(NUMERIC) NUMERIC', `bq_numeric_sum(${wholeSum}, ${fractionSum})`, {
    distinct: `bq_numeric_sum(${distinctWhole}, ${distinctFraction})`,
  }),
  row('SUM(FLOAT64) FLOAT64', 'bq_checked_sum(sum($distinct$1)$over, bool_and(isfinite($1))$over)', {
    variants: [{ template: 'sum($distinct$1)$over', applies: cannotOverflow }],
  }),
  row('AVG(INT64) FLOAT64', 'avg($distinct$1)$over'),
  row(
    'AVG(NUMERIC) NUMERIC',
    `bq_numeric_average(cast(${wholeSum} as varchar), ${fractionSum}, count($1)$over)`,
    {
      distinct: `bq_numeric_average(cast(${distinctWhole} as varchar), ${distinctFraction}, count($distinct$1)$over)`,
    },
  ),
  row('AVG(FLOAT64) FLOAT64', 'bq_average(avg($distinct$1)$over, bool_or(isnan($1))$over)', {
    variants: [{ template: 'avg($distinct$1)$over', applies: cannotOverflow }],
  }),
  // NaN is the least number to BigQuery and the greatest to DuckDB; MAX is NaN in both as soon as one value is.
  row('MIN(FLOAT64) FLOAT64', '(-max(-$1)$over)', { variants: [leastOfNumbers] }),
  row('MIN(C) C', 'min($1)$over'),
  row('MAX(C) C', 'max($1)$over'),
  row('ANY_VALUE(T) T', 'any_value($1)$over'),
  ...sortable.map(type => row(`MAX_BY(T, ${type}) T`, 'arg_max_null($1, $2)', { sortsBy: 1 })),
  ...sortable.map(type => row(`MIN_BY(T, ${type}) T`, 'arg_min_null($1, $2)', { sortsBy: 1 })),
  row('GROUPING(T) INT64', 'grouping($1)'),
  row('LOGICAL_OR(BOOL) BOOL', 'bool_or($1)$over'),
  row('LOGICAL_AND(BOOL) BOOL', 'bool_and($1)$over'),
  row('BIT_AND(INT64) INT64', 'bit_and($1)$over'),
  row('BIT_OR(INT64) INT64', 'bit_or($1)$over'),
  row('BIT_XOR(INT64) INT64', 'bit_xor($distinct$1)$over'),
  ...statistics,
  // After the rows of FLOAT64, to which integers are coerced.
  ...numericStatistics,
  ...pairStatistics,
  row(
    'APPROX_TOP_COUNT(C, INT64) TOP<T>',
    "list_transform(list_slice(list_reverse_sort(list_transform(map_entries(histogram({'v': $1})), lambda e: {'c': e.value, 'k': e.key.v})), 1, $2), lambda e: {'value': e.k, 'count': cast(e.c as bigint)})",
  ),
  ...topSumRows,
  ...sketchAggregateRows,
  // Exact: DuckDB's estimate is off by an eighth, even for few values.
  row('APPROX_COUNT_DISTINCT(C) INT64', 'count(distinct $1)$over'),
  ...sortable.map(type =>
    row(
      `APPROX_QUANTILES(${type}, INT64) ARRAY<${type}>`,
      'quantile_disc($distinct$1, list_transform(range($2 + 1), lambda q: q / $2))',
      { sortsBy: 0 },
    ),
  ),
  row('ARRAY_AGG(T) ARRAY<T>', arrayTemplate),
  row(
    'ARRAY_CONCAT_AGG(ARRAY<T>) ARRAY<T>',
    'flatten(array_agg($1$order) filter (where $1 is not null)$over)',
  ),
  // Before BYTES: a NULL without a type is a STRING.
  row('STRING_AGG(STRING) STRING', "string_agg($distinct$1, ','$order)$over"),
  row('STRING_AGG(STRING, STRING) STRING', 'string_agg($distinct$1, $2$order)$over'),
  row('STRING_AGG(BYTES) BYTES', `bq_bytes_join(${listedTemplate}, ','::blob)`),
  row('STRING_AGG(BYTES, BYTES) BYTES', `bq_bytes_join(${listedTemplate}, $2)`),
];

/** `any_value(x having max y)`. */
export const extremeValueRows = {
  MAX: sortable.map(type => row(`ANY_VALUE(T, ${type}) T`, 'arg_max_null($1, $2)', { sortsBy: 1 })),
  MIN: sortable.map(type => row(`ANY_VALUE(T, ${type}) T`, 'arg_min_null($1, $2)', { sortsBy: 1 })),
};

/** Functions that exist with OVER only. */
export const windowRows = [
  row('ROW_NUMBER() INT64', 'row_number()$over'),
  row('RANK() INT64', 'rank()$over'),
  row('DENSE_RANK() INT64', 'dense_rank()$over'),
  row('PERCENT_RANK() FLOAT64', 'percent_rank()$over'),
  row('CUME_DIST() FLOAT64', 'cume_dist()$over'),
  row('NTILE(INT64) INT64', 'ntile($1)$over'),
  ...['LAG', 'LEAD'].flatMap(name => [
    row(`${name}(T) T`, `${name.toLowerCase()}($1)$over`),
    row(`${name}(T, INT64) T`, `${name.toLowerCase()}($1, $2)$over`),
    row(`${name}(T, INT64, T) T`, `${name.toLowerCase()}($1, $2, $3)$over`),
  ]),
  row('FIRST_VALUE(T) T', 'first_value($1$filter)$over'),
  row('LAST_VALUE(T) T', 'last_value($1$filter)$over'),
  row('NTH_VALUE(T, INT64) T', 'nth_value($1, $2$filter)$over'),
  row('PERCENTILE_CONT(FLOAT64, FLOAT64) FLOAT64', 'quantile_cont($1, $2)$over', { sortsBy: 0 }),
  row('PERCENTILE_CONT(NUMERIC, NUMERIC) NUMERIC', unsupported),
  ...sortable.map(type =>
    row(`PERCENTILE_DISC(${type}, FLOAT64) ${type}`, 'quantile_disc($1, $2)$over', { sortsBy: 0 }),
  ),
];

/**
 * The percentile of PERCENTILE_DISC. BigQuery multiplies the FLOAT64 by the number of rows exactly: 0.9 is a little more than nine tenths,
 * so that of 10 rows the 10th is the first at it. DuckDB rounds the product, so such a percentile is raised by more than rounding removes.
 */
export function exactPercentile(value: BoundExpression): BoundExpression {
  if (value.kind !== 'literal' || value.type.kind !== 'FLOAT64') return value;
  const number = Number(value.value);
  const [numerator, denominator] = fractionOf(number);
  const [, whole = '', fraction = '', exponent = '0'] =
    /^(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(value.value) ?? [];
  const places = fraction.length - Number(exponent);
  const [up, down] = places > 0 ? [10n ** BigInt(places), 1n] : [1n, 10n ** BigInt(-places)];
  const isMore = numerator * up > BigInt(whole + fraction) * down * denominator;
  return isMore ? { ...value, value: String(Math.min(1, number + 2 ** -50)) } : value;
}

const maxDistance = Number.MAX_SAFE_INTEGER;

/** Arguments that must be literals if they are given, with their ranges. */
export const literalArguments: Readonly<Record<string, { index: number; from: number; to: number }>> = {
  APPROX_QUANTILES: { index: 1, from: 1, to: 10_000 },
  APPROX_TOP_COUNT: { index: 1, from: 1, to: 100_000 },
  APPROX_TOP_SUM: { index: 2, from: 1, to: 100_000 },
  'HLL_COUNT.INIT': { index: 1, from: 10, to: 24 },
  LAG: { index: 1, from: 0, to: maxDistance },
  LEAD: { index: 1, from: 0, to: maxDistance },
  NTH_VALUE: { index: 1, from: 1, to: maxDistance },
  NTILE: { index: 0, from: 1, to: maxDistance },
  PERCENTILE_CONT: { index: 1, from: 0, to: 1 },
  PERCENTILE_DISC: { index: 1, from: 0, to: 1 },
};

/** An argument to sort by. NaN, which DuckDB sorts elsewhere, is refused. */
export function notNan(value: BoundExpression): BoundExpression {
  if (value.type.kind !== 'FLOAT64' || isAlwaysFinite(value)) return value;
  return call('NOT_NAN', 'bq_not_nan($1)', [value], value.type);
}

/** Quantiles of values with NULL as the least of them, at the same places as by `quantile_disc`. */
export const quantilesWithNulls =
  "list_transform(range($2 + 1), lambda q: list_extract(list_sort(array_agg($distinct$1), 'asc', 'nulls first'), greatest(1, (q * len(array_agg($distinct$1)) + $2 - 1) // $2)))";

/** One of the quantiles, if it is known which: DuckDB need not calculate all of them. */
export function quantileAt(of: BoundExpression, index: BoundExpression): BoundExpression | undefined {
  if (of.kind !== 'aggregate' || of.name !== 'APPROX_QUANTILES' || of.type.kind !== 'ARRAY') return undefined;
  if (of.template === quantilesWithNulls) return undefined;
  const [value, count] = of.arguments;
  if (index.kind !== 'literal' || count?.kind !== 'literal') return undefined;
  const fraction = Number(index.value) / Number(count.value);
  if (!(fraction >= 0 && fraction <= 1)) return undefined;
  const template = `quantile_disc($distinct$1, cast(${fraction} as double))`;
  return { ...of, template, type: of.type.element, arguments: [value!] };
}
