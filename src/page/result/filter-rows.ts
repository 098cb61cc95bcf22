import { type Column, isTemporal } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import type { Zoom } from '../view-url.ts';
import { formatCell, toSeconds } from './format.ts';

type Limits = {
  /** Text that a value of a row must contain, in any letter case; names of fields do not count. Empty: every row. */
  readonly filter?: string;
  readonly zoom?: Zoom;
};

/** The rows within limits, in their order. */
export function rowsWithin(
  rows: readonly Row[],
  columns: readonly Column[],
  { filter = '', zoom }: Limits,
): readonly Row[] {
  const wanted = filter.trim().toLowerCase();
  const time = columns.find(isTemporal);
  if (wanted === '' && !(zoom && time)) return rows;
  return rows.filter(row => {
    const at = time && toSeconds(time, row[time.name]);
    // A row without a time is in no part of the axis.
    const isInTime = !zoom || !time || (at !== undefined && at >= zoom.from && at < zoom.to);
    const hasText = () =>
      columns.some(column => {
        const value = row[column.name];
        // In the shown form, and in the original one.
        return (
          contains(value, wanted) ||
          (typeof value !== 'object' && contains(formatCell(column, value), wanted))
        );
      });
    return isInTime && (wanted === '' || hasText());
  });
}

/** Whether a value, or one within it, has the text. */
function contains(value: unknown, wanted: string): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === 'object') return Object.values(value).some(inner => contains(inner, wanted));
  return String(value).toLowerCase().includes(wanted);
}
