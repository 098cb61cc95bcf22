import { type BindContext, bindArguments, type SpecialFunction } from '../../tree/bind-context.ts';
import type { BoundExpression } from '../../tree/bound-tree.ts';
import { cast, coerce } from '../../tree/coercion.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { CallSyntax } from '../../tree/syntax-tree.ts';
import { type ScalarKind, scalar } from '../../tree/types.ts';
import { bindRow, row } from '../function-row.ts';
import { stringOfJson } from '../functions-json-values.ts';
import { datePart, fixedUnits, truncTemplate } from './date-parts.ts';
import {
  argumentsOfOneKind,
  arity,
  civilTime,
  type DayKind,
  timeCall,
  zoneArgument,
  zoneForm,
} from './time-arguments.ts';
import { difference, shift } from './time-arithmetic.ts';
import { formatting, parsing } from './time-texts.ts';

export const timeRows = [
  row('UNIX_SECONDS(TIMESTAMP) INT64', 'bq_whole(epoch_us($1), 1000000)'),
  row('UNIX_MILLIS(TIMESTAMP) INT64', 'bq_whole(epoch_us($1), 1000)'),
  row('UNIX_MICROS(TIMESTAMP) INT64', 'epoch_us($1)'),
  row('UNIX_DATE(DATE) INT64', "date_diff('day', date '1970-01-01', $1)"),
  row('DATE_FROM_UNIX_DATE(INT64) DATE', "bq_ranged_date(date '1970-01-01' + cast($1 as integer))"),
  row('TIMESTAMP_SECONDS(INT64) TIMESTAMP', 'bq_ranged_timestamp(make_timestamptz($1 * 1000000))'),
  row('TIMESTAMP_MILLIS(INT64) TIMESTAMP', 'bq_ranged_timestamp(make_timestamptz($1 * 1000))'),
  row('TIMESTAMP_MICROS(INT64) TIMESTAMP', 'bq_ranged_timestamp(make_timestamptz($1))'),
  row('DATE(INT64, INT64, INT64) DATE', 'bq_ranged_date(make_date($1, $2, $3))'),
  row(
    'DATETIME(INT64, INT64, INT64, INT64, INT64, INT64) DATETIME',
    'bq_ranged_datetime(make_timestamp($1, $2, $3, bq_hour($4), $5, cast($6 as double)))',
  ),
  row('TIME(INT64, INT64, INT64) TIME', 'bq_make_time($1, $2, $3)'),
  row('DATETIME(DATE, TIME) DATETIME', '($1 + $2)'),
];

export const timeFunctions: Readonly<Record<string, SpecialFunction>> = {
  CURRENT_TIMESTAMP: clock('TIMESTAMP'),
  CURRENT_DATE: clock('DATE'),
  CURRENT_DATETIME: clock('DATETIME'),
  CURRENT_TIME: clock('TIME'),
  TIMESTAMP: conversion('TIMESTAMP'),
  DATETIME: conversion('DATETIME'),
  DATE: conversion('DATE'),
  TIME: conversion('TIME'),
  STRING: conversion('STRING'),
  TIMESTAMP_TRUNC: truncation('TIMESTAMP'),
  DATETIME_TRUNC: truncation('DATETIME'),
  DATE_TRUNC: truncation('DATE'),
  TIMESTAMP_ADD: shift('TIMESTAMP', '+'),
  TIMESTAMP_SUB: shift('TIMESTAMP', '-'),
  DATETIME_ADD: shift('DATETIME', '+'),
  DATETIME_SUB: shift('DATETIME', '-'),
  DATE_ADD: shift('DATE', '+'),
  DATE_SUB: shift('DATE', '-'),
  TIMESTAMP_DIFF: difference('TIMESTAMP'),
  DATETIME_DIFF: difference('DATETIME'),
  DATE_DIFF: difference('DATE'),
  FORMAT_TIMESTAMP: formatting('TIMESTAMP'),
  FORMAT_DATETIME: formatting('DATETIME'),
  FORMAT_DATE: formatting('DATE'),
  FORMAT_TIME: formatting('TIME'),
  PARSE_TIMESTAMP: parsing('TIMESTAMP'),
  PARSE_DATETIME: parsing('DATETIME'),
  PARSE_DATE: parsing('DATE'),
  PARSE_TIME: parsing('TIME'),
};

function clock(kind: ScalarKind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 0, kind === 'TIMESTAMP' ? 0 : 1);
    const now: BoundExpression = { kind: 'now', type: scalar('TIMESTAMP') };
    if (kind === 'TIMESTAMP') return now;
    const civil = civilTime(now, zoneArgument(context, syntax, 0));
    return kind === 'DATETIME' ? civil : cast(civil, scalar(kind), false, syntax.at);
  };
}

/** `DATE(x)` and its like: a cast with a time zone; the other forms are rows. */
function conversion(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE' | 'TIME' | 'STRING'): SpecialFunction {
  return (context, syntax) => {
    if (syntax.arguments.length !== 1 && syntax.arguments.length !== 2)
      return fromParts(context, syntax, kind);
    const value = context.binder.expression(context, syntax.arguments[0]!);
    if (kind === 'STRING' && value.type.kind === 'JSON' && !syntax.arguments[1]) return stringOfJson(value);
    if (!syntax.arguments[1]) return cast(asInstant(value, kind, syntax), scalar(kind), false, syntax.at);
    const written = context.binder.expression(context, syntax.arguments[1]);
    if (written.type.kind !== 'STRING') return fromParts(context, syntax, kind);
    const zone = zoneForm(written, syntax.at);
    if (kind === 'TIMESTAMP') {
      const civil = cast(value, scalar('DATETIME'), false, syntax.at);
      return timeCall('TIMESTAMP', zone.instant('$1'), [civil, ...zone.values], 'TIMESTAMP');
    }
    const civil = civilTime(coerce(value, scalar('TIMESTAMP'), syntax.at), zone);
    if (kind === 'STRING') {
      const template = 'bq_zoned_text($1, $2)';
      return timeCall('STRING', template, [coerce(value, scalar('TIMESTAMP'), syntax.at), civil], 'STRING');
    }
    return kind === 'DATETIME' ? civil : cast(civil, scalar(kind), false, syntax.at);
  };
}

/** DATE and TIME read a text as a TIMESTAMP: DATE any text, TIME only a literal or a parameter. */
function asInstant(value: BoundExpression, kind: string, { at }: CallSyntax): BoundExpression {
  if (value.type.kind !== 'STRING' || (kind !== 'DATE' && kind !== 'TIME')) return value;
  const instant = scalar('TIMESTAMP');
  return kind === 'DATE' ? cast(value, instant, false, at) : coerce(value, instant, at);
}

function fromParts(context: BindContext, syntax: CallSyntax, kind: string): BoundExpression {
  const rows = timeRows.filter(({ name }) => name === kind);
  return bindRow(rows, `function ${kind}`, bindArguments(context, syntax), syntax.at);
}

function truncation(named: DayKind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, named === 'DATE' ? 2 : 3);
    const { kind, values, isDate } = argumentsOfOneKind(context, syntax, [0], named);
    const part = datePart(syntax.arguments[1], syntax.at);
    if (isDate && part.name in fixedUnits && part.name !== 'DAY')
      throw invalidQuery(`${named}_TRUNC does not support the ${part.name} date part`, syntax.at);
    const zone = zoneArgument(context, syntax, 2);
    const template = truncTemplate(part, kind, zone, syntax.at);
    return timeCall(`${named}_TRUNC`, template, [...values, ...zone.values], kind);
  };
}
