import { type Column, isTemporal } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { writeExactJson } from '../api/exact-json.ts';
import type { Zoom } from '../view-url.ts';
import { toSeconds } from './format.ts';

type Limits = {
  /** Text that a row has anywhere, in any letter case; empty: every row. */
  readonly filter?: string;
  readonly zoom?: Zoom;
};

/** The rows within limits, in their order. */
export function rowsWithin(
  rows: readonly Row[],
  columns: readonly Column[],
  { filter = '', zoom }: Limits,
): readonly Row[] {
  // As it stands in JSON: a quote is written with a backslash there.
  const wanted = JSON.stringify(filter.trim()).slice(1, -1).toLowerCase();
  const time = columns.find(isTemporal);
  if (wanted === '' && !(zoom && time)) return rows;
  return rows.filter(row => {
    const at = time && toSeconds(time, row[time.name]);
    const isInTime = !zoom || at === undefined || (at >= zoom.from && at < zoom.to);
    return isInTime && (wanted === '' || writeExactJson(Object.values(row)).toLowerCase().includes(wanted));
  });
}
