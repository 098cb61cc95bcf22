import { dayMs, floorDivide, months, second } from '../times/calendar.ts';
import type { Piece } from './time-format.ts';

const space = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*/y;

/** A cursor over the text that is cast. */
class Reader {
  at = 0;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Takes what a pattern matches here; undefined if it does not match. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  number(least: number, most: number, from: number, to: number): number | undefined {
    const start = this.at;
    const found = this.take(new RegExp(`\\d{${least},${most}}`, 'y'));
    const value = Number(found);
    if (found !== undefined && value >= from && value <= to) return value;
    this.at = start;
    return undefined;
  }

  /** The index of the word that stands here, in any case. */
  word(words: readonly string[]): number | undefined {
    const rest = this.text.slice(this.at, this.at + 9).toLowerCase();
    const found = words.findIndex(word => rest.startsWith(word.toLowerCase()));
    if (found === -1) return undefined;
    this.at += words[found]!.length;
    return found;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }
}

type Fields = {
  year: number;
  month: number;
  day: number;
  hour: number;
  twelve: number;
  isAfternoon: boolean;
  minute: number;
  second: number;
  micros: number;
  isBehind: boolean;
  offsetHours: number;
  offsetMinutes: number;
};

/**
 * Reads a text in a format.
 * @param now microseconds since 1970, for a year and a month that the format lacks
 * @returns microseconds since 1970: of the wall clock, or in UTC if the text has its offset
 * @throws Error with BigQuery's message
 */
export function readTime(pieces: readonly Piece[], text: string, now: bigint): bigint {
  const today = new Date(Number(floorDivide(now, 1000n)));
  const fields: Fields = {
    year: today.getUTCFullYear(),
    month: today.getUTCMonth() + 1,
    day: 1,
    hour: 0,
    twelve: 0,
    isAfternoon: false,
    minute: 0,
    second: 0,
    micros: 0,
    isBehind: false,
    offsetHours: 0,
    offsetMinutes: 0,
  };
  const reader = new Reader(text);
  reader.take(space);
  let done = 0;
  while (!reader.isAtEnd && done < pieces.length) {
    const start = reader.at;
    if (!readPiece(pieces, done, reader, fields))
      throw new Error(
        `Failed to parse input timestamp string at ${start} with format element ${shown(pieces[done]!)}`,
      );
    done++;
  }
  reader.take(space);
  while (pieces[done]?.category === 'LITERAL' && pieces[done]!.written === '') done++;
  if (!reader.isAtEnd)
    throw new Error(`Illegal non-space trailing data '${text.slice(reader.at)}' in timestamp string`);
  if (done < pieces.length)
    throw new Error(
      `Entire timestamp string has been parsed before dealing with format element ${shown(pieces[done]!)}`,
    );
  return resolve(fields);
}

/** A piece as messages quote it. */
function shown({ name, written: text, category }: Piece): string {
  if (category !== 'LITERAL') return `'${name}'`;
  return name === 'QUOTED' ? `'"${text}"'` : `'${text}'`;
}

/** Whether a digit follows in every text: then an element takes all the digits that it stands for. */
function precedesDigit(pieces: readonly Piece[], index: number): boolean {
  const next = pieces[index + 1];
  if (!next) return false;
  if (next.category !== 'LITERAL') return !['MON', 'MONTH', 'A.M.', 'P.M.', 'TZH'].includes(next.name);
  if (next.name === 'QUOTED' && next.written === '') return precedesDigit(pieces, index + 1);
  return next.name === 'QUOTED' && /^\d/.test(next.written);
}

