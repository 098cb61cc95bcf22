import { objectEnd } from './json.ts';

/**
 * The type of a column, in the words of BigQuery's own result schema.
 * Source: BigQuery REST reference, `TableFieldSchema`.
 */
export type ColumnType =
  | 'STRING'
  | 'BYTES'
  | 'BOOL'
  | 'INT64'
  | 'FLOAT64'
  | 'NUMERIC'
  | 'BIGNUMERIC'
  | 'TIMESTAMP'
  | 'DATETIME'
  | 'DATE'
  | 'TIME'
  | 'JSON'
  | 'STRUCT';

/**
 * One column of a result, or one field of a STRUCT.
 * A REPEATED column is an array and never NULL: `[]` when empty.
 */
export type Column = {
  readonly name: string;
  readonly type: ColumnType;
  readonly mode: 'NULLABLE' | 'REPEATED';
  /** Present exactly when `type` is STRUCT. */
  readonly fields?: readonly Column[];
};

/** Approximate bytes of the object of one column. */
const columnBytes = 150;

/** Approximate bytes of memory of columns, including the fields of records. */
export function bytesOfColumns(columns: readonly Column[]): number {
  return columns.reduce(
    (bytes, { name, fields = [] }) => bytes + columnBytes + name.length + bytesOfColumns(fields),
    0,
  );
}

/**
 * The rows of one query, already in the wire form of contract 2.12.
 *
 * Rows are rendered once, by the engine, and travel as bytes from there on:
 * a JSON array of objects, columns in the query's order, every row with every column.
 */
export type ResultSet = {
  readonly columns: readonly Column[];
  /** UTF-8 JSON text: `[]` or `[{…},{…}]`, without white space between rows. */
  readonly rowsJson: Buffer;
  /** `{"result":[…]}`, the body of a REST answer, where `rowsJson` is a part of it. */
  readonly body?: Buffer;
  readonly rowCount: number;
  /** Whether the query had more rows than its maximum (contract 2.14). Default false. */
  readonly isTruncated?: boolean;
  /** What the query cost, if the engine knows. */
  readonly receipt?: Receipt;
};

/** What stands before and behind the rows in the body of a REST answer. */
export const bodyOpening = '{"result":';
export const bodyClosing = '}';

/** The position of a row in JSON text, or of several: `{…},{…}`. */
export type RowsRange = { readonly start: number; readonly end: number };

const openingBrace = 0x7b;

/**
 * Finds the rows in JSON text one by one, without parsing them.
 * @param json rows with one byte between two of them, a comma
 * @param at position of the first row; there is none if no object begins there
 */
export function* findRows(json: Buffer, at: number): Generator<RowsRange, void> {
  for (let start = at; json[start] === openingBrace; ) {
    const end = objectEnd(json, start);
    yield { start, end };
    start = end + 1;
  }
}

/** The position of the first row in the body of a REST answer. */
export const firstRowAt = bodyOpening.length + 1;

/** What one query cost. */
export type Receipt = {
  readonly bytesProcessed: number;
  /** Zero if the warehouse answered from its own cache. */
  readonly bytesBilled?: number;
  /** Slot milliseconds: the time of all of the warehouse's slots, summed. */
  readonly slotMs?: number;
  /** The warehouse's own id of the query. */
  readonly jobId?: string;
};
