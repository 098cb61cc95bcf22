import { formatTimestamp } from '../base/format-timestamp.ts';
import type { Column } from '../base/rows.ts';
import { guardedText, quotedCell } from './csv-cell.ts';
import type { RowWriter } from './row-writer.ts';
import { digitsOf, parseRows } from './stored-values.ts';

/**
 * Writes rows as CSV of RFC 4180, with a header line. NULL is an empty field and empty text is `""`, TIMESTAMP is ISO 8601 in UTC,
 * arrays and records are JSON. Text that a spreadsheet would run as a formula gets a `'` in front (decision 72).
 */
export function createCsvWriter(columns: readonly Column[]): RowWriter {
  const writers = columns.map(column => [column.name, cellWriter(column)] as const);
  // Most readers would skip an empty line.
  const nothing = columns.length === 1 ? '""' : '';
  const header = columns.map(({ name }) => quotedCell(guardedText(name))).join(',');
  return {
    start: () => Buffer.from(`${header}\r\n`),
    write(rows) {
      const lines = parseRows(rows).map(row =>
        writers.map(([name, write]) => (row[name] === null ? nothing : write(row[name]))).join(','),
      );
      return Buffer.from(`${lines.join('\r\n')}\r\n`);
    },
    finish: () => noBytes,
  };
}

const noBytes = Buffer.alloc(0);

/** Makes the function that writes the values of a column; never called with null. */
function cellWriter({ type, mode }: Column): (json: unknown) => string {
  // The JSON of arrays and records begins with a bracket, so it is never a formula.
  if (mode === 'REPEATED' || type === 'STRUCT') return json => quotedCell(JSON.stringify(json));
  switch (type) {
    case 'STRING':
    case 'JSON':
      return json => quotedCell(guardedText(String(json)));
    case 'TIMESTAMP':
      return json => formatTimestamp(BigInt(digitsOf(json)));
    default:
      return json => quotedCell(digitsOf(json));
  }
}
