import { GatewayError } from '../base/errors.ts';
import { findRows, type RowsRange } from '../base/rows.ts';

/** Bytes of JSON that are parsed at a time: as values they take up to eighty times as much memory. */
const rangeBytes = 1024 * 1024;

/** Maximum rows of one range. */
const rangeRows = 8192;

/** Maximum bytes of one row, which is never split. Documented in `docs/rest.md`. */
const maxRowBytes = 2 * 1024 * 1024;

/**
 * Cuts the rows of an answer into ranges, each of which is written at once: as a batch or a row group. The same rows are cut at the same
 * positions, whether they come as a whole or range by range.
 * @param json rows with one byte between two of them
 * @param at position of the first row
 */
export function* cutRows(json: Buffer, at: number): Generator<RowsRange, void> {
  let range: RowsRange | undefined;
  let rows = 0;
  for (const { start, end } of findRows(json, at)) {
    range = { start: range?.start ?? start, end };
    rows++;
    if (rows < rangeRows && end - range.start < rangeBytes) continue;
    yield range;
    range = undefined;
    rows = 0;
  }
  if (range) yield range;
}

/**
 * Checks that the rows of a range can become values.
 * @throws GatewayError `result_too_large` for a row over the limit
 */
export function checkRows(json: Buffer, { start, end }: RowsRange): void {
  if (end - start <= maxRowBytes) return;
  for (const row of findRows(json.subarray(0, end), start)) {
    const bytes = row.end - row.start;
    if (bytes > maxRowBytes) throw rowTooLarge(bytes);
  }
}

function rowTooLarge(bytes: number): GatewayError {
  return new GatewayError(
    'result_too_large',
    `A row has ${bytes} bytes; allowed in CSV, Parquet and Arrow: ${maxRowBytes}. JSON takes longer ones`,
  );
}
