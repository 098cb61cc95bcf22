import { dayMs, months, second, startOfYear, weekdays } from './calendar.ts';
import { composed, element, isOfType } from './format-elements.ts';

type Groups = Readonly<Record<string, string | undefined>>;

type Fields = {
  year: number;
  month: number;
  day: number;
  dayOfYear?: number;
  hour: number;
  /** An hour of twelve, where that came last. */
  isTwelve: boolean;
  isAfternoon?: boolean;
  minute: number;
  second: number;
  micros: number;
  century?: number;
  yearOfCentury?: number;
  epoch?: bigint;
  offsetMinutes?: number;
  zone?: string;
};

/** Microseconds of the wall clock, and the zone if the text says it. */
export type Parsed = { readonly at: bigint; readonly zone: string | undefined };

let [lastInput, lastParsed]: [string, Parsed | undefined] = ['', undefined];

/** @throws Error in BigQuery's words */
export function parseTime(format: string, text: string, kind: string): Parsed {
  const input = JSON.stringify([format, text, kind]);
  if (input !== lastInput || !lastParsed)
    [lastParsed, lastInput] = [resolve(parseFields(format, text, kind), kind), input];
  return lastParsed;
}

const isSpace = (character: string | undefined) => character !== undefined && /[\t-\r ]/.test(character);

function parseFields(format: string, text: string, kind: string): Fields {
  const reader = new TimeReader(text, kind);
  reader.readWhole(format);
  return reader.fields;
}

/** Elements of weeks and of days of weeks, which are not parsed here. */
const weekElements = 'GgVJUWuw';
const unreadPattern = new RegExp(`^%[EO]?[${weekElements}]$`);

/** The first element of a format that is not parsed here; undefined if all are. */
export function unreadElement(format: string): string | undefined {
  const found = format.matchAll(element);
  return Array.from(found, ([whole]) => whole).find(whole => unreadPattern.test(whole));
}

/** Up to two digits. */
const twoDigits = /\d{1,2}/y;

/** A cursor over a text that should hold a time. */
class TimeReader {
  readonly fields: Fields = {
    year: 1970,
    month: 1,
    day: 1,
    hour: 0,
    isTwelve: false,
    minute: 0,
    second: 0,
    micros: 0,
  };
  readonly #text: string;
  readonly #kind: string;
  #at = 0;
  /** Within `%F`, `%T` and their like, where spaces may stand before each number. */
  #isLoose = false;

  constructor(text: string, kind: string) {
    this.#text = text;
    this.#kind = kind;
  }

  readWhole(format: string): void {
    this.#skipSpaces();
    this.#readAll(format);
    this.#skipSpaces();
    if (this.#at < this.#text.length) this.#fail();
  }

  #fail(): never {
    throw new Error(`Failed to parse input string ${JSON.stringify(this.#text)}`);
  }

  #skipSpaces(): void {
    while (isSpace(this.#text[this.#at])) this.#at++;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? this.#fail();
    this.#at += found.length;
    return found;
  }

  #number(pattern: RegExp, from: number, to: number): number {
    if (this.#isLoose) this.#skipSpaces();
    const value = Number(this.#take(pattern));
    return value >= from && value <= to ? value : this.#fail();
  }

  /** A name in full or its first three letters. */
  #word(words: readonly string[]): number {
    const rest = this.#text.slice(this.#at, this.#at + 10).toLowerCase();
    for (const [i, name] of words.entries()) {
      const isWhole = rest.startsWith(name.toLowerCase());
      if (!isWhole && !rest.startsWith(name.slice(0, 3).toLowerCase())) continue;
      this.#at += isWhole ? name.length : 3;
      return i;
    }
    return this.#fail();
  }

  #readAll(format: string): void {
    let from = 0;
    for (const match of format.matchAll(element)) {
      this.#literal(format.slice(from, match.index));
      from = match.index + match[0].length;
      // The expression has groups.
      this.#readElement(match[0], match.groups as Groups, format[from] === '%');
    }
    this.#literal(format.slice(from));
  }

  #literal(characters: string): void {
    for (const character of characters) {
      if (isSpace(character)) this.#skipSpaces();
      else if (character === '%') throw new Error("Format string cannot end with a single '%'");
      else if (this.#text.startsWith(character, this.#at)) this.#at += character.length;
      else this.#fail();
    }
  }

