import type { EngineFunctions } from './engine-function.ts';

/** Bits of a hash. */
const hashBits = 63;

/**
 * A sketch of distinct values: their hashes while these take less room than registers. A register stands for the hashes with the same
 * lowest `precision` bits, and holds one more than the greatest number of zeros at the end of their other bits.
 */
type Sketch = { readonly type: number; readonly precision: number } & (
  | { readonly hashes: ReadonlySet<bigint> }
  | { readonly registers: Uint8Array }
);

const typeNames = ['INT64', 'NUMERIC', 'STRING', 'BYTES'];
const [hashesForm, registersForm] = [1, 2];

/** First byte of every sketch; BigQuery's own begin with another. */
const mark = 0xe5;
const headLength = 4;

/**
 * Sketches of HLL_COUNT: few values are counted exactly, many by HyperLogLog. Its bytes are no sketch of BigQuery's.
 * Source of the estimate: O. Ertl, New cardinality estimation algorithms for HyperLogLog sketches (2017), algorithm 6.
 */
export const hllValues: EngineFunctions = {
  /** @param hashes of distinct values, 63 bits each */
  'bq_hll_init(ARRAY<INT64>, STRING, INT64) BYTES': (
    hashes: readonly bigint[],
    type: string,
    precision: bigint,
  ) =>
    write(
      compacted({ type: typeNames.indexOf(type), precision: Number(precision), hashes: new Set(hashes) }),
    ),
  'bq_hll_merge(ARRAY<BYTES>) BYTES': (sketches: readonly Uint8Array[]) => write(merged(sketches.map(read))),
  'bq_hll_count(BYTES) INT64': (sketch: Uint8Array) => BigInt(count(read(sketch))),
};

function write(sketch: Sketch): Uint8Array {
  const isSet = 'hashes' in sketch;
  const head = [mark, sketch.type, sketch.precision, isSet ? hashesForm : registersForm];
  const body = isSet ? new Uint8Array(BigInt64Array.from(sketch.hashes).buffer) : sketch.registers;
  const bytes = new Uint8Array(headLength + body.length);
  bytes.set(head);
  bytes.set(body, headLength);
  return bytes;
}

function read(bytes: Uint8Array): Sketch {
  const [first, type = 0, precision = 0, form] = bytes;
  // A copy: of a Buffer, `slice` is a view.
  const body = new Uint8Array(bytes.subarray(headLength));
  const isWhole =
    form === hashesForm ? body.length % 8 === 0 : form === registersForm && body.length === 2 ** precision;
  if (first !== mark || !(type in typeNames) || !isWhole)
    throw new Error('Invalid sketch, or one that was not made by HLL_COUNT here, which is not supported');
  if (form === registersForm) return { type, precision, registers: body };
  return { type, precision, hashes: new Set(new BigInt64Array(body.buffer)) };
}

function merged(sketches: readonly Sketch[]): Sketch {
  const [first, ...others] = sketches;
  if (!first) throw new Error('HLL_COUNT of no sketches');
  if (others.some(({ type }) => type !== first.type))
    throw new Error('Invalid or incompatible sketch: they were made of different types');
  const { type } = first;
  const precision = Math.min(...sketches.map(sketch => sketch.precision));
  const sets = sketches.flatMap(sketch => ('hashes' in sketch ? [...sketch.hashes] : []));
  const all = compacted({ type, precision, hashes: new Set(sets) });
  const registered = sketches.filter(sketch => 'registers' in sketch);
  if (registered.length === 0) return all;
  const registers = registersOf(all);
  for (const sketch of registered) {
    const from = sketch.registers;
    const gone = sketch.precision - precision;
    for (let group = 0; group < from.length; group++) {
      if (!from[group]) continue;
      const rest = group >>> precision;
      // Bits that no longer select a register become the lowest of those that are counted.
      const rank = rest ? 32 - Math.clz32(rest & -rest) : gone + from[group]!;
      raise(registers, group & (2 ** precision - 1), rank);
    }
  }
  return { type, precision, registers };
}

/** Registers where they take less room. */
function compacted(sketch: Sketch & { hashes: ReadonlySet<bigint> }): Sketch {
  const { type, precision, hashes } = sketch;
  return hashes.size * 8 <= 2 ** precision ? sketch : { type, precision, registers: registersOf(sketch) };
}

function registersOf(sketch: Sketch): Uint8Array {
  if ('registers' in sketch) return sketch.registers;
  const { precision, hashes } = sketch;
  const registers = new Uint8Array(2 ** precision);
  for (const hash of hashes) {
    const group = Number(BigInt.asUintN(precision, hash));
    raise(registers, group, rankOf(hash >> BigInt(precision), hashBits - precision));
  }
  return registers;
}

function raise(registers: Uint8Array, group: number, rank: number): void {
  if (registers[group]! < rank) registers[group] = rank;
}

/** The number of trailing zeros among `length` bits, plus one. */
function rankOf(bits: bigint, length: number): number {
  const [low, high] = [Number(BigInt.asUintN(32, bits)), Number(bits >> 32n)];
  if (low) return 32 - Math.clz32(low & -low);
  return high ? 64 - Math.clz32(high & -high) : length + 1;
}

function count(sketch: Sketch): number {
  if ('hashes' in sketch) return sketch.hashes.size;
  const { precision, registers } = sketch;
  const most = hashBits - precision;
  const counts = new Array<number>(most + 2).fill(0);
  for (const rank of registers) counts[rank]!++;
  const groups = registers.length;
  let z = groups * tau(1 - counts[most + 1]! / groups);
  for (let rank = most; rank >= 1; rank--) z = (z + counts[rank]!) / 2;
  z += groups * sigma(counts[0]! / groups);
  return Math.round((groups * groups) / (2 * Math.LN2 * z));
}

function sigma(share: number): number {
  if (share === 1) return Number.POSITIVE_INFINITY;
  let [x, y, z, before] = [share, 1, share, -1];
  while (z !== before) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

function tau(share: number): number {
  if (share === 0 || share === 1) return 0;
  let [x, y, z, before] = [share, 1, 1 - share, -1];
  while (z !== before) {
    x = Math.sqrt(x);
    before = z;
    y /= 2;
    z -= (1 - x) ** 2 * y;
  }
  return z / 3;
}
