import { type Column, isNumeric, isRepeated } from '../api/catalogue.ts';
import { toIso } from '../query/row-times.ts';
import { formatNumber } from './amount.ts';
import { summaryOf } from './summary.ts';

/** Maximum characters that a cell shows; the details have all of them. */
const maxCell = 400;

/** Microseconds since 1970 as `2026-01-15 10:00:00.123456` in UTC; with milliseconds if there are no microseconds. */
export function formatMicros(micros: number | bigint): string {
  // Beyond the range of dates it is a number of another kind.
  if (Math.abs(Number(micros)) > 8.64e18) return String(micros);
  return toIso(micros)
    .slice(0, -1)
    .replace('T', ' ')
    .replace(/(\.\d{3})000$/, '$1');
}

/** The text of a value in a cell. */
export function formatCell(column: Column, value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (isTimestamp(column, value)) return formatMicros(value);
  if ((isNumeric(column) && typeof value === 'number') || typeof value === 'bigint')
    return formatNumber(value);
  return cut(typeof value === 'object' ? summaryOf(value) : String(value), maxCell);
}

/** A text, or its beginning. */
export function cut(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/** A TIMESTAMP is an integer of microseconds. */
export function isTimestamp(column: Column, value: unknown): value is number | bigint {
  const isInteger = typeof value === 'number' || typeof value === 'bigint';
  return column.type === 'TIMESTAMP' && !isRepeated(column) && isInteger;
}

/** Seconds since 1970 of a TIMESTAMP, DATETIME or DATE; undefined for anything else. */
export function toSeconds(column: Column, value: unknown): number | undefined {
  if (isTimestamp(column, value)) return Number(value) / 1e6;
  if (typeof value !== 'string') return undefined;
  const ms = Date.parse(column.type === 'DATE' ? value : `${value.replace(' ', 'T')}Z`);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** The columns of rows without a description. */
export function guessColumns(rows: readonly Readonly<Record<string, unknown>>[]): Column[] {
  const names = new Set(rows.slice(0, 100).flatMap(row => Object.keys(row)));
  return [...names].map(name => {
    const value = rows.find(row => row[name] !== null && row[name] !== undefined)?.[name];
    return { name, type: guessType(value), repeated: Array.isArray(value) };
  });
}

function guessType(value: unknown): string {
  if (typeof value === 'bigint') return 'INT64';
  // Sixteen digits: microseconds between 2001 and 2286.
  if (typeof value === 'number' && Number.isInteger(value))
    return /^\d{16}$/.test(`${value}`) ? 'TIMESTAMP' : 'INT64';
  if (typeof value === 'number') return 'FLOAT64';
  if (typeof value === 'boolean') return 'BOOL';
  return typeof value === 'object' && value !== null ? 'STRUCT' : 'STRING';
}

/** Bytes as a person writes them. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** A length of time as a person writes it. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
