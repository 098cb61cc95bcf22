import type { SqlPosition } from '../errors.ts';
import type { BindContext, SpecialFunction } from './bind-context.ts';
import type { BoundExpression } from './bound-tree.ts';
import { cast, coerce, coercionCost } from './coercion.ts';
import { constantText } from './constant-text.ts';
import { formatTemplate, parseFormats } from './date-formats.ts';
import { datePart, extractTemplate, intervalTemplate, truncTemplate } from './date-parts.ts';
import { bindRow, row } from './function-row.ts';
import { quoteText } from './quote-text.ts';
import { invalidQuery } from './sql-error.ts';
import type { CallSyntax, Expression } from './syntax-tree.ts';
import { type ScalarKind, scalar, typeName } from './types.ts';

export const timeRows = [
  row('UNIX_SECONDS(TIMESTAMP) INT64', 'cast(floor(epoch_us($1) / 1000000) as bigint)'),
  row('UNIX_MILLIS(TIMESTAMP) INT64', 'cast(floor(epoch_us($1) / 1000) as bigint)'),
  row('UNIX_MICROS(TIMESTAMP) INT64', 'epoch_us($1)'),
  row('UNIX_DATE(DATE) INT64', "date_diff('day', date '1970-01-01', $1)"),
  row('DATE_FROM_UNIX_DATE(INT64) DATE', "(date '1970-01-01' + cast($1 as integer))"),
  row('TIMESTAMP_SECONDS(INT64) TIMESTAMP', 'make_timestamptz($1 * 1000000)'),
  row('TIMESTAMP_MILLIS(INT64) TIMESTAMP', 'make_timestamptz($1 * 1000)'),
  row('TIMESTAMP_MICROS(INT64) TIMESTAMP', 'make_timestamptz($1)'),
  row('DATE(INT64, INT64, INT64) DATE', 'make_date($1, $2, $3)'),
  row(
    'DATETIME(INT64, INT64, INT64, INT64, INT64, INT64) DATETIME',
    'make_timestamp($1, $2, $3, $4, $5, cast($6 as double))',
  ),
  row('DATETIME(DATE, TIME) DATETIME', '($1 + $2)'),
  row('LAST_DAY(DATE) DATE', 'last_day($1)'),
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
  PARSE_TIMESTAMP: parsing('TIMESTAMP'),
  PARSE_DATETIME: parsing('DATETIME'),
  PARSE_DATE: parsing('DATE'),
};

/** `EXTRACT(part FROM value [AT TIME ZONE zone])`. */
export function bindExtract(
  bind: (expression: Expression) => BoundExpression,
  syntax: Extract<Expression, { kind: 'extract' }>,
): BoundExpression {
  const of = bind(syntax.of);
  const isZoned = of.type.kind === 'TIMESTAMP';
  if (!isZoned && syntax.zone)
    throw invalidQuery('EXTRACT supports AT TIME ZONE for TIMESTAMP only', syntax.at);
  if (!['TIMESTAMP', 'DATETIME', 'DATE', 'TIME'].includes(of.type.kind)) {
    throw invalidQuery(`EXTRACT is not supported for type ${typeName(of.type)}`, syntax.at);
  }
  const zone = syntax.zone ? knownZone(bind(syntax.zone), syntax.at) : utc;
  const value = isZoned ? call('civil', 'timezone($2, $1)', [of, zone], 'DATETIME') : of;
  const { template, type } = extractTemplate(
    { name: syntax.part, weekday: syntax.weekday },
    value.type.kind,
    syntax.at,
  );
  return call('EXTRACT', template, [value], type);
}

const utc: BoundExpression = { kind: 'literal', type: scalar('STRING'), value: 'UTC' };

function call(
  name: string,
  template: string,
  values: readonly BoundExpression[],
  type: ScalarKind,
): BoundExpression {
  return { kind: 'call', name, template, arguments: values, type: scalar(type) };
}

function arity(syntax: CallSyntax, from: number, to: number): void {
  const count = syntax.arguments.length;
  if (count >= from && count <= to) return;
  const name = syntax.name.at(-1)?.name.toUpperCase();
  throw invalidQuery(`No matching signature for function ${name} with ${count} arguments`, syntax.at);
}

