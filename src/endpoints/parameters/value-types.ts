import { formatTimestamp } from '../../base/format-timestamp.ts';
import { parseTimestamp } from '../../base/parse-timestamp.ts';
import type { ParameterType } from '../../engine/engine.ts';
import { parseJson } from '../../googlesql/json/parse-json.ts';

/** How the texts of one type are read. */
export type ValueType = {
  /** The canonical text of a value, in the form of BigQuery's REST API; undefined for text that is not a value of the type. */
  readonly read: (text: string) => string | undefined;
  /** The allowed values, for messages. */
  readonly allowed: string;
  /** Compares two canonical texts; absent if values can't have bounds. */
  readonly compare?: (one: string, other: string) => number;
};

const byText = (one: string, other: string) => (one < other ? -1 : Number(one > other));
const byNumber = (one: string, other: string) => Number(one) - Number(other);
const byInteger = (one: string, other: string) => sign(BigInt(one) - BigInt(other));
const byDecimal = (one: string, other: string) => sign(scaled(one) - scaled(other));

/** The readers of BigQuery's types. Sources: GoogleSQL, "Data types" and "Conversion rules". */
export const valueTypes: Readonly<Record<ParameterType, ValueType>> = {
  STRING: { read: text => text, allowed: 'a non-empty string' },
  BYTES: { read: readBytes, allowed: 'base64' },
  BOOL: { read: readBool, allowed: 'true or false' },
  INT64: { read: readInteger, allowed: 'an integer of 64 bits', compare: byInteger },
  FLOAT64: {
    read: readFloat,
    allowed: 'a number, or NaN, Infinity or -Infinity',
    compare: byNumber,
  },
  NUMERIC: {
    read: text => readDecimal(text, 9, 10n ** 38n),
    allowed: 'a decimal number of up to 29 digits before the point and 9 after it',
    compare: byDecimal,
  },
  BIGNUMERIC: {
    read: text => readDecimal(text, 38, 2n ** 255n),
    allowed: 'a decimal number of up to 38 digits before the point and 38 after it',
    compare: byDecimal,
  },
  TIMESTAMP: {
    read: readTimestamp,
    allowed: 'an ISO 8601 timestamp such as 2026-01-15T10:00:00.123456Z, years 0001 to 9999',
    compare: byText,
  },
  DATETIME: {
    read: readDateTime,
    allowed: 'a date and time without a zone, such as 2026-01-15T10:00:00.123456, years 0001 to 9999',
    compare: byText,
  },
  DATE: { read: readDate, allowed: 'a date such as 2026-01-15, years 0001 to 9999', compare: byText },
  TIME: { read: readTime, allowed: 'a time of day such as 10:00:00.123456', compare: byText },
  JSON: { read: readJson, allowed: 'JSON text' },
};

function sign(difference: bigint): number {
  if (difference === 0n) return 0;
  return difference < 0n ? -1 : 1;
}

function readBytes(text: string): string | undefined {
  const bare = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  if (!/^[A-Za-z0-9+/]*$/.test(bare)) return undefined;
  const bytes = Buffer.from(bare, 'base64');
  // Text that is not the base64 of any bytes is refused: a lone character, or bits beyond the last byte.
  return bytes.toString('base64').replace(/=+$/, '') === bare ? bytes.toString('base64') : undefined;
}

function readBool(text: string): string | undefined {
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false' ? lower : undefined;
}

function readInteger(text: string): string | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, value) === value ? String(value) : undefined;
}

function readFloat(text: string): string | undefined {
  const special = /^([+-]?)(?:(nan)|inf(?:inity)?)$/i.exec(text);
  if (special) return special[2] ? 'NaN' : `${special[1] === '-' ? '-' : ''}Infinity`;
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return floatText(value);
}

/** The text of a number, -0 included. */
export function floatText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Decimal places for comparing two values: those of BIGNUMERIC. */
const places = 38;

function scaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(places, '0')}`);
}

/**
 * Nothing is rounded: too many digits are refused.
 * @param limit exclusive bound of the value times ten to the power of `scale`
 */
function readDecimal(text: string, scale: number, limit: bigint): string | undefined {
  const match = /^([+-]?)(\d{0,100})\.?(\d{0,100})(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!match) return undefined;
  const [, signText, whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  if (digits === '') return undefined;
  const point = whole.length + Number(exponent);
  const integer = digits.slice(0, Math.max(point, 0)).padEnd(Math.max(point, 0), '0').replace(/^0+/, '');
  const rest = `${'0'.repeat(Math.max(-point, 0))}${digits.slice(Math.max(point, 0))}`.replace(/0+$/, '');
  if (rest.length > scale || BigInt(integer + rest.padEnd(scale, '0')) >= limit) return undefined;
  const value = `${integer || '0'}${rest && `.${rest}`}`;
  return signText === '-' && value !== '0' ? `-${value}` : value;
}

function readTimestamp(text: string): string | undefined {
  const micros = parseTimestamp(text);
  return micros === undefined ? undefined : formatTimestamp(micros);
}

const date = String.raw`\d{4}-\d{1,2}-\d{1,2}`;
const time = String.raw`\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d{1,9})?)?`;
const dateOnly = new RegExp(`^${date}$`);
/** A DATETIME, with or without `Z`: the service itself writes them as instants in UTC. */
const civil = new RegExp(`^${date}(?:[Tt ]${time})?[Zz]?$`);
const timeOnly = new RegExp(`^${time}$`);

function readDateTime(text: string): string | undefined {
  return civil.test(text) ? withoutZone(readTimestamp(text)) : undefined;
}

function readDate(text: string): string | undefined {
  return dateOnly.test(text) ? readTimestamp(text)?.slice(0, 10) : undefined;
}

function readTime(text: string): string | undefined {
  return timeOnly.test(text) ? withoutZone(readTimestamp(`1970-01-01T${text}`))?.slice(11) : undefined;
}

/** The text without its Z and the trailing zeros of its fraction. */
function withoutZone(timestamp: string | undefined): string | undefined {
  return timestamp?.slice(0, -1).replace(/\.?0+$/, '');
}

function readJson(text: string): string | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