  #readElement(
    whole: string,
    { digits, unit, zone, era, other, letter }: Groups,
    isBeforeElement: boolean,
  ): void {
    const name = digits !== undefined ? 'S' : whole === '%E4Y' ? 'Y' : (zone ?? era ?? other ?? letter!);
    if (weekElements.includes(name))
      throw new Error(`Parsing by the format element ${whole} is not supported`);
    if (unit === 'f' || !isOfType(name, this.#kind)) {
      if (unit !== 'f' && isOfType(name, 'TIMESTAMP'))
        throw new Error(`Invalid format: ${whole} is not allowed for the ${this.#kind} type.`);
      this.#fail();
    }
    const parts = composed[name];
    if (parts) this.#readParts(parts, name !== 'r');
    else if (name === 'S') this.#readSeconds(digits);
    else if (name === 'z') this.#readOffset(zone === 'z');
    else if (name === 'Y') this.#readYear(whole === '%E4Y', isBeforeElement);
    else if ('nt'.includes(name)) this.#skipSpaces();
    else if (name === '%') this.#take(/%/y);
    else if (!this.#readDate(name) && !this.#readClock(name)) this.#fail();
  }

  #readParts(parts: string, isLoose: boolean): void {
    const before = this.#isLoose;
    this.#isLoose = isLoose;
    this.#readAll(parts);
    this.#isLoose = before;
  }

  /** The year may have a fifth digit if no other element follows. */
  #readYear(isOfFourDigits: boolean, isBeforeElement: boolean): void {
    const pattern = isOfFourDigits ? /\d{4}/y : isBeforeElement || this.#isLoose ? /\d{1,4}/y : /\d{1,5}/y;
    this.fields.year = this.#number(pattern, 0, 10_000);
    this.fields.century = undefined;
    this.fields.yearOfCentury = undefined;
  }

  #setMonth(month: number): void {
    this.#refuseDayOfYear();
    this.fields.month = month;
  }

  #refuseDayOfYear(): void {
    if (this.fields.dayOfYear === undefined) return;
    throw new Error('Parsing by a day of the year and a month or day behind it is not supported');
  }

  #readDate(name: string): boolean {
    const { fields } = this;
    if (name === 'C') fields.century = this.#number(twoDigits, 0, 99);
    else if (name === 'y') fields.yearOfCentury = this.#number(twoDigits, 0, 99);
    else if (name === 'm') this.#setMonth(this.#number(twoDigits, 1, 12));
    else if (name === 'Q') this.#setMonth(this.#number(/\d/y, 1, 4) * 3 - 2);
    else if ('Bbh'.includes(name)) this.#setMonth(this.#word(months) + 1);
    else if ('Aa'.includes(name)) this.#word(weekdays);
    else if (name === 'j') fields.dayOfYear = this.#number(/\d{1,3}/y, 1, 366);
    else if ('de'.includes(name)) {
      this.#refuseDayOfYear();
      if (name === 'e') this.#skipSpaces();
      fields.day = this.#number(twoDigits, 1, 31);
    } else return false;
    return true;
  }

  #readClock(name: string): boolean {
    const { fields } = this;
    if ('kl'.includes(name)) this.#skipSpaces();
    if ('HkIl'.includes(name)) {
      fields.isTwelve = 'Il'.includes(name);
      fields.hour = fields.isTwelve ? this.#number(twoDigits, 1, 12) % 12 : this.#number(twoDigits, 0, 23);
    } else if (name === 'M') fields.minute = this.#number(twoDigits, 0, 59);
    else if ('pP'.includes(name)) fields.isAfternoon = this.#take(/[ap]m/iy).toLowerCase() === 'pm';
    else if (name === 's') fields.epoch = BigInt(this.#take(/-?\d{1,12}/y));
    else if (name === 'Z') {
      fields.zone = this.#take(/\S+/y);
      fields.offsetMinutes = undefined;
    } else return false;
    return true;
  }

  #readSeconds(digits: string | undefined): void {
    this.fields.second = this.#number(twoDigits, 0, 60);
    this.fields.micros = 0;
    if (digits === undefined || digits === '0' || this.#text[this.#at] !== '.') return;
    this.#at++;
    const read = this.#take(digits === '*' ? /\d+/y : new RegExp(`\\d{1,${digits.slice(0, 3)}}`, 'y'));
    // The second 60 is the first one of the next minute, without its fraction.
    this.fields.micros = this.fields.second === 60 ? 0 : Number(read.padEnd(6, '0').slice(0, 6));
  }

  #readOffset(takesColon: boolean): void {
    const { fields } = this;
    fields.zone = undefined;
    if (takesColon && this.#text[this.#at] === 'Z') {
      this.#at++;
      fields.offsetMinutes = 0;
      return;
    }
    const found = this.#take(takesColon ? /[+-]\d\d(?::?\d\d)?/y : /[+-]\d\d(?:\d\d)?/y);
    const minutes = Number(found.slice(3).replace(':', '') || '0');
    const offset = Number(found.slice(1, 3)) * 60 + minutes;
    if (minutes > 59 || offset > 14 * 60)
      throw new Error(`Timezone offset out of valid range -14:00 to +14:00: ${found}`);
    fields.offsetMinutes = found.startsWith('-') ? -offset : offset;
  }
}

function resolve(fields: Fields, kind: string): Parsed {
  if (fields.epoch !== undefined) return { at: checked(fields.epoch * second), zone: 'UTC' };
  const { yearOfCentury, century } = fields;
  let { year } = fields;
  if (century !== undefined) year = century * 100 + (yearOfCentury ?? 0);
  else if (yearOfCentury !== undefined) year = yearOfCentury + (yearOfCentury < 69 ? 2000 : 1900);
  const start = startOfYear(year);
  let days: number;
  if (fields.dayOfYear === undefined) {
    const date = new Date(new Date(0).setUTCFullYear(year, fields.month - 1, fields.day));
    if (date.getUTCDate() !== fields.day) throw new Error('Out-of-range datetime field in parsing function');
    days = date.getTime() / dayMs;
  } else {
    const length = (startOfYear(year + 1) - start) / dayMs;
    if (fields.dayOfYear > length)
      throw new Error(
        `Year ${year} has ${length} days, but the specified day of year was ${fields.dayOfYear}`,
      );
    days = start / dayMs + fields.dayOfYear - 1;
  }
  const hour = fields.hour + (fields.isTwelve && fields.isAfternoon ? 12 : 0);
  const seconds = (hour * 60 + fields.minute) * 60 + fields.second - (fields.offsetMinutes ?? 0) * 60;
  const at = (BigInt(days) * 86_400n + BigInt(seconds)) * second + BigInt(fields.micros);
  return {
    at: kind === 'TIME' ? at : checked(at),
    zone: fields.offsetMinutes === undefined ? fields.zone : 'UTC',
  };
}

/** Year 1 to 9999. */
function checked(at: bigint): bigint {
  if (at >= -62_135_596_800n * second && at < 253_402_300_800n * second) return at;
  throw new Error('Invalid result from parsing function');
}
