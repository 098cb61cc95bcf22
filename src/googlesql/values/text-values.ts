import { createHash } from 'node:crypto';
import type { EngineFunctions } from './engine-function.ts';
import { fingerprint } from './fingerprint.ts';

/** Maximum steps of EDIT_DISTANCE, which takes the product of the two lengths. */
const maxDistanceSteps = 20_000_000;

/** The default delimiters of INITCAP: white space and punctuation. */
const delimiters = new Set(
  ' \t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000' +
    '[](){}/|\\<>!?@"^#$&~_,.:;*%+-',
);

/** Functions of texts that DuckDB lacks, or has with another meaning. Positions count code points from 1. */
export const textValues: EngineFunctions = {
  'bq_instr(STRING, STRING, INT64, INT64) INT64': (
    text: string,
    part: string,
    position: bigint,
    occurrence: bigint,
  ) => findPart(Array.from(text), Array.from(part), position, occurrence),
  'bq_bytes_instr(BYTES, BYTES, INT64, INT64) INT64': (
    text: Uint8Array,
    part: Uint8Array,
    position: bigint,
    occurrence: bigint,
  ) => findPart([...text], [...part], position, occurrence),
  'bq_full_upper(STRING) STRING': (text: string) => text.toUpperCase(),
  'bq_full_lower(STRING) STRING': (text: string) => text.toLowerCase(),
  'bq_initcap(STRING) STRING': (text: string) => capitalised(text, delimiters),
  'bq_initcap_by(STRING, STRING) STRING': (text: string, between: string) =>
    capitalised(text, new Set(between)),
  'bq_translate(STRING, STRING, STRING) STRING': (text: string, from: string, to: string) =>
    Array.from(text, replacer(Array.from(from), Array.from(to))).join(''),
  'bq_bytes_translate(BYTES, BYTES, BYTES) BYTES': (text: Uint8Array, from: Uint8Array, to: Uint8Array) =>
    Uint8Array.from(
      [...text].flatMap(
        replacer<number, number[]>(
          [...from],
          [...to].map(byte => [byte]),
          [],
          byte => [byte],
        ),
      ),
    ),
  'bq_normalize(STRING, STRING) STRING': (text: string, form: string) => text.normalize(form),
  'bq_normalize_and_casefold(STRING, STRING) STRING': (text: string, form: string) =>
    folded(text.normalize(form)),
  'bq_soundex(STRING) STRING': soundex,
  'bq_to_code_points(STRING) ARRAY<INT64>': (text: string) =>
    Array.from(text, letter => BigInt(letter.codePointAt(0)!)),
  'bq_bytes_to_code_points(BYTES) ARRAY<INT64>': (bytes: Uint8Array) => [...bytes].map(BigInt),
  'bq_code_points_to_string(ARRAY<INT64>) STRING': (codes: readonly (bigint | null)[]) =>
    codes.includes(null) ? null : codes.map(code => letterOf(code!)).join(''),
  'bq_code_points_to_bytes(ARRAY<INT64>) BYTES': (codes: readonly (bigint | null)[]) =>
    codes.includes(null) ? null : Uint8Array.from(codes, code => byteOf(code!)),
  'bq_chr(INT64) STRING': (code: bigint) => (code === 0n ? '\0' : letterOf(code)),
  'bq_unicode(STRING) INT64': (text: string) => BigInt(text.codePointAt(0) ?? 0),
  'bq_sha512(STRING) BYTES': (text: string) => createHash('sha512').update(text).digest(),
  'bq_bytes_sha512(BYTES) BYTES': (bytes: Uint8Array) => createHash('sha512').update(bytes).digest(),
  'bq_farm_fingerprint(STRING) INT64': (text: string) =>
    BigInt.asIntN(64, fingerprint(new TextEncoder().encode(text))),
  'bq_bytes_farm_fingerprint(BYTES) INT64': (bytes: Uint8Array) => BigInt.asIntN(64, fingerprint(bytes)),
  'bq_edit_distance(STRING, STRING, INT64) INT64': (a: string, b: string, most: bigint) =>
    editDistance(Array.from(a), Array.from(b), most),
  'bq_from_hex(STRING) BYTES': fromHex,
  'bq_bytes_to_string(BYTES) STRING': safeText,
};

