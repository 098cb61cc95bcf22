import { type EngineFunctions, maxOutputLength } from './engine-function.ts';

/** Maximum bytes that joining makes. */
const maxJoined = 16_000_000;

const [anything, anyByte, backslash] = [...Buffer.from('%_\\')];

const empty = new Uint8Array();

/** Functions of BYTES that DuckDB has for texts only. Positions count from 1. */
export const byteValues: EngineFunctions = {
  'bq_bytes_substr(BYTES, INT64, INT64) BYTES': (bytes: Uint8Array, position: bigint, count: bigint) => {
    if (count < 0n) throw new Error('Third argument in SUBSTR() cannot be negative');
    const from = position < 0n ? BigInt(bytes.length) + position : position - 1n;
    const start = from < 0n ? 0n : from;
    const end = start + count;
    if (start >= BigInt(bytes.length)) return empty;
    return bytes.slice(Number(start), end > BigInt(bytes.length) ? bytes.length : Number(end));
  },
  'bq_bytes_left(BYTES, INT64) BYTES': (bytes: Uint8Array, count: bigint) =>
    bytes.slice(0, counted(count, bytes, 'LEFT')),
  'bq_bytes_right(BYTES, INT64) BYTES': (bytes: Uint8Array, count: bigint) =>
    bytes.slice(bytes.length - counted(count, bytes, 'RIGHT')),
  'bq_bytes_trim(BYTES, BYTES) BYTES': (bytes: Uint8Array, set: Uint8Array) => trim(bytes, set, 'both'),
  'bq_bytes_ltrim(BYTES, BYTES) BYTES': (bytes: Uint8Array, set: Uint8Array) => trim(bytes, set, 'left'),
  'bq_bytes_rtrim(BYTES, BYTES) BYTES': (bytes: Uint8Array, set: Uint8Array) => trim(bytes, set, 'right'),
  'bq_bytes_replace(BYTES, BYTES, BYTES) BYTES': (bytes: Uint8Array, from: Uint8Array, to: Uint8Array) => {
    if (from.length === 0) return bytes;
    const parts = text(bytes).split(text(from));
    if (bytes.length + (parts.length - 1) * to.length > maxOutputLength)
      throw new Error('REPLACE output is too long');
    return raw(parts.join(text(to)));
  },
  'bq_bytes_like(BYTES, BYTES) BOOL': (bytes: Uint8Array, pattern: Uint8Array) => isLike(bytes, pattern),
  'bq_bytes_join(ARRAY<BYTES>, BYTES) BYTES': (
    parts: readonly (Uint8Array | null)[],
    separator: Uint8Array,
  ) => {
    const found = parts.filter(part => part !== null);
    const joined = found.flatMap((part, i) => (i === 0 ? [part] : [separator, part]));
    if (joined.reduce((sum, { length }) => sum + length, 0) > maxJoined)
      throw new Error('The BYTES that are joined are too long');
    return Uint8Array.from(Buffer.concat(joined));
  },
  'bq_bytes_reverse(BYTES) BYTES': (bytes: Uint8Array) => bytes.toReversed(),
  'bq_bytes_repeat(BYTES, INT64) BYTES': (bytes: Uint8Array, count: bigint) => {
    if (count < 0n) throw new Error('Second argument in REPEAT() cannot be negative');
    if (count * BigInt(bytes.length) > BigInt(maxOutputLength)) throw new Error('REPEAT output is too long');
    return raw(text(bytes).repeat(Number(count)));
  },
  'bq_bytes_lpad(BYTES, INT64, BYTES) BYTES': (bytes: Uint8Array, length: bigint, pattern: Uint8Array) =>
    pad(bytes, length, pattern, padding => Buffer.concat([padding, bytes])),
  'bq_bytes_rpad(BYTES, INT64, BYTES) BYTES': (bytes: Uint8Array, length: bigint, pattern: Uint8Array) =>
    pad(bytes, length, pattern, padding => Buffer.concat([bytes, padding])),
  'bq_bytes_upper(BYTES) BYTES': (bytes: Uint8Array) =>
    bytes.map(byte => (byte >= 97 && byte <= 122 ? byte - 32 : byte)),
  'bq_bytes_lower(BYTES) BYTES': (bytes: Uint8Array) =>
    bytes.map(byte => (byte >= 65 && byte <= 90 ? byte + 32 : byte)),
  'bq_bytes_starts_with(BYTES, BYTES) BOOL': (bytes: Uint8Array, part: Uint8Array) =>
    text(bytes).startsWith(text(part)),
  'bq_bytes_ends_with(BYTES, BYTES) BOOL': (bytes: Uint8Array, part: Uint8Array) =>
    text(bytes).endsWith(text(part)),
  'bq_bytes_strpos(BYTES, BYTES) INT64': (bytes: Uint8Array, part: Uint8Array) =>
    BigInt(text(bytes).indexOf(text(part)) + 1),
  'bq_bytes_ascii(BYTES) INT64': (bytes: Uint8Array) => BigInt(bytes[0] ?? 0),
  'bq_bytes_split(BYTES, BYTES) ARRAY<BYTES>': (bytes: Uint8Array, between: Uint8Array) =>
    bytes.length === 0 ? [empty] : text(bytes).split(text(between)).map(raw),
};

