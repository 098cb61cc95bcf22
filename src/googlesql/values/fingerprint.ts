const bits = 64;
const k0 = 0xc3a5c85c97cb3127n;
const k1 = 0xb492b66fbe98f273n;
const k2 = 0x9ae16a3b2f90404fn;

type Pair = readonly [first: bigint, second: bigint];

const wrap = (x: bigint) => BigInt.asUintN(bits, x);
const mixed = (x: bigint) => x ^ (x >> 47n);
const rotated = (x: bigint, by: bigint) => (x >> by) | wrap(x << (64n - by));

/** The 64 bits of FARM_FINGERPRINT. Source: FarmHash's `Fingerprint64`. */
export function fingerprint(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const at = (place: number) => view.getBigUint64(place, true);
  const { length } = bytes;
  if (length > 64) return ofLong(bytes, at);
  if (length <= 16) return ofShort(bytes, view);
  const factor = k2 + BigInt(length) * 2n;
  const a = wrap(at(0) * (length <= 32 ? k1 : k2));
  const b = at(8);
  const c = wrap(at(length - 8) * factor);
  const d = wrap(at(length - 16) * k2);
  const y = wrap(rotated(wrap(a + b), 43n) + rotated(c, 30n) + d);
  const z = joined(y, wrap(a + rotated(wrap(b + k2), 18n) + c), factor);
  if (length <= 32) return z;
  const e = wrap(at(16) * factor);
  const f = at(24);
  const g = wrap((y + at(length - 32)) * factor);
  const h = wrap((z + at(length - 24)) * factor);
  return joined(
    wrap(rotated(wrap(e + f), 43n) + rotated(g, 30n) + h),
    wrap(e + rotated(wrap(f + a), 18n) + g),
    factor,
  );
}

function joined(u: bigint, v: bigint, factor: bigint): bigint {
  const a = mixed(wrap((u ^ v) * factor));
  const b = mixed(wrap((v ^ a) * factor));
  return wrap(b * factor);
}

function ofShort(bytes: Uint8Array, view: DataView): bigint {
  const { length } = bytes;
  const count = BigInt(length);
  const factor = k2 + count * 2n;
  if (length >= 8) {
    const a = wrap(view.getBigUint64(0, true) + k2);
    const b = view.getBigUint64(length - 8, true);
    const c = wrap(rotated(b, 37n) * factor + a);
    const d = wrap((rotated(a, 25n) + b) * factor);
    return joined(c, d, factor);
  }
  if (length >= 4) {
    const a = BigInt(view.getUint32(0, true));
    return joined(count + (a << 3n), BigInt(view.getUint32(length - 4, true)), factor);
  }
  if (length === 0) return k2;
  const y = BigInt(bytes[0]! + (bytes[length >> 1]! << 8));
  const z = count + BigInt(bytes[length - 1]! << 2);
  return wrap(mixed(wrap(y * k2) ^ wrap(z * k0)) * k2);
}

function ofLong({ length }: Uint8Array, at: (place: number) => bigint): bigint {
  const rest = (length - 1) & 63;
  const end = length - 1 - rest;
  let x = wrap(81n * k2 + at(0));
  let y = wrap(81n * k1 + 113n);
  let z = wrap(mixed(wrap(y * k2 + 113n)) * k2);
  let v: Pair = [0n, 0n];
  let w: Pair = [0n, 0n];
  const turn = (place: number, factor: bigint, weight: bigint) => {
    x = wrap(rotated(wrap(x + y + v[0] + at(place + 8)), 37n) * factor);
    y = wrap(rotated(wrap(y + v[1] + at(place + 48)), 42n) * factor);
    x ^= wrap(w[1] * weight);
    y = wrap(y + v[0] * weight + at(place + 40));
    z = wrap(rotated(wrap(z + w[0]), 33n) * factor);
    v = weak(at, place, wrap(v[1] * factor), wrap(x + w[0]));
    w = weak(at, place + 32, wrap(z + w[1]), wrap(y + at(place + 16)));
    [z, x] = [x, z];
  };
  for (let place = 0; place < end; place += 64) turn(place, k1, 1n);
  const factor = k1 + ((z & 0xffn) << 1n);
  w = [wrap(w[0] + BigInt(rest)), w[1]];
  v = [wrap(v[0] + w[0]), v[1]];
  w = [wrap(w[0] + v[0]), w[1]];
  turn(end + rest - 63, factor, 9n);
  return joined(
    wrap(joined(v[0], w[0], factor) + mixed(y) * k0 + z),
    wrap(joined(v[1], w[1], factor) + x),
    factor,
  );
}

function weak(at: (place: number) => bigint, place: number, first: bigint, second: bigint): Pair {
  const a = wrap(first + at(place));
  const b = rotated(wrap(second + a + at(place + 24)), 21n);
  const sum = wrap(a + at(place + 8) + at(place + 16));
  return [wrap(sum + at(place + 24)), wrap(b + rotated(sum, 44n) + a)];
}
