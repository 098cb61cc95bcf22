import type { SpecialFunction } from '../../tree/bind-context.ts';
import { literal } from '../../tree/bound-tree.ts';
import { invalidQuery, onlyOnWarehouse } from '../../tree/sql-error.ts';
import { datePart, fixedUnits, intervalTemplate, truncTemplate } from './date-parts.ts';
import {
  argument,
  argumentsOfOneKind,
  arity,
  asArgument,
  type DayKind,
  timeCall,
  utc,
} from './time-arguments.ts';
import { intervalArgument, intervalCount } from './time-arithmetic.ts';

/** TIME_…, LAST_DAY with a part, and …_BUCKET. */
export const clockFunctions: Readonly<Record<string, SpecialFunction>> = {
  TIME_ADD: shift('TIME_ADD', '+'),
  TIME_SUB: shift('TIME_SUB', '-'),
  TIME_DIFF(context, syntax) {
    arity(syntax, 3, 3);
    const values = [argument(context, syntax, 0, 'TIME'), argument(context, syntax, 1, 'TIME')];
    const part = clockPart(datePart(syntax.arguments[2], syntax.at).name, 'TIME_DIFF', syntax);
    return timeCall('TIME_DIFF', `date_diff('${part.toLowerCase()}', $2, $1)`, values, 'INT64');
  },
  TIME_TRUNC(context, syntax) {
    arity(syntax, 2, 2);
    const value = argument(context, syntax, 0, 'TIME');
    const part = clockPart(datePart(syntax.arguments[1], syntax.at).name, 'TIME_TRUNC', syntax);
    return timeCall('TIME_TRUNC', `bq_time_trunc($1, ${fixedUnits[part]})`, [value], 'TIME');
  },
  LAST_DAY: lastDay,
  DATE_BUCKET: bucket('DATE'),
  DATETIME_BUCKET: bucket('DATETIME'),
  TIMESTAMP_BUCKET: bucket('TIMESTAMP'),
};

type Syntax = Parameters<SpecialFunction>[1];

function clockPart(part: string, name: string, { at }: Syntax): string {
  if (!(part in fixedUnits) || part === 'DAY')
    throw invalidQuery(`${name} does not support the ${part} date part`, at);
  return part;
}

function shift(name: string, sign: '+' | '-'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, 2);
    const interval = intervalArgument(syntax.arguments[1]!);
    const value = argument(context, syntax, 0, 'TIME');
    const unit = fixedUnits[clockPart(interval.part, name, syntax)]!;
    // Whole days change nothing.
    const perDay = fixedUnits.DAY! / unit;
    const count = intervalCount(context, interval);
    return timeCall(name, `($1 ${sign} to_microseconds($2 % ${perDay} * ${unit}))`, [value, count], 'TIME');
  };
}

function lastDay(...[context, syntax]: Parameters<SpecialFunction>) {
  arity(syntax, 1, 2);
  const value = context.binder.expression(context, syntax.arguments[0]!);
  const kind = value.type.kind === 'DATETIME' ? 'DATETIME' : 'DATE';
  const day = asArgument(value, syntax, 0, kind);
  const part = syntax.arguments[1] ? datePart(syntax.arguments[1], syntax.at) : { name: 'MONTH' };
  const start = () => `cast(${truncTemplate(part, 'DATE', utc, syntax.at)} as date)`;
  const templates: Readonly<Record<string, () => string>> = {
    MONTH: () => 'last_day($1)',
    QUARTER: () => `last_day(${start()} + to_months(2))`,
    YEAR: () => 'make_date(year($1), 12, 31)',
    WEEK: () => `bq_ranged_date(${start()} + 6)`,
    ISOWEEK: () => `bq_ranged_date(${start()} + 6)`,
    ISOYEAR: () => "bq_ranged_date(cast(date_trunc('week', make_date(isoyear($1) + 1, 1, 4)) as date) - 1)",
  };
  const template = templates[part.name];
  if (!template) throw invalidQuery(`LAST_DAY does not support the ${part.name} date part`, syntax.at);
  return timeCall('LAST_DAY', template(), [day], 'DATE');
}

/** Buckets are counted from 1950 by default. */
function bucket(named: DayKind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, 3);
    const interval = intervalArgument(syntax.arguments[1]!);
    const isCalendar = !(interval.part in fixedUnits) && interval.part !== 'WEEK';
    // DuckDB's buckets of months begin with a month, wherever they are counted from.
    if (isCalendar) throw onlyOnWarehouse(`${named}_BUCKET for intervals of ${interval.part}`, syntax.at);
    const count = intervalCount(context, interval);
    const { kind, values } = argumentsOfOneKind(context, syntax, syntax.arguments[2] ? [0, 2] : [0], named, {
      widensDates: false,
    });
    const width = intervalTemplate(
      interval.part,
      kind === 'DATE' ? 'DATE' : 'DATETIME',
      interval.at,
    ).replaceAll('$1', '$2');
    const [value, origin = originOf(kind)] = values;
    return timeCall(`${named}_BUCKET`, `bq_bucket($1, $2, ${width}, $3)`, [value!, count, origin], kind);
  };
}

const originOf = (kind: DayKind) => literal(kind, kind === 'DATE' ? '1950-01-01' : '1950-01-01 00:00:00');
