import type { SqlPosition } from '../errors.ts';
import type { BoundExpression } from './bound-tree.ts';
import { bindRow, row, rowsByName } from './function-row.ts';
import { invalidQuery } from './sql-error.ts';

const comparisons = ['=', '!=', '<', '>', '<=', '>='].map(name =>
  row(`${name}(C, C) BOOL`, `($1 ${name} $2)`),
);

const arithmetic = ['+', '-', '*'].flatMap(name =>
  ['INT64', 'NUMERIC', 'BIGNUMERIC', 'FLOAT64'].map(type =>
    row(`${name}(${type}, ${type}) ${type}`, `($1 ${name} $2)`),
  ),
);

const shifted = ['TIMESTAMP', 'DATETIME'].flatMap(type => [
  row(`+(${type}, INTERVAL) ${type}`, '($1 + $2)'),
  row(`-(${type}, INTERVAL) ${type}`, '($1 - $2)'),
  row(`+(INTERVAL, ${type}) ${type}`, '($2 + $1)'),
]);

/** A text with digits only, or an INT64, as the count of an interval; a unit longer than a day is a calendar step. */
const intervals = Object.entries({
  MICROSECOND: 'to_microseconds($1)',
  MILLISECOND: 'to_microseconds($1 * 1000)',
  SECOND: 'to_microseconds($1 * 1000000)',
  MINUTE: 'to_microseconds($1 * 60000000)',
  HOUR: 'to_microseconds($1 * 3600000000)',
  DAY: 'to_days(cast($1 as integer))',
  WEEK: 'to_days(cast($1 * 7 as integer))',
  MONTH: 'to_months(cast($1 as integer))',
  QUARTER: 'to_months(cast($1 * 3 as integer))',
  YEAR: 'to_months(cast($1 * 12 as integer))',
}).map(([part, template]) => row(`INTERVAL ${part}(INT64) INTERVAL`, template));

/** The operators, each a function whose name is its symbol. */
const operatorRows = rowsByName([
  row('AND(BOOL, BOOL) BOOL', '($1 and $2)'),
  row('OR(BOOL, BOOL) BOOL', '($1 or $2)'),
  row('NOT(BOOL) BOOL', '(not $1)'),
  row('IS TRUE(BOOL) BOOL', '($1 is true)'),
  row('IS FALSE(BOOL) BOOL', '($1 is false)'),
  row('IS DISTINCT FROM(C, C) BOOL', '($1 is distinct from $2)'),
  ...comparisons,
  row('LIKE(STRING, STRING) BOOL', String.raw`($1 like $2 escape '\')`),
  row('||(STRING, STRING) STRING', '($1 || $2)'),
  row('||(BYTES, BYTES) BYTES', '($1 || $2)'),
  row('||(ARRAY<T>, ARRAY<T>) ARRAY<T>', 'bq_array_concat($1, $2)'),
  ...arithmetic,
  row('/(FLOAT64, FLOAT64) FLOAT64', 'bq_divide($1, $2)'),
  row('+(DATE, INT64) DATE', '($1 + cast($2 as integer))'),
  row('-(DATE, INT64) DATE', '($1 - cast($2 as integer))'),
  row('+(DATE, INTERVAL) DATETIME', '($1 + $2)'),
  row('-(DATE, INTERVAL) DATETIME', '($1 - $2)'),
  ...shifted,
  ...intervals,
  row('unary -(INT64) INT64', '(-$1)'),
  row('unary -(NUMERIC) NUMERIC', '(-$1)'),
  row('unary -(FLOAT64) FLOAT64', '(-$1)'),
  row('unary +(INT64) INT64', '$1'),
  row('unary +(NUMERIC) NUMERIC', '$1'),
  row('unary +(FLOAT64) FLOAT64', '$1'),
  row('unary ~(INT64) INT64', '(~$1)'),
  row('&(INT64, INT64) INT64', '($1 & $2)'),
  row('|(INT64, INT64) INT64', '($1 | $2)'),
  row('^(INT64, INT64) INT64', 'xor($1, $2)'),
]);

/** An operator is a function with a symbol for a name. */
export function operator(name: string, values: readonly BoundExpression[], at: SqlPosition): BoundExpression {
  const rows = operatorRows.get(name);
  if (!rows) throw invalidQuery(`Operator ${name} is not supported`, at);
  return bindRow(rows, `operator ${name}`, values, at);
}
