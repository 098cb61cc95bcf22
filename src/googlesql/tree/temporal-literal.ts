const date = String.raw`(?:000[1-9]|00[1-9]\d|0[1-9]\d{2}|[1-9]\d{3})-\d{1,2}-\d{1,2}`;
const time = String.raw`(?:[01]?\d|2[0-3]):[0-5]?\d:[0-5]?\d(?:\.\d{1,9})?`;
const zone = String.raw`(?:Z|\s*[+-](?:(?:0\d|1[0-3])(?::?[0-5]\d)?|14(?::?00)?)|\s*UTC)`;
const namedZone = String.raw`\s+[A-Za-z]+(?:\/[A-Za-z_]+)+`;

/** What a text of each type looks like; the patterns are RE2 as well, for texts that only come at run time. */
export const temporalPatterns: Readonly<Record<string, string>> = {
  TIMESTAMP: `${date}(?:(?:[ T]${time})?${zone}?|[ T]${time}${namedZone})`,
  DATETIME: `${date}(?:[ T]${time})?`,
  DATE: date,
  TIME: time,
};

/** What BigQuery reads besides, and DuckDB does not: a small t or z, one digit of an offset, a leap second. */
const unreadTime = String.raw`(?:[01]?\d|2[0-3]):[0-5]?\d:(?:[0-5]?\d|60)(?:\.\d{1,9})?`;
const unreadZone = String.raw`(?:[Zz]|\s*(?:UTC)?(?:[+-](?:0?\d|1[0-4])(?::?[0-5]?\d)?)?)`;
export const unreadTemporalPatterns: Readonly<Record<string, string>> = {
  TIMESTAMP: `0?${date}[ Tt]${unreadTime}${unreadZone}`,
  DATETIME: `${date}[ Tt]${unreadTime}`,
  TIME: unreadTime,
};

/**
 * Checks the text of a date or time literal.
 * @returns the text that DuckDB reads as the same value; undefined when it is none
 */
export function parseTemporalLiteral(text: string, kind: string): string | undefined {
  const pattern = temporalPatterns[kind];
  if (!pattern || !new RegExp(`^${pattern}$`).test(text)) return undefined;
  const trimmed = text.trim();
  return kind === 'TIME' || isCalendarDate(trimmed) ? trimmed : undefined;
}

function isCalendarDate(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.split(/[-\sTt]/, 3).map(Number);
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day <= (days[month - 1] ?? 0);
}
