import { GatewayError } from '../../base/errors.ts';
import type { Column, ColumnType } from '../../base/rows.ts';
import type { Field } from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';

/** BigQuery's names of types, older ones included. */
const types: Readonly<Record<string, ColumnType>> = {
  STRING: 'STRING',
  BYTES: 'BYTES',
  BOOL: 'BOOL',
  BOOLEAN: 'BOOL',
  INT64: 'INT64',
  INTEGER: 'INT64',
  FLOAT64: 'FLOAT64',
  FLOAT: 'FLOAT64',
  NUMERIC: 'NUMERIC',
  BIGNUMERIC: 'BIGNUMERIC',
  TIMESTAMP: 'TIMESTAMP',
  DATETIME: 'DATETIME',
  DATE: 'DATE',
  TIME: 'TIME',
  JSON: 'JSON',
  // Contract 2.12 has no form for these three; callers get BigQuery's own text.
  GEOGRAPHY: 'STRING',
  INTERVAL: 'STRING',
  RANGE: 'STRING',
  STRUCT: 'STRUCT',
  RECORD: 'STRUCT',
};

/**
 * The columns of a result in our own types. Emulators give an unnamed column a name with `$`, or none; `ours`, the columns of
 * our own front-end, have the name that BigQuery would give.
 * @throws GatewayError `engine_failed` for a type without a wire form in contract 2.12
 */
export function columnsOf(fields: readonly Field[], ours: readonly Column[] = []): readonly Column[] {
  return fields.map(({ name: given, type: written, mode, fields: inner = [] }, at) => {
    const own = ours[at];
    const name = own && /^$|\$/.test(given) ? own.name : given;
    const type = types[written];
    if (!type) {
      const allowed = [...new Set(Object.values(types))].join(', ');
      throw new GatewayError('engine_failed', `Column ${name} has the type ${written}; allowed: ${allowed}`);
    }
    const column = { name, type, mode: mode === 'REPEATED' ? 'REPEATED' : 'NULLABLE' } as const;
    return type === 'STRUCT' ? { ...column, fields: columnsOf(inner, own?.fields) } : column;
  });
}

const notCopied: ReadonlySet<ColumnType> = new Set(['BOOL', 'INT64', 'TIMESTAMP', 'FLOAT64', 'STRUCT']);

/** Whether values of a type are JSON strings of the same text. */
export function isCopied(type: ColumnType): boolean {
  return !notCopied.has(type);
}

/**
 * Renders one value, which BigQuery sends as text whatever its type, in the wire form of contract 2.12. Values are never converted to
 * numbers: digits are copied.
 * @returns JSON text
 * @throws BigQueryFailure `brokenAnswer` if the text is not a value of the type
 */
export function renderValue(type: ColumnType, text: string): string {
  switch (type) {
    case 'BOOL':
      if (text !== 'true' && text !== 'false') throw misfit(type, 'another text');
      return text;
    case 'INT64':
      return digitsOf(type, text);
    case 'TIMESTAMP':
      return /^-?\d+$/.test(text) ? text : microsOf(text);
    case 'FLOAT64':
      return renderFloat(text);
    case 'STRUCT':
      throw misfit('a record', 'a text');
    default:
      return JSON.stringify(text);
  }
}

function digitsOf(type: ColumnType, value: string): string {
  if (!/^-?(?:0|[1-9]\d*)$/.test(value)) throw misfit(type, 'another text');
  return value;
}

/** Microseconds from the forms of servers that ignore `useInt64Timestamp`, at least within records: seconds, or a date. */
function microsOf(value: string): string {
  const [, date, time, fraction = ''] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|\+00(?::00)?)$/.exec(value) ?? [];
  const millis = date ? Date.parse(`${date}T${time}Z`) : Number.NaN;
  const micros = Number.isNaN(millis)
    ? microsOfSeconds(value)
    : BigInt(millis) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
  if (micros === undefined) throw misfit('TIMESTAMP', 'another text');
  return String(micros);
}

/** Microseconds from seconds in the text form of a double, `1.768471319999999E9`: as a number they would lose digits far from 1970. */
function microsOfSeconds(value: string): bigint | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(\d{1,20})(?:\.(\d{1,20}))?(?:E([+-]?\d\d?))?$/i.exec(value) ?? [];
  if (whole === undefined) return undefined;
  const digits = BigInt(whole + fraction);
  const places = Number(exponent) + 6 - fraction.length;
  const unit = 10n ** BigInt(Math.abs(places));
  const size = places >= 0 ? digits * unit : (digits + unit / 2n) / unit;
  return sign === '-' ? -size : size;
}

function renderFloat(value: string): string {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value)) return value;
  const special = /^([+-]?)(nan|inf(?:inity)?)$/i.exec(value);
  if (!special) throw misfit('FLOAT64', 'another text');
  if (special[2]?.toLowerCase() === 'nan') return '"NaN"';
  return special[1] === '-' ? '"-Infinity"' : '"Infinity"';
}

/** The failure for a row that does not fit its columns. The message is logged, so it does not contain the value. */
export function misfit(expected: string, found: string): BigQueryFailure {
  return new BigQueryFailure('brokenAnswer', `A row has ${found} where ${expected} was expected`);
}
