import { readZone, utcZone, type Zone } from './read-zone.ts';

const date = String.raw`(?:000[1-9]|00[1-9]\d|0[1-9]\d{2}|[1-9]\d{3})-\d{1,2}-\d{1,2}`;
const time = String.raw`(?:[01]?\d|2[0-3]):[0-5]?\d:[0-5]?\d(?:\.\d{1,9})?`;
const offset = String.raw`(?:Z|[+-](?:(?:0\d|1[0-3])(?::?[0-5]\d)?|14(?::?00)?)| UTC)`;

/** RE2 patterns of the texts of each type that DuckDB reads as BigQuery does. */
export const plainTemporalPatterns: Readonly<Record<string, string>> = {
  TIMESTAMP: `${date}(?:[ T]${time}${offset}?)?`,
  DATETIME: `${date}(?:[ T]${time})?`,
  DATE: date,
  TIME: time,
};

const datePart = /^(\d{4})-(\d{1,2})-(\d{1,2})/;
const timePart = /^(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?/;

/**
 * Reads the text of a date or time as BigQuery does.
 * @returns the same value as DuckDB reads it: `2026-01-15 10:00:00.5`, a TIMESTAMP followed by `+05:30` or ` Asia/Tokyo`; undefined if the
 * text is no such value
 */
export function readTemporal(text: string, kind: string): string | undefined {
  if (kind === 'TIME') {
    const parts = timePart.exec(text);
    return parts?.[0].length === text.length ? civilText('1970-01-01', parts, false)?.slice(11) : undefined;
  }
  // A TIMESTAMP may have a year of five digits, the first of them 0.
  const padded = kind === 'TIMESTAMP' ? text.replace(/^0(?=\d{4}-)/, '') : text;
  const [day] = datePart.exec(padded) ?? [];
  if (!day) return undefined;
  const rest = padded.slice(day.length);
  if (kind === 'DATE') return rest ? undefined : civilText(day)?.slice(0, 10);
  const parts = /^[ Tt]/.test(rest) ? timePart.exec(rest.slice(1)) : null;
  const behind = parts ? rest.slice(1 + parts[0].length) : rest;
  const civil = civilText(day, parts ?? undefined, kind === 'TIMESTAMP');
  if (kind === 'DATETIME') return behind ? undefined : civil;
  const zone = zoneBehind(behind, parts !== null);
  return civil && zone && isInRange(civil, zone) ? civil + zoneText(zone) : undefined;
}

/** An offset follows a time at once and a date after a space; a name, or an offset from UTC by name, only a time. */
function zoneBehind(text: string, hasTime: boolean): Zone | undefined {
  if (!text) return utcZone;
  const isOffset = /^ ?[+-]/.test(text);
  if (!hasTime) return isOffset && text.startsWith(' ') ? readZone(text.slice(1)) : undefined;
  if (/^[Zz]$/.test(text)) return utcZone;
  if (isOffset) return readZone(text);
  return text.startsWith(' ') ? readZone(text.slice(1)) : undefined;
}

/** Whether an offset does not lead out of the years 1 to 9999. */
function isInRange(civil: string, { minutes }: Zone): boolean {
  const year = new Date(
    Date.parse(`${civil.slice(0, 19).replace(' ', 'T')}Z`) - minutes * 60_000,
  ).getUTCFullYear();
  return year >= 1 && year <= 9999;
}

function zoneText({ name, minutes }: Zone): string {
  if (name !== 'UTC') return ` ${name}`;
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/** The second 60 is the first of the next minute; its fraction counts only in a TIMESTAMP. */
function civilText(day: string, time?: RegExpExecArray, keepsFraction = true): string | undefined {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
  const [hour = 0, minute = 0, second = 0] = time ? time.slice(1, 4).map(Number) : [];
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const civil = new Date(0);
  civil.setUTCFullYear(year, month - 1, date);
  if (year < 1 || civil.getUTCMonth() !== month - 1 || civil.getUTCDate() !== date) return undefined;
  civil.setUTCHours(hour, minute, second);
  const text = civil.toISOString();
  // A year of five digits begins with a sign.
  if (text.startsWith('+')) return undefined;
  const fraction = second < 60 || keepsFraction ? time?.[4] : undefined;
  return `${text.slice(0, 10)} ${text.slice(11, 19)}${fraction ? `.${fraction.slice(0, 6)}` : ''}`;
}
