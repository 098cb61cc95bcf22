import { z } from 'zod';
import { formatTimestamp } from '../base/format-timestamp.ts';
import { keptDigits } from '../base/json.ts';
import { maxTimestamp, minTimestamp } from '../base/parse-timestamp.ts';
import { type EpochUnit, readEpoch } from './read-epoch.ts';

/** How loaded rows become rows of a source. */
export type LoadMapping = {
  /** Parses lines of text: its named groups become fields. */
  readonly pattern?: RegExp | undefined;
  /** By the field's dotted path in the source. */
  readonly fields: Readonly<Record<string, FieldMapping>>;
};

type FieldMapping =
  | { readonly value: unknown }
  | { readonly from: string; readonly time?: ((text: string) => string | undefined) | undefined };

const units = ['s', 'ms', 'us', 'ns'] as const;

/** Patterns of the parts of a time format, as in strptime. */
const timeParts: Record<string, string> = {
  '%Y': '(?<year>\\d{4})',
  '%y': '(?<shortYear>\\d{2})',
  '%m': '(?<month>\\d{1,2})',
  '%b': '(?<monthName>[A-Za-z]{3})',
  '%d': '(?<day>\\d{1,2})',
  '%H': '(?<hour>\\d{1,2})',
  '%I': '(?<hour12>\\d{1,2})',
  '%p': '(?<half>[AaPp][Mm])',
  '%M': '(?<minute>\\d{1,2})',
  '%S': '(?<second>\\d{1,2})',
  '%f': '(?<fraction>\\d{1,9})',
  '%z': '(?<zone>Z|[+-]\\d{2}:?\\d{2})',
};

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** A unit of counts since 1970, or a time format. */
export const timeSchema = z
  .string()
  .refine(
    text =>
      isUnit(text) || ((text.match(/%./g) ?? []).every(part => part in timeParts) && /%[Yy]/.test(text)),
    {
      message: `must be s, ms, us or ns, or a format with %Y or %y, and of ${Object.keys(timeParts).join(', ')}`,
    },
  );

const fieldSchema = z.union([
  z
    .string()
    .min(1)
    .transform(from => ({ from })),
  z.strictObject({ from: z.string().min(1), time: timeSchema.optional() }),
  z.strictObject({ value: z.union([z.string(), z.number(), z.boolean()]) }),
]);

/** The key `load` of a source's file. */
export const loadSchema = z
  .strictObject({
    pattern: z
      .string()
      .refine(isPattern, 'must be a regular expression with named groups, (?<name>…)')
      .optional(),
    fields: z.record(z.string().regex(/^\w+(?:\.\w+)*$/, 'must be a dotted path'), fieldSchema).default({}),
  })
  .transform(
    ({ pattern, fields }): LoadMapping => ({
      pattern: pattern === undefined ? undefined : new RegExp(pattern),
      fields: Object.fromEntries(
        Object.entries(fields).map(([path, field]) => [
          path,
          'value' in field
            ? field
            : { from: field.from, time: 'time' in field && field.time ? timeReader(field.time) : undefined },
        ]),
      ),
    }),
  );

function isPattern(text: string): boolean {
  try {
    return new RegExp(text).source.includes('(?<');
  } catch {
    return false;
  }
}

const isUnit = (text: string): text is EpochUnit => (units as readonly string[]).includes(text);

/** Makes a function that converts times of one form to ISO 8601 text. */
export function timeReader(form: string): (text: string) => string | undefined {
  if (isUnit(form)) {
    return text => {
      const micros = readEpoch(text, form);
      const isTime = micros !== undefined && micros >= minTimestamp && micros <= maxTimestamp;
      return isTime ? formatTimestamp(micros) : undefined;
    };
  }
  const source = form
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/%./g, part => timeParts[part] ?? part)
    .replace(/ +/g, ' +');
  const pattern = new RegExp(`^${source}$`);
  return text => {
    const found = pattern.exec(text.trim())?.groups;
    if (!found) return undefined;
    const {
      year = shortYearOf(found.shortYear),
      month,
      monthName,
      day = '1',
      hour = hourOf(found.hour12, found.half),
      minute = '0',
      second = '0',
      fraction = '0',
      zone = 'Z',
    } = found;
    const number = monthName ? months.indexOf(monthName.toLowerCase()) + 1 : Number(month ?? 1);
    const two = (part: string | number) => String(part).padStart(2, '0');
    // The text stays unchanged, for the error message to show.
    if (!isDay(Number(year), number, Number(day))) return undefined;
    return `${year}-${two(number)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}.${fraction}${zone}`;
  };
}

/** @param month counts from 1 */
function isDay(year: number, month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** Years of two digits are those from 1969 to 2068, as strptime has it. */
function shortYearOf(digits = '70'): string {
  return `${Number(digits) < 69 ? 20 : 19}${digits}`;
}

function hourOf(hour12 = '0', half = 'am'): string {
  return String((Number(hour12) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0));
}

/**
 * Maps a received row. Fields that the mapping does not name are unchanged; so is a time that does not fit its form, which is later
 * refused as a value.
 */
export function mapRow({ fields }: LoadMapping, row: Record<string, unknown>): Record<string, unknown> {
  const mapped: Record<string, unknown> = { ...row };
  for (const field of Object.values(fields)) {
    if ('from' in field && Object.hasOwn(mapped, field.from)) delete mapped[field.from];
  }
  for (const [path, field] of Object.entries(fields)) {
    const value = 'value' in field ? field.value : read(row, field.from);
    if (value === undefined) continue;
    const isTime = 'from' in field && field.time && value !== null;
    place(
      mapped,
      path.split('.'),
      isTime ? (field.time?.(keptDigits(value) ?? String(value)) ?? value) : value,
    );
  }
  return mapped;
}

/** Reads a field by its name, which may contain dots, or else by its path; an array stands for its first element. */
function read(row: Record<string, unknown>, path: string): unknown {
  if (Object.hasOwn(row, path)) return row[path];
  let value: unknown = row;
  for (const name of path.split('.')) {
    if (Array.isArray(value)) [value] = value;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name]; // an object that has it
  }
  return value;
}

/** Sets a field at a path; an array stands for its first element here, too. */
function place(row: Record<string, unknown>, [name = '', ...below]: string[], value: unknown): void {
  if (below.length === 0) {
    row[name] = value;
    return;
  }
  const own = Object.hasOwn(row, name) ? row[name] : undefined;
  const [first, ...others]: unknown[] = Array.isArray(own) ? own : [own];
  const record: Record<string, unknown> =
    typeof first === 'object' && first !== null && !Array.isArray(first) ? { ...first } : {};
  row[name] = Array.isArray(own) ? [record, ...others] : record;
  place(record, below, value);
}
