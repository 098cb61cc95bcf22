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
import {
  type JsonRow,
  numericPrecision,
  numericScale,
  parseRows,
  storedValueReader,
} from './stored-values.ts';

/**
 * Writes rows as an Arrow IPC stream, in the types of BigQuery's own Storage Read API but for BIGNUMERIC, which is text.
 * @param body `{"result":[…]}`, UTF-8
 */
export function writeArrow(columns: readonly Column[], body: Buffer): Buffer {
  const builders = columns.map(column => {
    const read = storedValueReader(column);
    const type = arrowType(column, 'builder');
    const build = (rows: readonly JsonRow[]) =>
      columnFromArray(
        rows.map(row => read(row[column.name])),
        type,
      ).data;
    return { column, build, batches: [] as ReturnType<typeof build>[number][] };
  });
  for (const rows of parseRows(body)) {
    for (const { build, batches } of builders) batches.push(...build(rows));
  }
  const entries = builders.map(({ column, build, batches }): [string, ArrowColumn<unknown>] => {
    const all = batches.length > 0 ? batches : [...build([])];
    return [column.name, new ArrowColumn(all, arrowType(column, 'schema'))];
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
