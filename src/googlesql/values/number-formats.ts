import { type EngineFunctions, maxOutputLength } from './engine-function.ts';
import { fractionOf } from './float-values.ts';
import { numericOne } from './numeric-values.ts';

/** Maximum digits after the point of a FLOAT64 or NUMERIC; any further ones are zeros. */
const maxDigits = 1100;

/** A number as a fraction, and where halves go: to even for FLOAT64, away from zero for NUMERIC. */
export type Fraction = {
  readonly numerator: bigint;
  readonly denominator: bigint;
  readonly halvesToEven: boolean;
};

/** `flags` end with the letter of the element; a width or precision of -1 is none, but a negative width from `*` aligns left. */
export const numberFormats: EngineFunctions = {
  'bq_format_integer(STRING, INT64, INT64, INT64) STRING': (
    flags: string,
    width: bigint,
    precision: bigint,
    x: bigint,
  ) => {
    const letter = flags.at(-1)!;
    const base = { x: 16, X: 16, o: 8 }[letter] ?? 10;
    // Decimal digits without groups are those of C: with a precision of 0, the number 0 has none. Otherwise a precision of 0 counts as
    // none.
    const isC = base === 10 && !flags.includes("'");
    const hasPrecision = isC ? precision >= 0n : precision > 0n;
    const least = hasPrecision ? limited(precision) : 0;
    const plain = (x < 0n ? -x : x).toString(base);
    let digits = isC && precision === 0n && x === 0n ? '' : plain.padStart(least, '0');
    if (letter === 'X') digits = digits.toUpperCase();
    // Zeros in front of octal digits are prefix enough.
    const octal = plain.length < least ? '' : '0';
    const prefix = flags.includes('#') ? { 16: letter === 'X' ? '0X' : '0x', 8: octal }[base] : '';
    return padded(signOf(flags, x < 0n) + (prefix ?? ''), grouped(flags, digits, base), {
      flags,
      width,
      zeros: !isC || !hasPrecision,
    });
  },
  'bq_format_float(STRING, INT64, INT64, FLOAT64) STRING': (
    flags: string,
    width: bigint,
    precision: bigint,
    x: number,
  ) => {
    if (Number.isFinite(x)) {
      const [numerator, denominator] = fractionOf(Math.abs(x));
      return formatted({ numerator, denominator, halvesToEven: true }, x < 0, {
        flags,
        width,
        precision,
      });
    }
    const word = Number.isNaN(x) ? 'nan' : 'inf';
    const isUpper = /[A-Z]$/.test(flags);
    return padded(signOf(flags, x < 0), isUpper ? word.toUpperCase() : word, { flags, width, zeros: false });
  },
  'bq_format_numeric(STRING, INT64, INT64, NUMERIC) STRING': (
    flags: string,
    width: bigint,
    precision: bigint,
    x: bigint,
  ) =>
    formatted({ numerator: x < 0n ? -x : x, denominator: numericOne, halvesToEven: false }, x < 0n, {
      flags,
      width,
      precision,
    }),
  'bq_format_text(STRING, INT64, INT64, STRING) STRING': (
    flags: string,
    width: bigint,
    precision: bigint,
    text: string,
  ) => {
    const cut = precision < 0n ? text : Array.from(text).slice(0, limited(precision)).join('');
    return padded('', cut, { flags, width, zeros: false });
  },
};

type Layout = { readonly flags: string; readonly width: bigint; readonly precision: bigint };

export function formatted(x: Fraction, isNegative: boolean, { flags, width, precision }: Layout): string {
  const letter = flags.at(-1)!.toLowerCase();
  const digits = precision < 0n ? 6 : limited(precision);
  const keepsPoint = flags.includes('#');
  const text =
    letter === 'f'
      ? fixed(x, digits, keepsPoint)
      : letter === 'e'
        ? exponential(x, digits, keepsPoint)
        : general(x, digits, keepsPoint);
  const point = text.search(/[.e]|$/);
  const whole = grouped(flags, text.slice(0, point), 10) + text.slice(point);
  return padded(signOf(flags, isNegative), /[A-Z]$/.test(flags) ? whole.toUpperCase() : whole, {
    flags,
    width,
    zeros: true,
  });
}

