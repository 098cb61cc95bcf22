import type { SqlPosition } from '../../../base/errors.ts';
import {
  type IntervalParts,
  intervalText,
  readAnyInterval,
  readInterval,
} from '../../times/read-interval.ts';
import type { SpecialFunction } from '../../tree/bind-context.ts';
import { type BoundExpression, literal } from '../../tree/bound-tree.ts';
import { coerce } from '../../tree/coercion.ts';
import { foldName } from '../../tree/scope.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import { scalar } from '../../tree/types.ts';
import { row, type Variant } from '../function-row.ts';
import { timeCall } from './time-arguments.ts';

/** `INTERVAL '1:30' HOUR TO MINUTE`: a text, and its first part and its last. */
export function intervalLiteral(
  text: string,
  [first, last]: readonly [string, string],
  at: SqlPosition,
): BoundExpression {
  return literalOf(readInterval(text, first, last), text, at);
}

/** The text of a CAST to INTERVAL. */
export function anyIntervalLiteral(text: string, at: SqlPosition): BoundExpression {
  return literalOf(readAnyInterval(text), text, at);
}

function literalOf(parts: IntervalParts | undefined, text: string, at: SqlPosition): BoundExpression {
  if (!parts) throw invalidQuery(`Invalid INTERVAL value '${text}', or one that is not supported`, at);
  return literal('INTERVAL', intervalText(parts));
}

/** DuckDB text of parts of intervals. BigQuery's parts and DuckDB's have the same names, but not always the same meaning. */
const extracts: Readonly<Record<string, string>> = {
  YEAR: "date_part('year', $1)",
  MONTH: "date_part('month', $1)",
  DAY: "date_part('day', $1)",
  HOUR: "date_part('hour', $1)",
  MINUTE: "date_part('minute', $1)",
  SECOND: "date_part('microsecond', $1) // 1000000",
  MILLISECOND: "date_part('microsecond', $1) % 1000000 // 1000",
  MICROSECOND: "date_part('microsecond', $1) % 1000000",
};

/** `EXTRACT(part FROM interval)`. */
export function extractFromInterval(part: string, of: BoundExpression, at: SqlPosition): BoundExpression {
  const template = extracts[part];
  if (!template) throw invalidQuery(`EXTRACT from INTERVAL does not support the ${part} date part`, at);
  return timeCall('EXTRACT', `cast(${template} as bigint)`, [of], 'INT64');
}

/** An INTERVAL that visibly has no months, so that it needs no check. */
const withoutMonths: Variant = {
  template: '',
  applies: values =>
    values.some(
      value =>
        value.type.kind === 'INTERVAL' &&
        ((value.kind === 'call' &&
          /^INTERVAL (MICRO|MILLI)?(SECOND|MINUTE|HOUR|DAY|WEEK)$/.test(value.name)) ||
          (value.kind === 'literal' && value.value.startsWith('0 months'))),
    ),
};

const shifted = (name: string, type: string, template: string) => {
  if (type !== 'TIMESTAMP') return [row(`${name} ${type}`, template)];
  const interval = name.endsWith('INTERVAL)') ? '$2' : '$1';
  return [
    row(`${name} ${type}`, template.replace(interval, `bq_no_months(${interval})`), {
      variants: [{ ...withoutMonths, template }],
    }),
  ];
};

/** Operators over INTERVAL values. */
export const intervalOperatorRows = [
  ...['TIMESTAMP', 'DATETIME'].flatMap(type => {
    const ranged = `bq_ranged_${type.toLowerCase()}`;
    return [
      ...shifted(`+(${type}, INTERVAL)`, type, `${ranged}($1 + $2)`),
      ...shifted(`-(${type}, INTERVAL)`, type, `${ranged}($1 - $2)`),
      ...shifted(`+(INTERVAL, ${type})`, type, `${ranged}($2 + $1)`),
    ];
  }),
  row('+(DATE, INTERVAL) DATETIME', 'bq_ranged_datetime($1 + $2)'),
  row('-(DATE, INTERVAL) DATETIME', 'bq_ranged_datetime($1 - $2)'),
  row('+(INTERVAL, DATE) DATETIME', 'bq_ranged_datetime($2 + $1)'),
  row('+(INTERVAL, INTERVAL) INTERVAL', '($1 + $2)'),
  row('-(INTERVAL, INTERVAL) INTERVAL', '($1 - $2)'),
  row('*(INTERVAL, INT64) INTERVAL', 'bq_interval_times($1, $2)'),
  row('*(INT64, INTERVAL) INTERVAL', 'bq_interval_times($2, $1)'),
  row('/(INTERVAL, INT64) INTERVAL', 'bq_interval_divide($1, $2)'),
  row('unary -(INTERVAL) INTERVAL', 'bq_interval_times($1, -1)'),
  row('unary +(INTERVAL) INTERVAL', '$1'),
  row('-(DATE, DATE) INTERVAL', 'to_days(cast($1 - $2 as integer))'),
  row('-(DATETIME, DATETIME) INTERVAL', 'to_microseconds(epoch_us($1) - epoch_us($2))'),
  row('-(TIMESTAMP, TIMESTAMP) INTERVAL', 'to_microseconds(epoch_us($1) - epoch_us($2))'),
  row('-(TIME, TIME) INTERVAL', "to_microseconds(date_diff('microsecond', $2, $1))"),
];

export const intervalRows = [
  row('JUSTIFY_HOURS(INTERVAL) INTERVAL', 'bq_justify_hours($1)'),
  row('JUSTIFY_DAYS(INTERVAL) INTERVAL', 'bq_justify_days($1)'),
  row('JUSTIFY_INTERVAL(INTERVAL) INTERVAL', 'bq_justify_interval($1)'),
];

const intervalFields = ['year', 'month', 'day', 'hour', 'minute', 'second'];

/** `MAKE_INTERVAL(1, 2, day => 3)`. */
const makeInterval: SpecialFunction = (context, syntax) => {
  const { arguments: listed, named = [], at } = syntax;
  if (listed.length > intervalFields.length)
    throw invalidQuery(
      `No matching signature for function MAKE_INTERVAL with ${listed.length} arguments`,
      at,
    );
  const given = new Map(listed.map((value, i) => [intervalFields[i]!, value]));
  for (const { name, value } of named) {
    const key = foldName(name.name);
    if (!intervalFields.includes(key) || given.has(key))
      throw invalidQuery(
        `Named argument ${name.name} ${given.has(key) ? 'is given twice' : 'not found'} in a call to function MAKE_INTERVAL`,
        name.at,
      );
    given.set(key, value);
  }
  const int64 = scalar('INT64');
  const values = intervalFields.map((name): BoundExpression => {
    const value = given.get(name);
    if (!value) return literal('INT64', '0');
    return coerce(context.binder.expression(context, value), int64, value.at);
  });
  const template = 'bq_interval($1 * 12 + $2, $3, $4 * 3600000000 + $5 * 60000000 + $6 * 1000000)';
  return timeCall('MAKE_INTERVAL', template, values, 'INTERVAL');
};

export const intervalFunctions: Readonly<Record<string, SpecialFunction>> = { MAKE_INTERVAL: makeInterval };
