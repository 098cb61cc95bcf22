import { GatewayError } from '../base/errors.ts';
import { objectEnd } from '../base/json.ts';

/** The positions of some rows in the text of an answer: `{…},{…}`. */
export type RowsRange = { readonly start: number; readonly end: number };

/** Bytes of JSON that are parsed at a time: as values they take up to eighty times as much memory. */
const rangeBytes = 1024 * 1024;

/** Maximum rows of one range. */
const rangeRows = 8192;

/** Maximum bytes of one row, which is never split. Documented in `docs/rest.md`. */
const maxRowBytes = 2 * 1024 * 1024;

const openingBrace = 0x7b;

/**
 * Cuts the rows of an answer into ranges, each of which is written at once: as a batch or a row group. The same rows are cut at the same
 * positions, whether they come as a whole or range by range.
 * @param json rows with one byte between two of them
 * @param at position of the first row
 */
export function* cutRows(json: Buffer, at: number): Generator<RowsRange, void> {
  while (json[at] === openingBrace) {
    const start = at;
    let end = at;
    for (let rows = 0; rows < rangeRows && end - start < rangeBytes && json[at] === openingBrace; rows++) {
      end = objectEnd(json, at);
      // A comma or the closing bracket follows a row.
      at = end + 1;
    }
    yield { start, end };
  }
}

/**
 * Checks that the rows of a range can become values.
 * @throws GatewayError `result_too_large` for a row over the limit
 */
export function checkRows(json: Buffer, { start, end }: RowsRange): void {
  if (end - start <= maxRowBytes) return;
  for (let at = start; at < end; ) {
    const rowEnd = objectEnd(json, at);
    if (rowEnd - at > maxRowBytes) throw rowTooLarge(rowEnd - at);
    at = rowEnd + 1;
  }
}

function rowTooLarge(bytes: number): GatewayError {
  return new GatewayError(
    'result_too_large',
    `A row has ${bytes} bytes; allowed in CSV, Parquet and Arrow: ${maxRowBytes}. JSON takes longer ones`,
  );
}
