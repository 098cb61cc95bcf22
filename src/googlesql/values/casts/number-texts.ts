import type { EngineFunctions } from '../engine-function.ts';
import { divideRounded } from '../numeric-values.ts';

const maxInt64 = 2n ** 63n - 1n;

/** Texts as numbers, hexadecimal ones too: what DuckDB's own casts do not read, or read otherwise. */
export const numberTexts: EngineFunctions = {
  'bq_read_int64(STRING) INT64': (text: string) => readInt64(text) ?? fail('int64', text),
  'bq_safe_read_int64(STRING) INT64': readInt64,
  'bq_read_float64(STRING) FLOAT64': (text: string) => readFloat64(text) ?? fail('double', text),
  'bq_safe_read_float64(STRING) FLOAT64': readFloat64,
  'bq_read_numeric(STRING) NUMERIC': (text: string) => {
    const value = readNumeric(text);
    if (value === null) throw new Error(`Invalid NUMERIC value: ${text}`);
    return value;
  },
  'bq_safe_read_numeric(STRING) NUMERIC': readNumeric,
};

function fail(type: string, text: string): never {
  throw new Error(`Bad ${type} value: ${text}`);
}

const space = String.raw`[ \t\n\v\f\r]*`;
const integer = new RegExp(`^${space}([+-]?)(0x[0-9a-f]+|\\d+)${space}$`, 'i');
const decimal = new RegExp(`^${space}([+-]?(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:e[+-]?\\d+)?)${space}$`, 'i');
const hexadecimal = new RegExp(
  `^${space}([+-]?)0x(?=\\.?[0-9a-f])([0-9a-f]*)(?:\\.([0-9a-f]*))?(?:p([+-]?\\d+))?${space}$`,
  'i',
);
const special = new RegExp(`^${space}([+-]?)(?:(inf|infinity)|nan(?:\\(\\w*\\))?)${space}$`, 'i');

function readInt64(text: string): bigint | null {
  const [, sign, digits] = integer.exec(text) ?? [];
  if (digits === undefined) return null;
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits);
  return value > maxInt64 || value < -maxInt64 - 1n ? null : value;
}

/**
 * A NUMERIC in billionths; halves of them go away from zero.
 * @returns null for a text that is not a number, or is one that is too large
 */
function readNumeric(text: string): bigint | null {
  const written = decimal.exec(text)?.[1];
  if (written === undefined) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(written) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const places = Number(exponent) - fraction.length + 9;
  if (digits === '' || digits.length + places < 0) return 0n;
  if (digits.length + places > 38) return null;
  const value =
    places >= 0
      ? BigInt(digits) * 10n ** BigInt(places)
      : divideRounded(BigInt(digits), 10n ** BigInt(-places));
  if (value >= 10n ** 38n) return null;
  return sign === '-' ? -value : value;
}

function readFloat64(text: string): number | null {
  const written = decimal.exec(text)?.[1];
  if (written !== undefined) return Number(written);
  const [isSpecial, sign, infinity] = special.exec(text) ?? [];
  if (isSpecial !== undefined) {
    if (infinity === undefined) return Number.NaN;
    return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  const [isHex, hexSign, whole = '', fraction = '', power = '0'] = hexadecimal.exec(text) ?? [];
  if (isHex === undefined) return null;
  const value = scaled(Number(BigInt(`0x${whole}${fraction}`)), Number(power) - 4 * fraction.length);
  return hexSign === '-' ? -value : value;
}

/** A number times a power of two that may itself lie outside of FLOAT64. */
function scaled(value: number, power: number): number {
  const half = Math.trunc(Math.max(-2200, Math.min(2200, power)) / 2);
  return value * 2 ** half * 2 ** (Math.max(-2200, Math.min(2200, power)) - half);
}
