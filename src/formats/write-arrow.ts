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
import type { Column } from '../base/rows.ts';
import { numericPrecision, numericScale, parseRows, storedValueReader } from './stored-values.ts';

/** Rows of one record batch, by which a reader of the stream may take them. */
const maxBatchRows = 8192;

/**
 * Writes rows as an Arrow IPC stream, in the types of BigQuery's own Storage Read API but for BIGNUMERIC, which is text.
 * @param body `{"result":[…]}`, UTF-8
 */
export function writeArrow(columns: readonly Column[], body: Buffer): Buffer {
  const rows = parseRows(body);
  const entries = columns.map((column): [string, ArrowColumn<unknown>] => {
    const read = storedValueReader(column);
    const values = rows.map(row => read(row[column.name]));
    const built = columnFromArray(values, arrowType(column, 'builder'), { maxBatchRows });
    return [column.name, new ArrowColumn([...built.data], arrowType(column, 'schema'))];
  });
  const bytes = tableToIPC(tableFromColumns(entries), { format: 'stream' });
  if (!bytes) throw new Error('The Arrow writer returned nothing');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * The Arrow type of a column.
 * @param use the `builder` of times takes milliseconds as floating point, which have no room for microseconds; it gets the integer
 * type of the same layout
 */
function arrowType(column: Column, use: 'builder' | 'schema'): DataType {
  const element = elementType(column, use);
  return column.mode === 'REPEATED' ? list(field('item', element)) : element;
}

function elementType({ type, fields = [] }: Column, use: 'builder' | 'schema'): DataType {
  const isBuilt = use === 'builder';
  switch (type) {
    case 'STRING':
    case 'JSON':
    case 'BIGNUMERIC':
      return utf8();
    case 'BYTES':
      return binary();
    case 'BOOL':
      return bool();
    case 'INT64':
      return int64();
    case 'FLOAT64':
      return float64();
    case 'NUMERIC':
      return decimal128(numericPrecision, numericScale);
    case 'TIMESTAMP':
      return isBuilt ? int64() : timestamp(TimeUnit.MICROSECOND, 'UTC');
    case 'DATETIME':
      return isBuilt ? int64() : timestamp(TimeUnit.MICROSECOND);
    case 'DATE':
      return isBuilt ? int32() : date(DateUnit.DAY);
    case 'TIME':
      return time(TimeUnit.MICROSECOND);
    case 'STRUCT':
      return struct(fields.map(each => field(each.name, arrowType(each, use))));
  }
}
