import type { ResultSet } from '../base/rows.ts';

/**
 * Gives each key its rows of a batch result, as the single query would have rendered them: without the key, in the batch's
 * order, at most `maxRows`. The text of the other columns is not touched, so that no digit is lost.
 * @param result its first column is the key, a STRING
 * @throws Error if a row has a key that was not asked for
 */
export function splitRows(
  { columns, rowsJson, rowCount }: ResultSet,
  keys: readonly string[],
  maxRows: number,
): ResultSet[] {
  const rowsOf = new Map(keys.map(key => [key, [] as string[]]));
  const truncated = new Set<string[]>();
  const json = rowsJson.toString();
  const opening = `{${JSON.stringify(columns[0]?.name)}:`;
  let at = 1;
  for (let row = 0; row < rowCount; row++) {
    const keyStart = at + opening.length;
    const keyEnd = endOfString(json, keyStart);
    const end = endOfObject(json, keyEnd);
    const key: unknown = JSON.parse(json.slice(keyStart, keyEnd));
    const rows = typeof key === 'string' ? rowsOf.get(key) : undefined;
    if (!rows)
      throw new Error(`The batch form gave a row of ${JSON.stringify(key)}, which was not asked for`);
    // After the key comes the comma before the next column.
    if (rows.length < maxRows) rows.push(`{${json.slice(keyEnd + 1, end)}`);
    else truncated.add(rows);
    at = end + 1;
  }
  return keys.map(key => {
    const rows = rowsOf.get(key) ?? [];
    return {
      columns: columns.slice(1),
      rowsJson: Buffer.from(`[${rows.join(',')}]`),
      rowCount: rows.length,
      isTruncated: truncated.has(rows),
    };
  });
}

/** The end of the JSON string that starts at this quotation mark, after its closing one. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** The end of the object that encloses this position, after its brace; the position is outside of strings. */
function endOfObject(json: string, start: number): number {
  let depth = 1;
  for (let at = start; ; at++) {
    const sign = json[at];
    if (sign === '"') at = endOfString(json, at) - 1;
    else if (sign === '{') depth++;
    else if (sign === '}' && --depth === 0) return at + 1;
    else if (sign === undefined) throw new Error('The rows of the batch form end within a row');
  }
}
