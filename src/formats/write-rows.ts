import { type Column, firstRowAt } from '../base/rows.ts';
import { cutRows } from './cut-rows.ts';
import type { RowFormat } from './row-formats.ts';
import type { RowWriter } from './row-writer.ts';

/** A format other than JSON, in which rows are kept. */
export type WrittenFormat = Exclude<RowFormat, 'json'>;

/** Makes a writer. The module of a format is loaded on first use. */
export async function createRowWriter(format: WrittenFormat, columns: readonly Column[]): Promise<RowWriter> {
  switch (format) {
    case 'ndjson':
      return (await import('./write-ndjson.ts')).createNdjsonWriter();
    case 'csv':
      return (await import('./write-csv.ts')).createCsvWriter(columns);
    case 'parquet':
      return (await import('./write-parquet.ts')).createParquetWriter(columns);
    case 'arrow':
      return (await import('./write-arrow.ts')).createArrowWriter(columns);
  }
}

/**
 * Writes all rows of an answer at once.
 * @param body `{"result":[…]}`, UTF-8
 */
export async function writeRows(
  format: WrittenFormat,
  columns: readonly Column[],
  body: Buffer,
): Promise<Buffer> {
  const writer = await createRowWriter(format, columns);
  return Buffer.concat([writer.start(), ...writeRanges(writer, body, firstRowAt), writer.finish()]);
}

/** Writes rows range by range. */
export function* writeRanges(writer: RowWriter, rows: Buffer, at: number): Generator<Buffer, void> {
  for (const { start, end } of cutRows(rows, at)) yield writer.write(rows.subarray(start, end));
}
