import type { Column } from '../base/rows.ts';
import type { RowFormat } from './row-formats.ts';

/** A format other than the one that rows are kept in. */
export type WrittenFormat = Exclude<RowFormat, 'json'>;

/**
 * Writes rows in another format. The modules of the formats are loaded by their first use.
 * @param body `{"result":[…]}`, UTF-8
 */
export async function writeRows(
  format: WrittenFormat,
  columns: readonly Column[],
  body: Buffer,
): Promise<Buffer> {
  switch (format) {
    case 'ndjson':
      return (await import('./write-ndjson.ts')).writeNdjson(body);
    case 'csv':
      return (await import('./write-csv.ts')).writeCsv(columns, body);
    case 'parquet':
      return (await import('./write-parquet.ts')).writeParquet(columns, body);
    case 'arrow':
      return (await import('./write-arrow.ts')).writeArrow(columns, body);
  }
}
