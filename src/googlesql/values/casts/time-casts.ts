import type { EngineFunctions } from '../engine-function.ts';
import { dayOfYear, floorDivide, months, second, weekdays } from '../times/calendar.ts';
import { readTime } from './read-time.ts';
import { checkForReading, checkForWriting, isZonedFormat, type Piece, piecesOf } from './time-format.ts';

/** CAST of dates and times with a FORMAT. Times are microseconds of the wall clock. */
export const timeCasts: EngineFunctions = {
  /** @param ahead seconds by which the wall clock is ahead of UTC */
  'bq_cast_time_text(STRING, STRING, INT64, INT64) STRING': (
    format: string,
    kind: string,
    at: bigint,
    ahead: bigint,
  ) => {
    const pieces = piecesOf(format);
    checkForWriting(pieces, kind);
    return pieces.map(piece => cased(piece, written(piece, at, ahead))).join('');
  },
  /** @param now the current time, for a year and a month that the format lacks */
  'bq_cast_text_time(STRING, STRING, STRING, INT64) INT64': (
    format: string,
    text: string,
    kind: string,
    now: bigint,
  ) => {
    const pieces = piecesOf(format);
    checkForReading(pieces, kind);
    return readTime(pieces, text, now);
  },
  'bq_cast_format_zoned(STRING) BOOL': (format: string) => isZonedFormat(format),
};

const digits = (value: number, length: number) => String(value).padStart(length, '0');

function written({ name, written: text, category }: Piece, at: bigint, ahead: bigint): string {
  if (category === 'LITERAL') return text;
  const date = new Date(Number(floorDivide(at, 1000n)));
  const year = date.getUTCFullYear();
  const hour = date.getUTCHours();
  const offset = Math.abs(Math.trunc(Number(ahead) / 60));
  if (name.startsWith('FF')) {
    const micros = digits(Number(((at % second) + second) % second), 6);
    return micros.padEnd(9, '0').slice(0, Number(name.slice(2)));
  }
  switch (name) {
    case 'YYYY': case 'RRRR': return digits(year, 4);
    case 'YYY': return digits(year % 1000, 3);
    case 'YY': case 'RR': return digits(year % 100, 2);
    case 'Y': return String(year % 10);
    case 'MM': return digits(date.getUTCMonth() + 1, 2);
    case 'MON': return months[date.getUTCMonth()]!.slice(0, 3);
    case 'MONTH': return months[date.getUTCMonth()]!;
    case 'D': return String(date.getUTCDay() + 1);
    case 'DD': return digits(date.getUTCDate(), 2);
    case 'DDD': return digits(dayOfYear(date), 3);
    case 'DAY': return weekdays[date.getUTCDay()]!;
    case 'DY': return weekdays[date.getUTCDay()]!.slice(0, 3);
    case 'HH': case 'HH12': return digits(hour % 12 || 12, 2);
    case 'HH24': return digits(hour, 2);
    case 'MI': return digits(date.getUTCMinutes(), 2);
    case 'SS': return digits(date.getUTCSeconds(), 2);
    case 'SSSSS': return digits((hour * 60 + date.getUTCMinutes()) * 60 + date.getUTCSeconds(), 5);
    case 'AM': case 'PM': return hour < 12 ? 'AM' : 'PM';
    case 'A.M.': case 'P.M.': return hour < 12 ? 'A.M.' : 'P.M.';
    case 'TZH': return `${ahead < 0n ? '-' : '+'}${digits(Math.trunc(offset / 60), 2)}`;
    case 'TZM': return digits(offset % 60, 2);
    default: throw new Error(`Unsupported format element '${name}'`);
  }
} // biome-ignore format: a table

/** The text in the letter case of the element, which its first two letters decide. */
function cased({ name, written: element, category }: Piece, text: string): string {
  if (category === 'LITERAL') return text;
  if (/^[a-z]/.test(element)) return text.toLowerCase();
  const isByFirst = category === 'MERIDIAN_INDICATOR' || name.length === 1;
  return !isByFirst && /^.[a-z]/.test(element) ? text : text.toUpperCase();
}