/** An argument of a given type; DATE and literals widen as everywhere. */
function argument(
  context: BindContext,
  syntax: CallSyntax,
  index: number,
  kind: ScalarKind,
): BoundExpression {
  const value = context.binder.expression(context, syntax.arguments[index]!);
  if (coercionCost(value, scalar(kind)) === undefined) {
    const name = syntax.name.at(-1)?.name.toUpperCase();
    throw invalidQuery(
      `No matching signature for function ${name}: argument ${index + 1} is ${typeName(value.type)}, expected ${kind}`,
      syntax.arguments[index]!.at,
    );
  }
  return coerce(value, scalar(kind), syntax.at);
}

function zoneArgument(context: BindContext, syntax: CallSyntax, index: number): BoundExpression {
  return syntax.arguments[index] ? knownZone(argument(context, syntax, index, 'STRING'), syntax.at) : utc;
}

/** DuckDB knows zones by name only. */
function knownZone(zone: BoundExpression, at: SqlPosition): BoundExpression {
  if (zone.kind === 'literal' && /^\s*[+-]/.test(zone.value)) {
    throw invalidQuery(
      `A time zone as an offset is not supported: ${zone.value}; use a name as in Asia/Tokyo`,
      at,
    );
  }
  return zone;
}

function clock(kind: ScalarKind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 0, kind === 'TIMESTAMP' ? 0 : 1);
    const now: BoundExpression = { kind: 'now', type: scalar('TIMESTAMP') };
    if (kind === 'TIMESTAMP') return now;
    const civil = call('civil', 'timezone($2, $1)', [now, zoneArgument(context, syntax, 0)], 'DATETIME');
    return kind === 'DATETIME' ? civil : cast(civil, scalar(kind), false, syntax.at);
  };
}

/** `DATE(x)` and its like: a cast with a time zone; the other forms are rows. */
function conversion(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE' | 'TIME' | 'STRING'): SpecialFunction {
  return (context, syntax) => {
    if (syntax.arguments.length !== 1 && syntax.arguments.length !== 2)
      return fromParts(context, syntax, kind);
    const value = context.binder.expression(context, syntax.arguments[0]!);
    if (!syntax.arguments[1]) return cast(value, scalar(kind), false, syntax.at);
    const zone = context.binder.expression(context, syntax.arguments[1]);
    if (zone.type.kind !== 'STRING') return fromParts(context, syntax, kind);
    if (kind === 'TIMESTAMP') {
      const civil = cast(value, scalar('DATETIME'), false, syntax.at);
      return call('TIMESTAMP', 'bq_instant($2, $1)', [civil, knownZone(zone, syntax.at)], 'TIMESTAMP');
    }
    const zoned = coerce(value, scalar('TIMESTAMP'), syntax.at);
    const civil = call('civil', 'timezone($2, $1)', [zoned, knownZone(zone, syntax.at)], 'DATETIME');
    if (kind === 'STRING') throw invalidQuery('STRING with a time zone is not supported', syntax.at);
    return kind === 'DATETIME' ? civil : cast(civil, scalar(kind), false, syntax.at);
  };
}

function fromParts(context: BindContext, syntax: CallSyntax, kind: string): BoundExpression {
  const values = syntax.arguments.map(a => context.binder.expression(context, a));
  const rows = timeRows.filter(r => r.name === kind);
  return bindRow(rows, `function ${kind}`, values, syntax.at);
}

function truncation(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, kind === 'DATE' ? 2 : 3);
    const value = context.binder.expression(context, syntax.arguments[0]!);
    const part = datePart(syntax.arguments[1], syntax.at);
    // DATE_TRUNC and DATETIME_TRUNC also take the wider types, as they are.
    const isWider = ['TIMESTAMP', 'DATETIME'].includes(value.type.kind);
    const type = isWider ? (value.type.kind as ScalarKind) : kind;
    const of = coerce(value, scalar(type), syntax.at);
    const zone = zoneArgument(context, syntax, 2);
    const isUtc = zone === utc || (zone.kind === 'literal' && zone.value === 'UTC');
    const template = truncTemplate(part, type, isUtc, syntax.at);
    return call(`${kind}_TRUNC`, template, [of, zone], type);
  };
}

