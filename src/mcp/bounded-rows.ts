import { parseExactJson } from '../base/json.ts';
import { findRows, firstRowAt } from '../base/rows.ts';

/** The first rows of an answer. */
export type BoundedRows = {
  /** Parsed rows; JSON.stringify writes integers beyond 2^53 back with all their digits. */
  readonly rows: readonly unknown[];
  /** Whether more rows followed. */
  readonly isCut: boolean;
};

/**
 * Reads as many rows as fit into this many bytes of JSON; the rest is not parsed.
 * @param body `{"result":[…]}`, UTF-8
 */
export function boundRows(body: Buffer, maxBytes: number): BoundedRows {
  let keptEnd = firstRowAt;
  let isCut = false;
  for (const { end } of findRows(body, firstRowAt)) {
    isCut = end - firstRowAt > maxBytes;
    if (isCut) break;
    keptEnd = end;
  }
  const rows = parseExactJson(`[${body.toString('utf8', firstRowAt, keptEnd)}]`) as unknown[]; // an array, by its brackets
  return { rows, isCut };
}
