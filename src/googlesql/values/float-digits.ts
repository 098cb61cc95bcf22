/**
 * A number with the 64 significant bits of BigQuery's rounding: `digits` times two to the `power`. The highest bit of `digits` is set,
 * except for 0.
 */
type Extended = { readonly digits: bigint; readonly power: number };

const bits = 64;

/** Decimal places beyond which nothing is cut off, and tens beyond which nothing is left. */
const [maxPlaces, maxTens] = [323n, 308n];

/**
 * Rounds a number to decimal places, halves away from zero, or truncates it; negative places are tens, hundreds and so on. Calculated as in
 * BigQuery: divided by a power of ten and multiplied by it again, each in 64 bits.
 * @throws Error where the answer overflows
 */
export function toDigits(x: number, places: bigint, rounds: boolean): number {
  if (!Number.isFinite(x) || x === 0 || places > maxPlaces) return x;
  if (places < -maxTens) return 0;
  const unit = tenTo(-Number(places));
  const whole = wholeOf(quotient(extended(Math.abs(x)), unit), rounds);
  const answer = product(nearest(whole, 0), unit);
  if (isAboveAll(answer)) throw new Error(`Floating point overflow in function: ROUND(${x}, ${places})`);
  return Math.sign(x) * toFloat(answer);
}

/** The nearest such number to a whole one times two to a power, halves to even. */
function nearest(whole: bigint, power: number): Extended {
  const over = lengthOf(whole) - bits;
  if (over <= 0) return { digits: whole << BigInt(-over), power: power + over };
  const digits = halvesToEven(whole, BigInt(over));
  return digits >> BigInt(bits)
    ? { digits: digits >> 1n, power: power + over + 1 }
    : { digits, power: power + over };
}

/** Without its last bits, rounded, halves to even. */
function halvesToEven(whole: bigint, cut: bigint): bigint {
  const kept = whole >> cut;
  const rest = whole - (kept << cut);
  const half = 1n << (cut - 1n);
  return rest > half || (rest === half && kept & 1n) ? kept + 1n : kept;
}

const lengthOf = (whole: bigint) =>
  whole === 0n ? bits : whole.toString(16).length * 4 - leadingZeros(whole);
const leadingZeros = (whole: bigint) => Math.clz32(Number.parseInt(whole.toString(16)[0]!, 16)) - 28;

const product = (a: Extended, b: Extended) => nearest(a.digits * b.digits, a.power + b.power);

function quotient(a: Extended, b: Extended): Extended {
  const shift = BigInt(bits + 2);
  const whole = (a.digits << shift) / b.digits;
  // One more bit says whether there is a remainder.
  const rest = (a.digits << shift) % b.digits === 0n ? 0n : 1n;
  return nearest((whole << 1n) | rest, a.power - b.power - bits - 3);
}

function extended(x: number): Extended {
  let [whole, power] = [x, 0];
  while (!Number.isInteger(whole)) [whole, power] = [whole * 2, power - 1];
  return nearest(BigInt(whole), power);
}

function wholeOf({ digits, power }: Extended, rounds: boolean): bigint {
  if (power >= 0) return digits << BigInt(power);
  const cut = BigInt(-power);
  return (digits >> cut) + (rounds ? (digits >> (cut - 1n)) & 1n : 0n);
}

const tens = new Map<number, Extended>([[0, nearest(1n, 0)]]);
const ten = nearest(10n, 0);

/** A power of ten, each made of the one before. */
function tenTo(exponent: number): Extended {
  const known = tens.get(exponent);
  if (known) return known;
  const step = Math.sign(exponent);
  const before = tenTo(exponent - step);
  const made = step > 0 ? product(before, ten) : quotient(before, ten);
  tens.set(exponent, made);
  return made;
}

const greatest = extended(Number.MAX_VALUE);

/** Whether it is more than the greatest FLOAT64, by however little. */
const isAboveAll = ({ digits, power }: Extended) =>
  power > greatest.power || (power === greatest.power && digits > greatest.digits);

/** The last bit of the least FLOAT64, as a power of two. */
const minPower = -1074;

/** The nearest FLOAT64, halves to even. */
function toFloat({ digits, power }: Extended): number {
  const cut = Math.max(bits - 53, minPower - power);
  if (cut > bits) return 0;
  const whole = Number(halvesToEven(digits, BigInt(cut)));
  // Two steps, neither of which leaves FLOAT64 before the other.
  const half = Math.trunc((power + cut) / 2);
  return whole * 2 ** half * 2 ** (power + cut - half);
}