/** The bytes of hexadecimal digits in either case. If their number is odd, the first digit is a byte of its own. */
export function fromHex(text: string): Uint8Array {
  const wrong = text.search(/[^\da-f]/i);
  if (wrong >= 0)
    throw new Error(
      `Failed to decode invalid hexadecimal string due to character at offset ${wrong}: ${text}`,
    );
  return Uint8Array.from(Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex'));
}

function findPart<Unit>(
  text: readonly Unit[],
  part: readonly Unit[],
  position: bigint,
  occurrence: bigint,
): bigint {
  if (position === 0n) throw new Error('Position must be non-zero');
  if (occurrence < 1n) throw new Error('Occurrence must be positive');
  const distance = position < 0n ? -position : position;
  if (distance > BigInt(text.length + (part.length === 0 ? 1 : 0))) return 0n;
  const step = position < 0n ? -1 : 1;
  const last = text.length - part.length;
  const start = position > 0n ? Number(position) - 1 : Math.min(last, text.length + Number(position));
  let left = occurrence;
  for (
    let at = position < 0n && part.length === 0 ? text.length + Number(position) + 1 : start;
    at >= 0 && at <= last;
    at += step
  ) {
    if (part.every((unit, i) => unit === text[at + i]) && --left === 0n) return BigInt(at + 1);
  }
  return 0n;
}

/** A letter in another case, one for one: Unicode's simple mappings. */
function single(letter: string, changed: string): string {
  if (Array.from(changed).length === 1) return changed;
  if (letter === 'İ') return 'i';
  const code = letter.codePointAt(0)!;
  if (code >= 0x1f80 && code < 0x1fb0) return String.fromCodePoint(code | 8);
  return [0x1fb3, 0x1fc3, 0x1ff3].includes(code) ? String.fromCodePoint(code + 9) : letter;
}

function capitalised(text: string, between: ReadonlySet<string>): string {
  let isFirst = true;
  return Array.from(text, letter => {
    const wasFirst = isFirst;
    isFirst = between.has(letter);
    // A delimiter that is a letter keeps its case.
    if (isFirst) return letter;
    return single(letter, wasFirst ? letter.toUpperCase() : letter.toLowerCase());
  }).join('');
}

function replacer<Unit, Out = Unit | ''>(
  from: readonly Unit[],
  to: readonly Out[],
  nothing: Out = '' as Out,
  itself: (unit: Unit) => Out = unit => unit as unknown as Out,
): (unit: Unit) => Out {
  const places = new Map<Unit, number>();
  for (const [i, unit] of from.entries()) {
    if (places.has(unit))
      throw new Error(`Duplicate character "${String(unit)}" in TRANSLATE source characters`);
    places.set(unit, i);
  }
  return unit => {
    const place = places.get(unit);
    return place === undefined ? itself(unit) : (to[place] ?? nothing);
  };
}

/** Unicode's full case folding, by way of upper case. */
function folded(text: string): string {
  return Array.from(text, letter => {
    if (letter === 'ı') return letter;
    // Cherokee folds to its capitals.
    if (/[\u13a0-\u13f5\u13f8-\u13fd\uab70-\uabbf]/.test(letter)) return letter.toUpperCase();
    return Array.from(letter.toUpperCase(), upper => (upper === 'ẞ' ? 'ss' : upper.toLowerCase())).join('');
  }).join('');
}

const codes: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ 1: 'bfpv', 2: 'cgjkqsxz', 3: 'dt', 4: 'l', 5: 'mn', 6: 'r' }).flatMap(([code, letters]) =>
    [...letters].map(letter => [letter, code]),
  ),
);

function soundex(text: string): string {
  let out = '';
  let last: string | undefined;
  for (const letter of text.replace(/[^a-zA-Z]/g, '')) {
    const lower = letter.toLowerCase();
    const code = codes[lower];
    if (out === '') out = letter;
    else if (code !== undefined && code !== last) out += code;
    // Equal codes count once, even with vowels between them.
    last = code ?? last;
    if (out.length === 4) break;
  }
  return out === '' ? '' : out.padEnd(4, '0');
}

function letterOf(code: bigint): string {
  if (code < 0n || code > 0x10ffffn || (code >= 0xd800n && code < 0xe000n))
    throw new Error(`Invalid codepoint ${code}`);
  return String.fromCodePoint(Number(code));
}

function byteOf(code: bigint): number {
  if (code < 0n || code > 255n) throw new Error(`Invalid ASCII value ${code}`);
  return Number(code);
}

function editDistance(a: readonly string[], b: readonly string[], most: bigint): bigint {
  if (most < 0n) throw new Error('max_distance must be non-negative');
  if (a.length * b.length > maxDistanceSteps) throw new Error('The texts of EDIT_DISTANCE are too long');
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const kept = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(kept, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  const distance = BigInt(row[b.length]!);
  return distance > most ? most : distance;
}

/** Decodes UTF-8; each invalid byte becomes U+FFFD. */
function safeText(bytes: Uint8Array): string {
  let out = '';
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const text = first >= 0x80 && first < 0xc2 ? undefined : decodeUtf8(bytes.subarray(at, at + length));
    out += text ?? '\ufffd';
    at += text === undefined ? 1 : length;
  }
  return out;
}

/** The text of UTF-8; undefined if the bytes are not valid. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
