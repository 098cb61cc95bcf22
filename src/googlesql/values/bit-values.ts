import type { EngineFunctions } from './engine-function.ts';

type Combine = (a: number, b: number) => number;

const combined = (name: string, combine: Combine) =>
  [
    `bq_bytes_${name}(BYTES, BYTES) BYTES`,
    (a: Uint8Array, b: Uint8Array) => {
      if (a.length !== b.length)
        throw new Error(
          `Bitwise binary operator for BYTES requires equal length of the inputs. Got ${a.length} bytes on the left hand side and ${b.length} bytes on the right hand side.`,
        );
      return a.map((byte, i) => combine(byte, b[i]!));
    },
  ] as const;

/** Bits of INT64, which are those of an unsigned number, and of BYTES, the first byte being the highest. */
export const bitValues: EngineFunctions = {
  'bq_shift_left(INT64, INT64) INT64': (x: bigint, by: bigint) =>
    by >= bits ? 0n : BigInt.asIntN(64, x << shift(by)),
  'bq_shift_right(INT64, INT64) INT64': (x: bigint, by: bigint) =>
    BigInt.asIntN(64, BigInt.asUintN(64, x) >> (shift(by) > bits ? bits : by)),
  'bq_bit_count(BYTES) INT64': (x: Uint8Array) => BigInt(x.reduce((sum, byte) => sum + bitsOf(byte), 0)),
  'bq_bytes_not(BYTES) BYTES': (x: Uint8Array) => x.map(byte => ~byte),
  'bq_bytes_shift_left(BYTES, INT64) BYTES': (x: Uint8Array, by: bigint) => shiftBytes(x, shift(by)),
  'bq_bytes_shift_right(BYTES, INT64) BYTES': (x: Uint8Array, by: bigint) => shiftBytes(x, -shift(by)),
  ...Object.fromEntries([
    combined('and', (a, b) => a & b),
    combined('or', (a, b) => a | b),
    combined('xor', (a, b) => a ^ b),
  ]),
};

const bits = 64n;

function shift(by: bigint): bigint {
  if (by < 0n) throw new Error('Bitwise shift by negative offset.');
  return by;
}

const bitsOf = (byte: number) => byte.toString(2).replaceAll('0', '').length;

/** Shifts left by `by` bits, right if `by` is negative; bits that fall off are lost. */
function shiftBytes(x: Uint8Array, by: bigint): Uint8Array {
  const shifted = new Uint8Array(x.length);
  const distance = by < 0n ? -by : by;
  if (distance >= BigInt(x.length) * 8n) return shifted;
  const whole = Number(distance / 8n);
  const rest = Number(distance % 8n);
  for (let i = 0; i < x.length; i++) {
    const [near, far] = by < 0n ? [i - whole, i - whole - 1] : [i + whole, i + whole + 1];
    const [a, b] = [x[near] ?? 0, x[far] ?? 0];
    shifted[i] = by < 0n ? (a >> rest) | (b << (8 - rest)) : (a << rest) | (b >> (8 - rest));
  }
  return shifted;
}
