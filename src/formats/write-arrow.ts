import {
  Column as ArrowColumn,
  binary,
  bool,
  columnFromArray,
  type DataType,
  DateUnit,
  date,
  decimal128,
  field,
  float64,
  int32,
  int64,
  list,
  struct,
  TimeUnit,
  tableFromColumns,
  tableToIPC,
  time,
  timestamp,
  utf8,
} from '@uwdata/flechette';
import type { Column, ColumnType } from '../base/rows.ts';
import type { RowWriter } from './row-writer.ts';
import {
  type JsonRow,
  numericPrecision,
  numericScale,
  parseRows,
  storedValueReader,
} from './stored-values.ts';

/**
 * Writes rows as an Arrow IPC stream, a record batch at a time, in the types of BigQuery's own Storage Read API except BIGNUMERIC,
 * which is text.
 */
export function createArrowWriter(columns: readonly Column[]): RowWriter {
  const builders = columns.map(column => ({
    name: column.name,
    read: storedValueReader(column),
    built: arrowType(column, 'builder'),
    stored: arrowType(column, 'schema'),
  }));

  /** A whole stream: schema, one batch unless there are no rows, end. */
  function encode(rows: readonly JsonRow[]): Buffer {
    const entries = builders.map(({ name, read, built, stored }): [string, ArrowColumn<unknown>] => {
      const { data } = columnFromArray(
        rows.map(row => read(row[name])),
        built,
      );
      return [name, new ArrowColumn([...data], stored)];
    });
    const bytes = tableToIPC(tableFromColumns(entries), { format: 'stream' });
    if (!bytes) throw new Error('The Arrow writer returned nothing');
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  // Each stream begins with the same schema and ends with the same marker.
  const empty = encode([]);
  const schemaBytes = schemaLength(empty);
  return {
    start: () => empty.subarray(0, schemaBytes),
    write: rows => encode(parseRows(rows)).subarray(schemaBytes, -endBytes),
    finish: () => empty.subarray(-endBytes),
  };
}

/** Bytes of the end of a stream: a continuation marker and the length 0. Source: Arrow columnar format, "IPC Streaming Format". */
const endBytes = 8;

/** Bytes of a stream's first message, the schema: marker, length, and that many bytes. */
function schemaLength(stream: Buffer): number {
  return 8 + stream.readInt32LE(4);
}

/**
 * The Arrow type of a column.
 * @param use the library's builder of times takes floating-point milliseconds, which can't hold microseconds: for it, times have the
 * integer type of the same layout
 */
function arrowType(column: Column, use: 'builder' | 'schema'): DataType {
  const element = elementType(column, use);
  return column.mode === 'REPEATED' ? list(field('item', element)) : element;
}

function elementType({ type, fields = [] }: Column, use: 'builder' | 'schema'): DataType {
  if (type === 'STRUCT') return struct(fields.map(each => field(each.name, arrowType(each, use))));
  return (use === 'builder' ? builderTypes : schemaTypes)[type]();
}

const schemaTypes: Readonly<Record<Exclude<ColumnType, 'STRUCT'>, () => DataType>> = {
  STRING: utf8,
  JSON: utf8,
  BIGNUMERIC: utf8,
  BYTES: binary,
  BOOL: bool,
  INT64: int64,
  FLOAT64: float64,
  NUMERIC: () => decimal128(numericPrecision, numericScale),
  TIMESTAMP: () => timestamp(TimeUnit.MICROSECOND, 'UTC'),
  DATETIME: () => timestamp(TimeUnit.MICROSECOND),
  DATE: () => date(DateUnit.DAY),
  TIME: () => time(TimeUnit.MICROSECOND),
};

const builderTypes = { ...schemaTypes, TIMESTAMP: int64, DATETIME: int64, DATE: int32 };
