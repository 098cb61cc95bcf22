import type { SqlPosition } from '../../../base/errors.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { CallSyntax, Expression } from '../../tree/syntax-tree.ts';
import type { ScalarKind } from '../../tree/types.ts';
import type { ZoneForm } from './time-arguments.ts';

/** `DAY`, or `WEEK(MONDAY)` with its weekday. */
export type DatePart = { readonly name: string; readonly weekday?: string };

const weekdays = ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY'];

/** Microseconds of the units that have a fixed length. */
export const fixedUnits: Readonly<Record<string, number>> = {
  MICROSECOND: 1,
  MILLISECOND: 1_000,
  SECOND: 1_000_000,
  MINUTE: 60_000_000,
  HOUR: 3_600_000_000,
  DAY: 86_400_000_000,
};
const calendarUnits = ['WEEK', 'ISOWEEK', 'MONTH', 'QUARTER', 'YEAR', 'ISOYEAR'];

/** Reads a date part out of an argument: it parses as a name, or as a call of WEEK. */
export function datePart(argument: Expression | undefined, at: SqlPosition): DatePart {
  if (argument?.kind === 'path' && argument.parts.length === 1)
    return known({ name: argument.parts[0]!.name }, at);
  const weekday = argument?.kind === 'call' ? weekdayOf(argument) : undefined;
  if (weekday !== undefined) return known({ name: 'WEEK', weekday }, at);
  throw invalidQuery('A valid date part name is required', argument?.at ?? at);
}

/** The weekday of `WEEK(MONDAY)`; undefined for a call that says more than that. */
function weekdayOf(call: CallSyntax): string | undefined {
  const [day] = call.arguments;
  const isPlain =
    call.arguments.length === 1 &&
    !(call.named?.length || call.distinct || call.nulls || call.having || call.limit || call.over) &&
    call.orderBy.length === 0;
  const isWeek = call.name.length === 1 && call.name[0]!.name.toUpperCase() === 'WEEK';
  return isPlain && isWeek && day?.kind === 'path' && day.parts.length === 1 ? day.parts[0]!.name : undefined;
}

function known(part: DatePart, at: SqlPosition): DatePart {
  const name = part.name.toUpperCase();
  const weekday = part.weekday?.toUpperCase();
  const isKnown = name in fixedUnits || calendarUnits.includes(name);
  if (isKnown && (weekday === undefined || weekdays.includes(weekday))) return { name, weekday };
  throw invalidQuery(`A valid date part name is required but found ${weekday ?? name}`, at);
}

/**
 * DuckDB text that cuts `$1` down to a part, a TIMESTAMP by a zone.
 * In UTC, units up to a day are arithmetic on microseconds: 20 times faster than a calendar.
 */
export function truncTemplate(
  part: DatePart,
  kind: string,
  zone: Pick<ZoneForm, 'isUtc' | 'civil' | 'instant'>,
  at: SqlPosition,
): string {
  const unit = fixedUnits[part.name];
  if (kind === 'DATE' && unit && part.name !== 'DAY') {
    throw invalidQuery(`DATE_TRUNC does not support the ${part.name} date part`, at);
  }
  if (kind === 'TIMESTAMP' && zone.isUtc && unit) {
    return unit === 1
      ? '$1'
      : `make_timestamptz(epoch_us($1) - (epoch_us($1) % ${unit} + ${unit}) % ${unit})`;
  }
  if (kind === 'TIMESTAMP' && unit && part.name !== 'DAY') {
    // What is cut off is the same on the wall clock; converting back could not distinguish an hour that occurs twice.
    return `($1 - (${zone.civil('$1')} - ${civilTrunc(part, zone.civil('$1'))}))`;
  }
  if (kind === 'TIMESTAMP') {
    return zone.instant(`cast(${civilTrunc(part, zone.civil('$1'))} as timestamp)`);
  }
  return `cast(${civilTrunc(part, '$1')} as ${kind === 'DATE' ? 'date' : 'timestamp'})`;
}

