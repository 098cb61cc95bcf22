import type { Column } from '../base/rows.ts';
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
  const header = columns.map(({ name }) => quoted(guarded(name))).join(',');
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
  if (mode === 'REPEATED' || type === 'STRUCT') return json => quoted(JSON.stringify(json));
  switch (type) {
    case 'STRING':
    case 'JSON':
      return json => quoted(guarded(String(json)));
    case 'TIMESTAMP':
      return json => isoTimestamp(BigInt(digitsOf(json)));
    default:
      return json => quoted(digitsOf(json));
  }
}

/** Characters that make a spreadsheet treat text as a formula. Source: OWASP, "CSV Injection". */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** A signed number, which is not a formula. */
const number = /^[+-]\d+(?:\.\d+)?$/;

function guarded(text: string): string {
  return formulaStart.test(text) && !number.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** ISO 8601, always with six digits of a second: readers that guess types do so from the first line. */
function isoTimestamp(micros: bigint): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const millis = new Date(Number((micros - rest) / 1000n));
  return millis.toISOString().replace('Z', `${String(rest).padStart(3, '0')}Z`);
}
