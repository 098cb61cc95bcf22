import {
  isSameNumber,
  JsonNumber,
  jsonNumberText,
  parseJson,
  readJson,
  writeJson,
} from '../json/parse-json.ts';
import { trimSpaces } from './casts/trim-spaces.ts';
import type { EngineFunctions } from './engine-function.ts';
import { floatText } from './float-text.ts';
import { divideRounded, numericText } from './numeric-values.ts';

const smallest = -(2n ** 63n);
const isInt64 = (x: bigint) => x >= smallest && x < -smallest;
const isInteger = (text: string) => /^-?\d+$/.test(text);

/** Converts values of the type JSON, given as their text, to SQL types: the strict functions fail, the lax ones return NULL. */
export const jsonAccess: EngineFunctions = {
  'bq_json_type(STRING) STRING': (text: string) => {
    const kind = { '"': 'string', '{': 'object', '[': 'array', t: 'boolean', f: 'boolean', n: 'null' }[
      text[0]!
    ];
    return kind ?? 'number';
  },
  'bq_json_string(STRING) STRING': (text: string) => {
    const value = readJson(text);
    return typeof value === 'string' ? value : fail('The provided JSON input is not a string');
  },
  'bq_json_bool(STRING) BOOL': (text: string) => {
    const value = readJson(text);
    return typeof value === 'boolean' ? value : fail('The provided JSON input is not a boolean');
  },
  'bq_json_int64(STRING) INT64': (text: string) => {
    const value = readJson(text);
    if (!(value instanceof JsonNumber)) return fail('The provided JSON input is not an integer');
    const number = isInteger(value.text) ? BigInt(value.text) : wholeNumber(value.text);
    return isInt64(number) ? number : fail('The provided JSON input is not an integer');
  },
  'bq_json_float64(STRING, STRING) FLOAT64': (text: string, mode: string) => {
    if (mode !== 'round' && mode !== 'exact') fail(`Invalid \`wide_number_mode\` specified: ${mode}`);
    const value = readJson(text);
    if (!(value instanceof JsonNumber)) return fail('The provided JSON input is not a number');
    const number = Number(value.text);
    if (mode === 'exact' && isInteger(value.text) && BigInt(number) !== BigInt(value.text))
      fail(`JSON number: ${value.text} cannot be converted to FLOAT64 without loss of precision`);
    return number;
  },
  'bq_lax_bool(STRING) BOOL': (text: string) => {
    const value = readJson(text);
    if (typeof value === 'boolean') return value;
    if (value instanceof JsonNumber) return Number(value.text) !== 0;
    if (typeof value !== 'string' || !/^(true|false)$/i.test(value)) return null;
    return value.toLowerCase() === 'true';
  },
  'bq_lax_int64(STRING) INT64': (text: string) => {
    const value = readJson(text);
    if (typeof value === 'boolean') return value ? 1n : 0n;
    const digits = value instanceof JsonNumber ? value.text : value;
    const number = typeof digits === 'string' ? roundedText(digits) : undefined;
    return number !== undefined && isInt64(number) ? number : null;
  },
  'bq_lax_float64(STRING) FLOAT64': (text: string) => {
    const value = readJson(text);
    if (value instanceof JsonNumber) return Number(value.text);
    return typeof value === 'string' ? floatOfText(value) : null;
  },
  'bq_lax_string(STRING) STRING': (text: string) => {
    const value = readJson(text);
    if (typeof value === 'string') return value;
    if (typeof value === 'boolean') return String(value);
    if (!(value instanceof JsonNumber)) return null;
    return isInteger(value.text) ? value.text : floatText(Number(value.text));
  },
  'bq_parse_json_as(STRING, STRING) STRING': (text: string, mode: string) => {
    if (mode !== 'round' && mode !== 'exact')
      return fail(`Invalid \`wide_number_mode\` specified for PARSE_JSON: ${mode}`);
    return parseJson(text, mode);
  },
  /** A member; null if there is none. */
  'bq_json_member(STRING, STRING) STRING': (text: string, name: string) => {
    if (text[0] !== '{') return null;
    // An object in JSON has nothing but names and values.
    const members = readJson(text) as Readonly<Record<string, unknown>>;
    return Object.hasOwn(members, name) ? writeJson(members[name]) : null;
  },
  'bq_json_element(STRING, INT64) STRING': (text: string, index: bigint) => {
    if (text[0] !== '[') return null;
    const elements = readJson(text) as readonly unknown[];
    return index >= 0n && index < BigInt(elements.length) ? writeJson(elements[Number(index)]) : null;
  },
  /** A FLOAT64 in TO_JSON. */
  'bq_json_float(FLOAT64) STRING': (x: number) =>
    Number.isFinite(x)
      ? jsonNumberText(x === 0 ? 0 : x)
      : `"${Number.isNaN(x) ? 'NaN' : x > 0 ? 'Infinity' : '-Infinity'}"`,
  /** A NUMERIC in TO_JSON; a string if it is wide and `stringify` is set. */
  'bq_json_numeric(NUMERIC, BOOL) STRING': (x: bigint, stringify: boolean) => {
    const text = numericText(x);
    const isWhole = isInteger(text);
    const number = Number(text);
    // As an INT64 is written.
    const isInt = isWhole && isInt64(BigInt(text));
    const isExact = isInt
      ? Math.abs(number) <= 2 ** 53 && BigInt(number) === BigInt(text)
      : isSameNumber(text, String(number));
    if (stringify && !isExact) return `"${text}"`;
    if (isWhole && BigInt(text) >= smallest && BigInt(text) < 2n ** 64n) return text;
    return jsonNumberText(number);
  },
  'bq_json_literal(STRING) STRING': (text: string) => JSON.stringify(text),
  'bq_json_pretty(STRING) STRING': pretty,
};