function civilTrunc({ name, weekday }: DatePart, value: string): string {
  switch (name) {
    case 'WEEK': {
      // DuckDB's weeks start on Monday: shift to it and back.
      const shift = (weekdays.indexOf(weekday ?? 'SUNDAY') + 6) % 7;
      return shift === 0
        ? `date_trunc('week', ${value})`
        : `(date_trunc('week', ${value} - to_days(${shift})) + to_days(${shift}))`;
    }
    case 'ISOWEEK':
      return `date_trunc('week', ${value})`;
    case 'ISOYEAR':
      return `date_trunc('week', make_date(isoyear(${value}), 1, 4))`;
    default:
      return `date_trunc('${name.toLowerCase()}', ${value})`;
  }
}

/** DuckDB text for `$1` units as an interval. A TIMESTAMP has no calendar, so a day is 24 hours. */
export function intervalTemplate(part: string, kind: ScalarKind, at: SqlPosition): string {
  const unit = fixedUnits[part];
  const months = { MONTH: 1, QUARTER: 3, YEAR: 12 }[part];
  const isAllowed = kind === 'TIMESTAMP' ? unit : kind === 'DATE' ? !unit || part === 'DAY' : true;
  if (isAllowed && unit && !(part === 'DAY' && kind !== 'TIMESTAMP')) return `to_microseconds($1 * ${unit})`;
  if (isAllowed && part === 'DAY') return 'to_days(cast($1 as integer))';
  if (isAllowed && part === 'WEEK') return 'to_days(cast($1 * 7 as integer))';
  if (isAllowed && months) return `to_months(cast($1 * ${months} as integer))`;
  throw invalidQuery(`${kind} arithmetic does not support the ${part} date part`, at);
}

type Extracted = { readonly template: string; readonly type: ScalarKind };

/** Parts that are not numbers. */
const typedParts: Readonly<Record<string, Extracted>> = {
  DATE: { template: 'cast($1 as date)', type: 'DATE' },
  TIME: { template: 'cast($1 as time)', type: 'TIME' },
  DATETIME: { template: 'cast($1 as timestamp)', type: 'DATETIME' },
};

const clockParts: Readonly<Record<string, string>> = {
  MICROSECOND: "date_part('microsecond', $1) % 1000000",
  MILLISECOND: "date_part('millisecond', $1) % 1000",
  SECOND: "floor(date_part('second', $1))",
  MINUTE: "date_part('minute', $1)",
  HOUR: "date_part('hour', $1)",
};

const calendarParts: Readonly<Record<string, string>> = {
  DAY: "date_part('day', $1)",
  DAYOFWEEK: 'dayofweek($1) + 1',
  DAYOFYEAR: "date_part('dayofyear', $1)",
  ISOWEEK: 'weekofyear($1)',
  MONTH: "date_part('month', $1)",
  QUARTER: "date_part('quarter', $1)",
  YEAR: "date_part('year', $1)",
  ISOYEAR: "date_part('isoyear', $1)",
};

/** DuckDB text that takes a part out of `$1`, a DATE, DATETIME or TIME. */
export function extractTemplate({ name, weekday }: DatePart, kind: string, at: SqlPosition): Extracted {
  const isPossible =
    kind === 'TIME' ? name in clockParts : kind !== 'DATE' || !(name in clockParts || name in typedParts);
  if (!isPossible) throw invalidQuery(`EXTRACT from ${kind} does not support the ${name} date part`, at);
  const typed = typedParts[name];
  if (typed) return typed;
  const number =
    name === 'WEEK' ? weekNumber(weekday ?? 'SUNDAY', at) : (clockParts[name] ?? calendarParts[name]);
  if (number === undefined) throw invalidQuery(`A valid date part name is required but found ${name}`, at);
  return { template: `cast(${number} as bigint)`, type: 'INT64' };
}

/** The number of a week that starts on a weekday. */
function weekNumber(weekday: string, at: SqlPosition): string {
  const start = weekdays.indexOf(weekday);
  if (start < 0) throw invalidQuery(`A valid date part name is required but found ${weekday}`, at);
  return `(dayofyear($1) + 6 - (dayofweek($1) + 7 - ${start}) % 7) // 7`;
}
