import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { Column } from '../base/rows.ts';
import type { RowWriter } from './row-writer.ts';
import { numericPrecision, numericScale, parseRows, storedValueReader } from './stored-values.ts';

/**
 * Writes rows as a Parquet file, a row group at a time, in the types of BigQuery's own exports except BIGNUMERIC, which is text.
 * Of a written group it keeps only the entry for the footer.
 */
export function createParquetWriter(columns: readonly Column[]): RowWriter {
  const readers = columns.map(column => [column.name, storedValueReader(column)] as const);
  const schema = [{ name: 'root', num_children: columns.length }, ...columns.flatMap(schemaOf)];
  const bytes = new ByteWriter();
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'saved-query-gateway' });

  function take(): Buffer {
    const taken = Buffer.from(bytes.getBuffer());
    // `offset` still counts all bytes of the file, so that positions in the footer are right.
    bytes.index = 0;
    return taken;
  }

  return {
    start: take,
    write(text) {
      const rows = parseRows(text);
      const columnData = readers.map(([name, read]) => ({ name, data: rows.map(row => read(row[name])) }));
      file.write({ columnData, rowGroupSize: rows.length });
      return take();
    },
    finish() {
      file.finish();
      return take();
    },
  };
}

/** The schema elements of a column, itself first. Every value may be NULL: BigQuery's result schemas have no required columns. */
function schemaOf(column: Column): SchemaElement[] {
  if (column.mode !== 'REPEATED') return elementOf(column, column.name);
  return [
    {
      name: column.name,
      num_children: 1,
      repetition_type: 'OPTIONAL',
      converted_type: 'LIST',
      logical_type: { type: 'LIST' },
    },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    ...elementOf(column, 'element'),
  ];
}

function elementOf({ type, fields = [] }: Column, name: string): SchemaElement[] {
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  if (type !== 'STRUCT') return [{ ...optional, ...leaves[type] }];
  return [{ ...optional, num_children: fields.length }, ...fields.flatMap(schemaOf)];
}

/** Converted types are for readers that predate logical types. Source: parquet-format, LogicalTypes.md. */
const text: Partial<SchemaElement> = {
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  logical_type: { type: 'STRING' },
};

const leaves: Record<Exclude<Column['type'], 'STRUCT'>, Partial<SchemaElement>> = {
  STRING: text,
  JSON: text,
  BIGNUMERIC: text,
  BYTES: { type: 'BYTE_ARRAY' },
  BOOL: { type: 'BOOLEAN' },
  INT64: { type: 'INT64' },
  FLOAT64: { type: 'DOUBLE' },
  NUMERIC: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    converted_type: 'DECIMAL',
    logical_type: { type: 'DECIMAL', precision: numericPrecision, scale: numericScale },
    precision: numericPrecision,
    scale: numericScale,
  },
  TIMESTAMP: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  // No converted type: it would mean UTC.
  DATETIME: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' } },
  DATE: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  TIME: { type: 'INT64', logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MICROS' } },
};
