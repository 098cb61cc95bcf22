import { type EngineFunctions, maxFormatLength } from '../engine-function.ts';
import { fractionOf } from '../float-values.ts';
import { type Fraction, formatted } from '../number-formats.ts';
import { divideRounded, numericOne } from '../numeric-values.ts';
import { trimSpaces } from './trim-spaces.ts';

/** `9` and `0` are digits, `X` and `x` hexadecimal ones; letters stand for the elements that have several. */
type Element = string;

/** A parsed format of CAST from a number to STRING. */
type NumberFormat = {
  readonly isHex: boolean;
  /** Digits, points, commas and the exponent, each as one letter: `9 0 X x . V , E e`. */
  readonly elements: readonly Element[];
  /** Where the point, or else the exponent or the end, stands among them. */
  readonly point: number;
  readonly integerDigits: number;
  readonly scale: number;
  readonly firstZero: number;
  readonly sign: '' | 'S' | 'MI' | 'PR';
  readonly isSignInFront: boolean;
  readonly currency: string;
  readonly isCompact: boolean;
  readonly isBlankWhenZero: boolean;
  readonly hasExponent: boolean;
};

const element = /TM[9E]?|EEEE|MI|PR|RN|FM|[$09X.DGSBVCL,]/iy;

/** What an element is in the grammar of formats. */
const letterOf: Readonly<Record<string, string>> = {
  D: '.',
  G: ',',
  MI: 'M',
  PR: 'P',
  EEEE: 'E',
  RN: 'R',
  TM: 'T',
  TM9: 'T',
  TME: 'T',
};

const decimal = /^(?<front>S?)(?<whole>[09,]*)(?:[.V](?<fraction>[09]*))?(?<exponent>E?)(?<back>[SMP]?)$/;
const hexadecimal = /^(?<front>S?)0*X[0X]*(?<back>[SMP]?)$/;

const currencies: Readonly<Record<string, string>> = { $: '$', L: '$', l: '$', C: 'USD', c: 'usd' };

function fail(what: string): never {
  throw new Error(`Error in format string: ${what}`);
}

function split(format: string): NumberFormat {
  if (format.length > maxFormatLength) fail(`Format string too long; limit ${maxFormatLength}`);
  const written: string[] = [];
  const flags = new Map<string, string>();
  for (let at = 0; at < format.length; ) {
    element.lastIndex = at;
    const [found] = element.exec(format) ?? fail(`Invalid format element '${format[at]}'`);
    at += found.length;
    const name = found.toUpperCase();
    const flag = name === 'FM' || name === 'B' ? name : '$CL'.includes(name) ? '$' : undefined;
    if (!flag) written.push(found);
    else if (flags.has(flag)) fail(`'${flag}' cannot be repeated`);
    else flags.set(flag, found);
  }
  const letters = written.map(found => letterOf[found.toUpperCase()] ?? found.toUpperCase()).join('');
  if (/^T$|^R$/.test(letters) && !flags.has('$') && !flags.has('B'))
    throw new Error(`The format element ${written[0]} is not supported`);
  return parse(written, letters, flags);
}