/** Reads what one piece of the format stands for; false where the text has something else. */
function readPiece(pieces: readonly Piece[], index: number, reader: Reader, fields: Fields): boolean {
  const { name, written: text, category } = pieces[index]!;
  if (name === 'SPACE') return Boolean(reader.take(space));
  if (category === 'LITERAL') {
    if (!reader.text.startsWith(text, reader.at)) return false;
    reader.at += text.length;
    return true;
  }
  const isExact = precedesDigit(pieces, index);
  const number = (length: number, from: number, to: number, most = length) =>
    reader.number(isExact ? length : 1, isExact ? length : most, from, to);
  const set = (field: keyof Fields, value: number | undefined): boolean => {
    if (value !== undefined) Object.assign(fields, { [field]: value });
    return value !== undefined;
  };
  switch (name) {
    case 'YYYY': case 'RRRR': return set('year', number(4, 0, 10_000, 5));
    case 'YYY': case 'YY': case 'Y': {
      const unit = 10 ** name.length;
      const last = number(name.length, 0, unit - 1);
      return set('year', last === undefined ? last : fields.year - (fields.year % unit) + last);
    }
    case 'RR': return set('year', nearestYear(number(2, 0, 99), fields.year));
    case 'Y,YYY': return readGroupedYear(reader, fields);
    case 'MM': return set('month', number(2, 1, 12));
    case 'MON': case 'MONTH': {
      const found = reader.word(name === 'MON' ? months.map(month => month.slice(0, 3)) : months);
      return set('month', found === undefined ? found : found + 1);
    }
    case 'DD': return set('day', number(2, 1, 31));
    case 'HH': case 'HH12': return set('twelve', number(2, 1, 12));
    case 'HH24': return set('hour', number(2, 0, 23));
    case 'MI': return set('minute', number(2, 0, 59));
    case 'SS': return set('second', number(2, 0, 59));
    case 'SSSSS': {
      const seconds = number(5, 0, 86_399);
      if (seconds === undefined) return false;
      fields.hour = Math.trunc(seconds / 3600);
      fields.minute = Math.trunc(seconds / 60) % 60;
      return set('second', seconds % 60);
    }
    case 'A.M.': case 'P.M.': {
      const found = reader.word(['A.M.', 'P.M.']);
      fields.isAfternoon = found === 1;
      return found !== undefined;
    }
    case 'TZH': {
      const sign = reader.take(/[-+ ]/y);
      fields.isBehind = sign === '-';
      return sign !== undefined && set('offsetHours', number(2, 0, 14));
    }
    case 'TZM': return set('offsetMinutes', number(2, 0, 59));
    default: return readFraction(Number(name.slice(2)), isExact, reader, fields);
  }
} // biome-ignore format: a table

/** The year with these last digits that is between 50 years ago and 50 years ahead, by centuries. */
function nearestYear(last: number | undefined, year: number): number | undefined {
  if (last === undefined) return undefined;
  const century = Math.trunc(year / 100);
  const isLate = year % 100 >= 50;
  const shift = last < 50 && isLate ? 1 : last >= 50 && !isLate ? -1 : 0;
  return (century + shift) * 100 + last;
}

function readGroupedYear(reader: Reader, fields: Fields): boolean {
  const thousands = reader.number(1, 2, 0, 10);
  if (thousands === undefined || reader.take(/,/y) === undefined) return false;
  const rest = reader.number(3, 3, 0, 999);
  if (rest === undefined) return false;
  fields.year = thousands * 1000 + rest;
  return true;
}

function readFraction(length: number, isExact: boolean, reader: Reader, fields: Fields): boolean {
  const found = reader.take(new RegExp(`\\d{${isExact ? length : 1},${length}}`, 'y'));
  if (found === undefined) return false;
  fields.micros = Number(found.padEnd(6, '0').slice(0, 6));
  return true;
}

/** Microseconds since 1970; in UTC if the text has its offset. */
function resolve(fields: Fields): bigint {
  const { year, month, day, twelve, minute, second: seconds, offsetHours, offsetMinutes } = fields;
  const hour = twelve === 0 ? fields.hour : (twelve % 12) + (fields.isAfternoon ? 12 : 0);
  const date = new Date(new Date(0).setUTCFullYear(year, month - 1, day));
  if (date.getUTCMonth() + 1 !== month || date.getUTCDate() !== day)
    throw new Error('Invalid result from year, month, day values after parsing');
  if (offsetHours * 60 + offsetMinutes > 14 * 60)
    throw new Error(`Invalid time zone offset: ${offsetHours}:${offsetMinutes}`);
  const offset = (offsetHours * 60 + offsetMinutes) * (fields.isBehind ? -1 : 1);
  const whole = (hour * 60 + minute - offset) * 60 + seconds;
  const at = (BigInt(date.getTime() / dayMs) * 86_400n + BigInt(whole)) * second + BigInt(fields.micros);
  if (at < -62_135_596_800n * second || at >= 253_402_300_800n * second)
    throw new Error('The parsing result is out of valid time range');
  return at;
}
