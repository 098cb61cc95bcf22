import { type Column, isRepeated } from './api/catalogue.ts';
import type { Row } from './api/client.ts';
import { writeExactJson } from './api/exact-json.ts';

/** The column that says when a row happened: the first TIMESTAMP. */
export function timeColumn(columns: readonly Column[]): string | undefined {
  return columns.find(column => column.type === 'TIMESTAMP' && !isRepeated(column))?.name;
}

/** Microseconds of the newest row; rows may come in any order. */
export function newestMicros(time: string, rows: readonly Row[]): number | undefined {
  return extreme(time, rows, (one, other) => one > other);
}

/** Microseconds of the oldest row. */
export function oldestMicros(time: string, rows: readonly Row[]): number | undefined {
  return extreme(time, rows, (one, other) => one < other);
}

function extreme(time: string, rows: readonly Row[], isBeyond: (one: number, other: number) => boolean) {
  let found: number | undefined;
  for (const { [time]: micros } of rows) {
    if (typeof micros === 'number' && (found === undefined || isBeyond(micros, found))) found = micros;
  }
  return found;
}

/**
 * Microseconds since 1970 as ISO 8601 text, all digits kept.
 * @param instant what is left of a microsecond, as of seconds that were multiplied, is rounded
 */
export function toIso(instant: number): string {
  const micros = Math.round(instant);
  const ms = Math.floor(micros / 1000);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros - ms * 1000).padStart(3, '0')}Z`;
}

/**
 * The rows of another answer that are not shown yet. Rows are told apart by all that they hold: an `id` may be that of what they are
 * about, and several have it.
 * @param time the column that says when a row happened
 */
export function newRows(time: string, found: readonly Row[], shown: readonly Row[]): Row[] {
  const times = new Set(found.map(row => row[time]));
  const known = new Set(shown.filter(row => times.has(row[time])).map(row => writeExactJson(row)));
  return found.filter(row => !known.has(writeExactJson(row)));
}
