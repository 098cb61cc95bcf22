import { objectEnd, parseExactJson } from '../base/json.ts';

const comma = 0x2c;

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
  const start = body.indexOf('[') + 1;
  const end = body.length - 2;
  let kept = start;
  for (let at = start; at < end; ) {
    const after = objectEnd(body, at);
    if (after - start > maxBytes) break;
    kept = after;
    at = body[after] === comma ? after + 1 : after;
  }
  const rows = parseExactJson(`[${body.toString('utf8', start, kept)}]`) as unknown[]; // an array, by its brackets
  return { rows, isCut: kept < end };
}
