/**
 * A FLOAT64 as BigQuery's casts write it: fifteen digits where they are enough to read the same number again, else seventeen.
 */
export function floatText(x: number): string {
  if (Number.isNaN(x)) return 'nan';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  if (x === 0) return '0';
  const short = x.toPrecision(15);
  return general(Number(short) === x ? short : x.toPrecision(17), Number(short) === x ? 15 : 17);
}

/** The form of C's `%g` with `precision` significant digits: no trailing zeros, an exponent of at least two digits. */
function general(digits: string, precision: number): string {
  const [mantissa = '', exponent = 0] = exponential(digits);
  if (exponent < -4 || exponent >= precision)
    return `${trimmed(mantissa)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  return trimmed(Number(digits).toFixed(Math.min(100, Math.max(0, precision - 1 - exponent))));
}

function exponential(digits: string): [mantissa: string, exponent: number] {
  const significant = digits.replace(/e.*$/, '').replace(/[-.]/g, '').replace(/^0+/, '').length;
  const [mantissa, exponent] = Number(digits)
    .toExponential(Math.max(0, significant - 1))
    .split('e');
  return [mantissa!, Number(exponent)];
}

const trimmed = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
