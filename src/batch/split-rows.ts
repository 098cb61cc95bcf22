import { objectEnd, stringEnd } from '../base/json.ts';
import type { ResultSet } from '../base/rows.ts';
import { takeTurns } from '../base/turns.ts';

/**
 * Gives each key its rows of a batch result, as the single query would have rendered them: without the key, in the batch's
 * order, at most `maxRows`. The text of the other columns is not parsed, so that no digit is lost. A result of a million rows takes
 * many turns of the event loop.
 * @param result its first column is the key: a STRING, an INT64 or a DATE
 * @param keys as canonical texts
 * @throws Error if a row has a key that was not asked for
 */
export async function splitRows(
  { columns, rowsJson, rowCount }: ResultSet,
  keys: readonly string[],
  maxRows: number,
): Promise<ResultSet[]> {
  const turns = takeTurns();
  const rowsOf = new Map(keys.map(key => [key, [] as string[]]));
  const truncated = new Set<string[]>();
  const openingBytes = Buffer.byteLength(`{${JSON.stringify(columns[0]?.name)}:`);
  let at = 1;
  for (let row = 0; row < rowCount; row++) {
    while (turns.isOver()) await turns.next();
    const keyStart = at + openingBytes;
    const isQuoted = rowsJson[keyStart] === quote;
    const keyEnd = isQuoted ? stringEnd(rowsJson, keyStart) : rowsJson.indexOf(',', keyStart);
    const end = objectEnd(rowsJson, at);
    const written = rowsJson.toString('utf8', keyStart, keyEnd);
    // An integer is taken as text, with all its digits.
    const rows = rowsOf.get(isQuoted ? JSON.parse(written) : written);
    if (!rows) throw new Error(`The batch form gave a row of ${written}, which was not asked for`);
    // After the key comes the comma before the next column.
    if (rows.length < maxRows) rows.push(`{${rowsJson.toString('utf8', keyEnd + 1, end)}`);
    else truncated.add(rows);
    at = end + 1;
  }
  const split: ResultSet[] = [];
  for (const key of keys) {
    while (turns.isOver()) await turns.next();
    const rows = rowsOf.get(key) ?? [];
    split.push({
      columns: columns.slice(1),
      rowsJson: Buffer.from(`[${rows.join(',')}]`),
      rowCount: rows.length,
      isTruncated: truncated.has(rows),
    });
  }
  return split;
}

const quote = 0x22;
