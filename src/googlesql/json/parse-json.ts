/** A number in a JSON value, as BigQuery writes it. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Parses a text as a value of the type JSON, and writes it as BigQuery does: members by name, numbers in their shortest form.
 * Unlike the functions on STRING it accepts only JSON, which U+FEFF may precede.
 * @param wideNumbers `round` takes numbers with more digits than FLOAT64 keeps
 * @returns the value's JSON text
 * @throws Error with BigQuery's message
 */
export function parseJson(text: string, wideNumbers: 'exact' | 'round' = 'exact'): string {
  let members = 0;
  const number = (source: string) => new JsonNumber(numberText(source, wideNumbers));
  const own = text.startsWith('\ufeff') ? text.slice(1) : text;
  const value = parseStrictly(own, (holder, read, source) => {
    if (!Array.isArray(holder)) members++;
    return typeof read === 'number' ? number(source) : read;
  });
  // JSON.parse calls back only for the last of two members with one name, and once for the whole value.
  return writeJson(members - 1 === countMembers(own) ? value : parseFirst(own, number));
}

/** Parses text that is known to be JSON, and keeps the first of two members with the same name, as BigQuery does. */
function parseFirst(text: string, number: (source: string) => JsonNumber): unknown {
  const tokens = Array.from(text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s[\]{}:,"]+/g), ([token]) => token);
  let at = 0;
  const read = (): unknown => {
    const token = tokens[at++]!;
    if (token === '[') {
      const elements: unknown[] = [];
      while (tokens[at] !== ']') elements.push(read());
      at++;
      return elements;
    }
    if (token === '{') {
      const found = new Map<string, unknown>();
      while (tokens[at] !== '}') {
        const name = JSON.parse(tokens[at++]!) as string;
        const member = read();
        if (!found.has(name)) found.set(name, member);
      }
      at++;
      return Object.fromEntries(found);
    }
    return /^[-\d]/.test(token) ? number(token) : (JSON.parse(token) as unknown);
  };
  return read();
}

/** @param keep what becomes of a value: the object or array that it is in, as it was read, and a number's own text */
function parseStrictly(
  text: string,
  keep: (holder: unknown, read: unknown, source: string) => unknown,
): unknown {
  function revive(
    this: unknown,
    _name: string,
    read: unknown,
    { source = '' }: { source?: string },
  ): unknown {
    return keep(this, read, source);
  }
  try {
    // TypeScript's library does not know the third parameter of a reviver yet.
    return JSON.parse(text, revive as (this: unknown, name: string, read: unknown) => unknown);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error('Invalid input to PARSE_JSON: syntax error', { cause: error });
  }
}

const countMembers = (text: string) => text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;

/** A JSON value in the form of `parseJson`: objects as plain objects, numbers as `JsonNumber`. */
export const readJson = (text: string): unknown =>
  JSON.parse(text, keepNumbers as (this: unknown, name: string, read: unknown) => unknown);

function keepNumbers(
  this: unknown,
  _name: string,
  read: unknown,
  { source = '' }: { source?: string },
): unknown {
  return typeof read === 'number' ? new JsonNumber(source) : read;
}

/** Compares texts by their UTF-8, as BigQuery orders the names of members. */
export const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** A value as JSON text in BigQuery's spelling. */
export function writeJson(value: unknown): string {
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => compareBytes(a, b));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join(',')}}`;
}

/** Integers of 64 bits as they are, all else as the shortest text that gives the same FLOAT64. */
function numberText(source: string, wideNumbers: 'exact' | 'round'): string {
  if (/^-?\d{1,20}$/.test(source)) {
    const integer = BigInt(source);
    if (integer >= -(2n ** 63n) && integer < 2n ** 64n) return String(integer);
  }
  const number = Number(source);
  if (!Number.isFinite(number))
    throw new Error(`Invalid input to PARSE_JSON: number overflow parsing '${source}'`);
  if (wideNumbers === 'exact' && !isSameNumber(source, String(number))) {
    throw new Error(
      `Invalid input to PARSE_JSON: Input number: ${source} cannot round-trip through string representation`,
    );
  }
  return jsonNumberText(number);
}

/** Whether two texts of numbers of one sign are the same number. */
export function isSameNumber(text: string, other: string): boolean {
  const [given, kept] = [decimal(text), decimal(other)];
  return given.digits === kept.digits && (given.digits === '' || given.point === kept.point);
}

/** A finite FLOAT64 as a number in a JSON value, in as few digits as give the same number again. */
export function jsonNumberText(number: number): string {
  return `${Object.is(number, -0) || number < 0 ? '-' : ''}${floatText(decimal(String(number)))}`;
}

/** A number without its sign: 0.`digits` times ten to the power of `point`. */
type Decimal = { readonly digits: string; readonly point: number };

function decimal(text: string): Decimal {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`;
  const leading = /^0*/.exec(digits)![0].length;
  return {
    // Without the lookbehind each zero of a run would be tried as the first of the last ones.
    digits: digits.slice(leading).replace(/(?<!0)0+$/, ''),
    point: whole.length - leading + Number(exponent),
  };
}

/** Decimal from 0.0001 to below 10^15, else with an exponent of two digits and more. */
function floatText({ digits, point }: Decimal): string {
  if (digits === '') return '0.0';
  if (point > 15 || point < -3) {
    const exponent = point - 1;
    const [first, rest] = [digits[0], digits.slice(1)];
    return `${first}${rest && `.${rest}`}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  return `${digits.slice(0, point).padEnd(point, '0')}.${digits.slice(point) || '0'}`;
}
