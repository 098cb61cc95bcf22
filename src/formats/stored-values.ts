import { keptDigits, parseExactJson } from '../base/json.ts';
import type { Column } from '../base/rows.ts';

/**
 * A value as Arrow and Parquet both store it: TIMESTAMP, DATETIME and TIME are microseconds, DATE is days since 1970, NUMERIC is an
 * integer of 10^-9, and STRUCT an object by the names of its fields.
 */
export type StoredValue =
  | null
  | string
  | boolean
  | number
  | bigint
  | Uint8Array
  | readonly StoredValue[]
  | { readonly [field: string]: StoredValue };

/** Digits of NUMERIC after the decimal point. Source: BigQuery, "Decimal types". */
export const numericScale = 9;

/** All digits of NUMERIC. */
export const numericPrecision = 38;

/** A parsed row; integers beyond 2^53 are the objects of `parseExactJson`. */
export type JsonRow = Readonly<Record<string, unknown>>;

/** Parses some rows of an answer: `{…},{…}`. */
export function parseRows(rows: Buffer): readonly JsonRow[] {
  return parseExactJson(`[${rows.toString('utf8')}]`) as readonly JsonRow[]; // our own answer
}

/** Makes the function that converts the JSON of a column (contract 2.12) to stored values. */
export function storedValueReader(column: Column): (json: unknown) => StoredValue {
  const read = scalarReader(column);
  const readOne = (json: unknown) => (json === null || json === undefined ? null : read(json));
  if (column.mode !== 'REPEATED') return readOne;
  return json => (Array.isArray(json) ? json.map(readOne) : []);
}

/** Makes the function for one element; it is never called with null. */
function scalarReader({ type, fields = [] }: Column): (json: unknown) => StoredValue {
  switch (type) {
    case 'STRING':
    case 'JSON':
    // Text, because its 76 digits are more than most readers' decimal types have.
    case 'BIGNUMERIC':
      return String;
    case 'BOOL':
      return json => json === true;
    case 'INT64':
      return json => BigInt(digitsOf(json));
    case 'TIMESTAMP':
      return json => BigInt(digitsOf(json));
    case 'FLOAT64':
      return json => Number(digitsOf(json));
    case 'NUMERIC':
      return json => scaledInteger(String(json), numericScale);
    case 'BYTES':
      return json => Buffer.from(String(json), 'base64');
    case 'DATE':
      return json => Date.parse(String(json)) / 86_400_000;
    case 'DATETIME':
      return json => microseconds(String(json));
    case 'TIME':
      return json => microseconds(`1970-01-01T${json}`);
    case 'STRUCT': {
      const readers = fields.map(field => [field.name, storedValueReader(field)] as const);
      return json => {
        const record = json as JsonRow; // the JSON of a STRUCT
        return Object.fromEntries(readers.map(([name, read]) => [name, read(record[name])]));
      };
    }
  }
}

/** The text of a JSON number, or the word for one that JSON lacks, such as `NaN`. */
export function digitsOf(json: unknown): string {
  return keptDigits(json) ?? String(json);
}

/** A decimal number of at most `scale` decimals, times 10^scale. */
function scaledInteger(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(scale, '0'));
}

/** Microseconds since 1970 of a civil time such as `2026-08-21T14:00:00.000001`. */
function microseconds(text: string): bigint {
  const [seconds = '', fraction = ''] = text.split('.');
  return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}