function shift(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE', sign: '+' | '-'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, 2);
    const interval = syntax.arguments[1]!;
    if (interval.kind !== 'interval') throw invalidQuery('Expected INTERVAL expression', interval.at);
    const of = argument(context, syntax, 0, kind);
    const count = coerce(context.binder.expression(context, interval.of), scalar('INT64'), interval.at);
    const step = intervalTemplate(interval.part, kind, interval.at).replaceAll('$1', '$2');
    return call(
      `${kind}_SHIFT`,
      kind === 'DATE' ? `cast($1 ${sign} ${step} as date)` : `($1 ${sign} ${step})`,
      [of, count],
      kind,
    );
  };
}

const microseconds: Readonly<Record<string, number>> = {
  MICROSECOND: 1,
  MILLISECOND: 1_000,
  SECOND: 1_000_000,
  MINUTE: 60_000_000,
  HOUR: 3_600_000_000,
  DAY: 86_400_000_000,
};

/** TIMESTAMP_DIFF counts whole units elapsed; the others count boundaries crossed. */
function difference(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 3, 3);
    const values = [argument(context, syntax, 0, kind), argument(context, syntax, 1, kind)];
    const part = datePart(syntax.arguments[2], syntax.at);
    const unit = microseconds[part.name];
    if (kind === 'TIMESTAMP') {
      if (!unit) throw invalidQuery(`TIMESTAMP_DIFF does not support the ${part.name} date part`, syntax.at);
      return call('TIMESTAMP_DIFF', `((epoch_us($1) - epoch_us($2)) // ${unit})`, values, 'INT64');
    }
    if (kind === 'DATE' && unit && part.name !== 'DAY') {
      throw invalidQuery(`DATE_DIFF does not support the ${part.name} date part`, syntax.at);
    }
    if (unit) return call(`${kind}_DIFF`, `date_diff('${part.name.toLowerCase()}', $2, $1)`, values, 'INT64');
    const [later, earlier] = ['$1', '$2'].map(value =>
      truncTemplate(part, kind, true, syntax.at).replaceAll('$1', value),
    );
    const isWeek = part.name === 'WEEK' || part.name === 'ISOWEEK';
    const template = isWeek
      ? `(date_diff('day', ${earlier}, ${later}) // 7)`
      : `date_diff('${part.name === 'ISOYEAR' ? 'isoyear' : part.name.toLowerCase()}', $2, $1)`;
    return call(`${kind}_DIFF`, template, values, 'INT64');
  };
}

function formatting(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, kind === 'TIMESTAMP' ? 3 : 2);
    const format = constantText(`The format of FORMAT_${kind}`, syntax.arguments[0], syntax.at);
    const value = argument(context, syntax, 1, kind);
    const zone = zoneArgument(context, syntax, 2);
    const civil =
      kind === 'TIMESTAMP'
        ? call('civil', 'timezone($2, $1)', [value, zone], 'DATETIME')
        : coerce(value, scalar('DATETIME'), syntax.at);
    const isUtc = kind === 'TIMESTAMP' && zone === utc;
    return call(`FORMAT_${kind}`, formatTemplate(format, { kind, isUtc }, syntax.at), [civil], 'STRING');
  };
}

function parsing(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, kind === 'TIMESTAMP' ? 3 : 2);
    const text = constantText(`The format of PARSE_${kind}`, syntax.arguments[0], syntax.at);
    const formats = parseFormats(text, kind, syntax.at);
    const strptime = `strptime($1, [${formats.map(f => quoteText(f).replaceAll('$', '$$$$')).join(', ')}])`;
    const value = argument(context, syntax, 1, 'STRING');
    const zone = zoneArgument(context, syntax, 2);
    const parsed = call('strptime', strptime, [value], 'DATETIME');
    if (kind === 'DATE') return cast(parsed, scalar('DATE'), false, syntax.at);
    if (kind === 'DATETIME') return parsed;
    // With %z DuckDB's strptime answers a TIMESTAMPTZ at once.
    if (formats.some(format => format.includes('%z')))
      return call('PARSE_TIMESTAMP', strptime, [value], 'TIMESTAMP');
    return call('PARSE_TIMESTAMP', 'bq_instant($2, $1)', [parsed, zone], 'TIMESTAMP');
  };
}