function parse(
  written: readonly string[],
  letters: string,
  flags: ReadonlyMap<string, string>,
): NumberFormat {
  const isHex = letters.includes('X');
  const parts = (isHex ? hexadecimal : decimal).exec(letters)?.groups;
  const {
    front = '',
    back = '',
    whole = '',
    fraction = '',
    exponent = '',
  } = parts ?? fail(`Unexpected order of elements in '${written.join('')}'`);
  const digits = letters.replace(/[^09X]/g, '').length;
  if (digits === 0) fail("Format string must contain at least one of 'X', '0' or '9'");
  if (front && back) fail("There can be at most one of 'S', 'MI', or 'PR'");
  if (whole.startsWith(',') && !front) fail("Unexpected ','");
  if (whole.includes(',') && exponent) fail("',' or 'G' cannot appear together with 'EEEE'");
  if (isHex && digits > 16) fail("Max number of 'X' is 16");
  if (isHex && (flags.has('$') || flags.has('B')))
    fail(`'X' cannot appear together with '${flags.has('B') ? 'B' : flags.get('$')}'`);
  let elements = written.flatMap((found, i) => {
    const letter = letters[i]!;
    if ('SMP'.includes(letter)) return [];
    return letter === 'X' || letter === 'E' ? [found[0]!] : [letter];
  });
  const firstZero = elements.indexOf('0');
  const mark = elements.findIndex(letter => '.VEe'.includes(letter));
  let point = mark === -1 ? elements.length : mark;
  // One digit stands before the point of an exponential form.
  if (exponent && point >= 2) [elements, point] = [elements.slice(point - 1), 1];
  if (isHex) elements = elements.map((letter, i) => (letter === '0' ? letterCase(elements, i) : letter));
  return {
    isHex,
    elements,
    point,
    integerDigits: digits - fraction.length,
    scale: fraction.length,
    firstZero: firstZero === -1 ? Number.POSITIVE_INFINITY : firstZero,
    sign: ({ S: 'S', M: 'MI', P: 'PR' } as const)[front || back] ?? '',
    isSignInFront: front !== '',
    currency: currencies[flags.get('$') ?? ''] ?? '',
    isCompact: flags.has('FM'),
    isBlankWhenZero: flags.has('B'),
    hasExponent: exponent !== '',
  };
}

/** A zero among hexadecimal digits is written as the next of them, or in upper case. */
function letterCase(elements: readonly Element[], index: number): Element {
  return elements.slice(index).find(letter => letter !== '0') ?? 'X';
}

let [lastFormat, lastSplit]: [string, NumberFormat | undefined] = ['', undefined];

/** The last format is remembered: it is usually constant. */
function formatOf(text: string): NumberFormat {
  if (text !== lastFormat || !lastSplit) [lastSplit, lastFormat] = [split(text), text];
  return lastSplit;
}

/**
 * Checks a format before the query runs.
 * @throws Error with BigQuery's message
 */
export function checkNumberFormat(format: string): void {
  split(format);
}

type Parts = { readonly isNegative: boolean; whole: string; fraction: string; readonly exponent: string };

/** A number in the form of `%#.2f` or `%#.2e`; a whole part of zero is empty. */
function partsOf(text: string): Parts {
  const [, sign, whole = '', fraction = '', exponent = ''] = /^(-?)(\d+)\.(\d*)(?:e(.+))?$/.exec(text)!;
  return { isNegative: sign === '-', whole: whole === '0' ? '' : whole, fraction, exponent };
}

function signs(
  { sign, isSignInFront }: NumberFormat,
  isNegative: boolean,
  isBlank: boolean,
): [before: string, after: string] {
  const one = (negative: string, positive: string) => (isBlank ? ' ' : isNegative ? negative : positive);
  if (sign === 'S') return isSignInFront ? [one('-', '+'), ''] : ['', one('-', '+')];
  if (sign === 'MI') return ['', one('-', ' ')];
  return sign === 'PR' ? [one('<', ' '), one('>', ' ')] : [one('-', ' '), ''];
}

const spaces = (count: number) => ' '.repeat(Math.max(0, count));

function finish(format: NumberFormat, text: string): string {
  return format.isCompact ? trimSpaces(text) : text;
}

function writeDecimal(format: NumberFormat, text: string): string {
  const parts = partsOf(text);
  if (format.isCompact) parts.fraction = parts.fraction.replace(/0+$/, '');
  const { isNegative, whole, fraction, exponent } = parts;
  const isTooLong = whole.length > format.integerDigits;
  const isBlank = format.isBlankWhenZero && whole === '';
  const shown = (text: string) => (isBlank ? text.replace(/[\s\S]/g, ' ') : text);
  let after = '';
  let next = 0;
  for (const letter of format.elements.slice(format.point)) {
    if (letter === '.') after += shown('.');
    else if (letter === 'E' || letter === 'e')
      after += isTooLong ? '####' : isBlank ? '    ' : `${letter}${exponent}`;
    else if (letter !== 'V') after += isTooLong ? '#' : shown(fraction[next++] ?? '');
  }
  const isWritten = whole !== '' || format.hasExponent || format.firstZero < format.point || fraction === '';
  const before = isWritten && format.integerDigits > 0 ? wholePart(format, whole || '0', isTooLong) : '';
  const [lead, trail] = signs(format, isNegative, isBlank);
  const padding = spaces(format.point - before.length);
  return finish(format, padding + lead + shown(format.currency) + shown(before) + after + trail);
}