/** Bytes as Latin-1 text, so that functions of texts work on them. */
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');
const raw = (characters: string) => Uint8Array.from(Buffer.from(characters, 'latin1'));

function counted(count: bigint, bytes: Uint8Array, name: string): number {
  if (count < 0n) throw new Error(`Second argument in ${name}() cannot be negative`);
  return count > BigInt(bytes.length) ? bytes.length : Number(count);
}

function trim(bytes: Uint8Array, set: Uint8Array, side: 'both' | 'left' | 'right'): Uint8Array {
  let [from, to] = [0, bytes.length];
  if (side !== 'right') while (from < to && set.includes(bytes[from]!)) from++;
  if (side !== 'left') while (to > from && set.includes(bytes[to - 1]!)) to--;
  return bytes.slice(from, to);
}

function pad(
  bytes: Uint8Array,
  length: bigint,
  pattern: Uint8Array,
  join: (padding: Uint8Array) => Uint8Array,
): Uint8Array {
  if (length < 0n || length > BigInt(maxOutputLength))
    throw new Error('The length of a padding is out of range');
  if (pattern.length === 0) throw new Error('The pattern of a padding must not be empty');
  const missing = Number(length) - bytes.length;
  if (missing <= 0) return bytes.slice(0, Number(length));
  return join(Buffer.alloc(missing, pattern));
}

/** LIKE. After a mismatch only the last `%` takes one byte more, so the time is at most the product of both lengths. */
function isLike(bytes: Uint8Array, pattern: Uint8Array): boolean {
  const steps = stepsOf(pattern);
  let [at, step, back, from] = [0, 0, -1, 0];
  while (at < bytes.length) {
    const wanted = steps[step];
    if (wanted === anyRun) [back, from, step] = [step, at, step + 1];
    else if (wanted === -1 || wanted === bytes[at]) [at, step] = [at + 1, step + 1];
    else if (back >= 0) [step, from, at] = [back + 1, from + 1, from + 1];
    else return false;
  }
  while (steps[step] === anyRun) step++;
  return step === steps.length;
}

const anyRun = -2;

/** A byte, -1 for any, `anyRun` for any number of them. */
function stepsOf(pattern: Uint8Array): readonly number[] {
  const steps: number[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const byte = pattern[at]!;
    if (byte === backslash) {
      at++;
      if (at === pattern.length) throw new Error('LIKE pattern ends with a backslash');
      steps.push(pattern[at]!);
    } else steps.push(byte === anything ? anyRun : byte === anyByte ? -1 : byte);
  }
  return steps;
}