/** The number with `digits` digits after the point. */
export function fixed(x: Fraction, digits: number, keepsPoint = false): string {
  const known = Math.min(digits, maxDigits);
  const scaled = String(rounded(x, known)).padStart(known + 1, '0');
  const whole = scaled.slice(0, scaled.length - known);
  if (digits === 0) return keepsPoint ? `${whole}.` : whole;
  return `${whole}.${scaled.slice(scaled.length - known).padEnd(digits, '0')}`;
}

function exponential(x: Fraction, digits: number, keepsPoint: boolean): string {
  const [mantissa, exponent] = significant(x, digits);
  const point = digits > 0 || keepsPoint ? '.' : '';
  const power = `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  return `${mantissa[0]}${point}${mantissa.slice(1).padEnd(digits, '0')}e${power}`;
}

/** As C's `%g`: without the zeros at the end, unless they are kept. */
function general(x: Fraction, precision: number, keepsZeros: boolean): string {
  const digits = Math.max(1, precision);
  const [, exponent] = significant(x, digits - 1);
  const isFixed = exponent >= -4 && exponent < digits;
  const text = isFixed ? fixed(x, digits - 1 - exponent, keepsZeros) : exponential(x, digits - 1, keepsZeros);
  if (keepsZeros || !text.includes('.')) return text;
  // The exponent keeps its own.
  const [mantissa = '', power] = text.split('e');
  const kept = mantissa.replace(/\.?0+$/, '');
  return power === undefined ? kept : `${kept}e${power}`;
}

/** The digits before and after the point of the exponential form, and its exponent. */
function significant(x: Fraction, digits: number): [mantissa: string, exponent: number] {
  const known = Math.min(digits, maxDigits);
  if (x.numerator === 0n) return ['0'.repeat(known + 1), 0];
  let exponent = String(x.numerator).length - String(x.denominator).length;
  const scale = 10n ** BigInt(Math.abs(exponent));
  const isBelow = exponent < 0 ? x.numerator * scale < x.denominator : x.numerator < x.denominator * scale;
  if (isBelow) exponent--;
  const mantissa = String(rounded(x, known - exponent));
  return mantissa.length === known + 1 ? [mantissa, exponent] : [mantissa.slice(0, -1), exponent + 1];
}

/** The nearest integer to the number times ten to a power. */
function rounded({ numerator, denominator, halvesToEven }: Fraction, power: number): bigint {
  const over = power >= 0 ? numerator * 10n ** BigInt(power) : numerator;
  const under = power >= 0 ? denominator : denominator * 10n ** BigInt(-power);
  const whole = over / under;
  const rest = 2n * (over % under);
  const isUp = rest > under || (rest === under && (!halvesToEven || whole % 2n === 1n));
  return isUp ? whole + 1n : whole;
}

function signOf(flags: string, isNegative: boolean): string {
  if (isNegative) return '-';
  return flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
}

function grouped(flags: string, digits: string, base: number): string {
  if (!flags.includes("'")) return digits;
  if (base === 10) return digits.replace(/\B(?=(.{3})+$)/g, ',');
  return digits.replace(/\B(?=(.{4})+$)/g, base === 16 ? ':' : ',');
}

function padded(
  sign: string,
  text: string,
  { flags, width, zeros }: { flags: string; width: bigint; zeros: boolean },
): string {
  const isLeft = flags.includes('-') || width < -1n;
  const wanted = limited(width < -1n ? -width : width);
  const missing = Math.max(0, wanted - sign.length - Array.from(text).length);
  if (isLeft) return sign + text + ' '.repeat(missing);
  if (zeros && flags.includes('0')) return sign + '0'.repeat(missing) + text;
  return ' '.repeat(missing) + sign + text;
}

function limited(count: bigint): number {
  if (count > BigInt(maxOutputLength))
    throw new Error(
      `Width ${count} exceeds the maximum supported output width of FORMAT. Limit: ${maxOutputLength}`,
    );
  return Number(count);
}
