import { guardedText, quotedCell } from '../../formats/csv-cell.ts';
import type { Column } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { writeExactJson } from '../api/exact-json.ts';
import { toIso } from '../query/row-times.ts';
import { isTimestamp } from './format.ts';

/**
 * The rows as the gateway writes them for `format=csv` (docs/rest.md). Rows of several answers, as "Load older rows" and Live make them,
 * come from no single request, so the page writes them itself.
 */
export function writeCsv(columns: readonly Column[], rows: readonly Row[]): string {
  // Most readers would skip an empty line.
  const nothing = columns.length === 1 ? '""' : '';
  const header = columns.map(({ name }) => quotedCell(guardedText(name))).join(',');
  const lines = rows.map(row => columns.map(column => cellOf(column, row[column.name]) ?? nothing).join(','));
  return `${[header, ...lines].join('\r\n')}\r\n`;
}

/** The text of a value; undefined for NULL. */
function cellOf(column: Column, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'object') return quotedCell(writeExactJson(value));
  if (isTimestamp(column, value)) return toIso(value);
  const text = String(value);
  return quotedCell(column.type === 'STRING' || column.type === 'JSON' ? guardedText(text) : text);
}
