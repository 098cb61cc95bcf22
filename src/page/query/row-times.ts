import { formatTimestamp } from '../../base/format-timestamp.ts';
import { type Column, isRepeated } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { writeExactJson } from '../api/exact-json.ts';

/** The time column of rows: the first TIMESTAMP. */
export function timeColumn(columns: readonly Column[]): string | undefined {
  return columns.find(column => column.type === 'TIMESTAMP' && !isRepeated(column))?.name;
}

/** A time as rows have it: beyond 2^53 microseconds, before 1685 and after 2255, it is a BigInt. */
export type Micros = number | bigint;

const isMicros = (value: unknown): value is Micros => typeof value === 'number' || typeof value === 'bigint';

/**
 * Microseconds of the newest row; rows may come in any order.
 * @param latest rows with later times are ignored
 */
export function newestMicros(time: string, rows: readonly Row[], latest: number): number | undefined {
  let found: number | undefined;
  for (const { [time]: micros } of rows) {
    if (typeof micros === 'number' && micros <= latest && micros > (found ?? -Infinity)) found = micros;
  }
  return found;
}

/** Microseconds of the oldest row. */
export function oldestMicros(time: string, rows: readonly Row[]): Micros | undefined {
  let found: Micros | undefined;
  for (const { [time]: micros } of rows) {
    if (isMicros(micros) && (found === undefined || micros < found)) found = micros;
  }
  return found;
}

/** The microsecond before another one. */
export const microBefore = (micros: Micros): Micros =>
  typeof micros === 'bigint' ? micros - 1n : micros - 1;

/**
 * Microseconds since 1970 as ISO 8601 text, all digits kept.
 * @param instant fractions of a microsecond, as from multiplied seconds, are rounded
 */
export function toIso(instant: Micros): string {
  return formatTimestamp(typeof instant === 'bigint' ? instant : BigInt(Math.round(instant)));
}

/**
 * The rows of another answer that are not shown yet. Rows are compared by all their values: an `id` may be that of their subject, which
 * several rows share.
 * @param time the column that says when a row happened
 */
export function newRows(time: string, found: readonly Row[], shown: readonly Row[]): Row[] {
  const times = new Set(found.map(row => row[time]));
  const known = new Set(shown.filter(row => times.has(row[time])).map(row => writeExactJson(row)));
  return found.filter(row => !known.has(writeExactJson(row)));
}