function fail(message: string): never {
  throw new Error(message);
}

function wholeNumber(text: string): bigint {
  const number = Number(text);
  if (Number.isInteger(number)) return BigInt(number);
  return fail(`The provided JSON number: ${floatText(number)} cannot be converted to an integer`);
}

/** A number's text as the nearest integer, halves away from zero; undefined if it is not a number, or far too large. */
function roundedText(text: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/.exec(trimSpaces(text)) ?? [];
  if (sign === undefined || !(whole + fraction)) return undefined;
  const scale = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  if (digits === 0n || scale < -1000) return 0n;
  if (scale > 40) return undefined;
  const number = scale >= 0 ? digits * 10n ** BigInt(scale) : divideRounded(digits, 10n ** BigInt(-scale));
  return sign === '-' ? -number : number;
}

function floatOfText(text: string): number | null {
  const trimmed = trimSpaces(text);
  if (/^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) return Number(trimmed);
  if (/^[+-]?nan$/i.test(trimmed)) return Number.NaN;
  if (/^[+-]?inf(inity)?$/i.test(trimmed)) return trimmed.startsWith('-') ? -Infinity : Infinity;
  const [, sign, hexadecimal] = /^([+-]?)(0x[\da-f]+)$/i.exec(trimmed) ?? [];
  if (hexadecimal) return (sign === '-' ? -1 : 1) * Number(hexadecimal);
  if (/^[+-]?0x/i.test(trimmed)) fail('LAX_FLOAT64 is not supported for hexadecimal fractions');
  return null;
}

/** JSON text with a line for each member and element. */
function pretty(text: string): string {
  let depth = 0;
  let out = '';
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{][\]}]|[[\]{},:]|[^"[\]{},:]+/g)) {
    if (token === '{' || token === '[') {
      depth++;
      out += token + line();
    } else if (token === '}' || token === ']') {
      depth--;
      out += line() + token;
    } else if (token === ',') out += token + line();
    else out += token === ':' ? ': ' : token;
  }
  return out;
}