/** Digits and commas before the point; zeros in front of them from the first `0` of the format. */
function wholePart({ elements, point, firstZero }: NumberFormat, digits: string, isTooLong: boolean): string {
  let text = '';
  let left = digits.length;
  for (let at = point - 1; at >= 0 && (left > 0 || at >= firstZero); at--) {
    if (elements[at] === ',') text = `,${text}`;
    else text = (isTooLong ? '#' : (digits[--left] ?? '0')) + text;
    if (isTooLong && elements[at] !== ',') left--;
  }
  return text;
}

/** INF and NAN stand in the places of the whole part. */
function writeSpecial(format: NumberFormat, x: number): string {
  const word = Number.isNaN(x) ? 'NAN' : 'INF';
  const [lead, trail] = signs(format, x < 0, Number.isNaN(x));
  if (format.hasExponent)
    return finish(format, spaces(format.elements.length) + lead + format.currency + word + trail);
  const { elements, point } = format;
  const isTooLong = point < 3;
  const before = isTooLong
    ? elements
        .slice(0, point)
        .map(l => (l === ',' ? ',' : '#'))
        .join('')
    : word;
  const rest = elements.slice(point).filter(letter => letter !== 'V');
  const after = rest.map(letter => (isTooLong ? (letter === '.' ? '.' : '#') : ' ')).join('');
  return finish(format, spaces(point - before.length) + lead + format.currency + before + after + trail);
}

/** @param x a whole number, or undefined for one that has more than 16 digits */
function writeHex(format: NumberFormat, x: bigint | undefined, isNegative: boolean): string {
  const digits = x === undefined ? '0'.repeat(17) : x.toString(16);
  const { elements, firstZero } = format;
  const isTooLong = digits.length > elements.length;
  let text = '';
  for (let at = elements.length - 1, left = digits.length; at >= 0 && (left > 0 || at >= firstZero); at--) {
    const digit = digits[--left] ?? '0';
    text = (isTooLong ? '#' : elements[at] === 'X' ? digit.toUpperCase() : digit) + text;
  }
  const [lead, trail] = signs(format, isNegative, false);
  return finish(format, spaces(elements.length - text.length) + lead + text + trail);
}

/** As FORMAT writes `%#.2f` or `%#.2e`. */
function digitsOf({ hasExponent, scale }: NumberFormat, x: Fraction, isNegative: boolean): string {
  return formatted(x, isNegative, { flags: hasExponent ? '#e' : '#f', width: -1n, precision: BigInt(scale) });
}

/** From here on a number has more than sixteen hexadecimal digits. */
const hexLimit = 2n ** 64n;

/** CAST of numbers to STRING with a FORMAT. */
export const numberCasts: EngineFunctions = {
  'bq_cast_float_text(STRING, FLOAT64) STRING': (text: string, x: number) => {
    const format = formatOf(text);
    if (format.isHex) {
      // Halves go away from zero.
      const whole = Number.isFinite(x) ? BigInt(Math.round(Math.abs(x))) : hexLimit;
      return writeHex(format, whole < hexLimit ? whole : undefined, x < 0);
    }
    if (!Number.isFinite(x)) return writeSpecial(format, x);
    const [numerator, denominator] = fractionOf(Math.abs(x));
    return writeDecimal(format, digitsOf(format, { numerator, denominator, halvesToEven: true }, x < 0));
  },
  'bq_cast_numeric_text(STRING, NUMERIC) STRING': (text: string, x: bigint) => {
    const format = formatOf(text);
    const numerator = x < 0n ? -x : x;
    if (!format.isHex)
      return writeDecimal(
        format,
        digitsOf(format, { numerator, denominator: numericOne, halvesToEven: false }, x < 0n),
      );
    const whole = divideRounded(numerator, numericOne);
    return writeHex(format, whole < hexLimit ? whole : undefined, x < 0n);
  },
};
