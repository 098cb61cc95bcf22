import { endsWithEscape, isAlphanumeric, isDigit, isHex } from './ascii.ts';
import { replacement } from './redaction-kinds.ts';

/** A colon, as it is or percent-encoded: every address has two. */
const anyColon = /:|%3a/gi;
const dottedQuad = /\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![0-9a-z])/iy;
/** An interface's name belongs to the address; only link-local and multicast addresses have one. */
const zone = /%[0-9a-z_.-]*[0-9a-z]/iy;
/** An IPv4 address up to its last dot: the number after it starts no IPv6 address. */
const threeNumbers = /\d\.\d+\.\d+\.$/;
const maxThreeNumbersLength = 12;
/** Digits of an escape at the start of a stretch, which do not belong to the address: `%5B2001:db8::1`. */
const percentDigits = /(?:[2357][0-9a-f]|40|0[9ad])/iy;
const unicodeDigits = /[0-9a-f]{4}/iy;

const code = { colon: 0x3a, percent: 0x25, three: 0x33, a: 0x61, dot: 0x2e, backslash: 0x5c } as const;

/**
 * Replaces IPv6 addresses, but not times, MAC addresses, fingerprints or scopes such as `std::string`. An address has at most
 * nine groups of five characters, so no character is read more often than that many times.
 */
export function redactIpv6(text: string): string {
  let out = '';
  let copied = 0;
  let read = 0;
  anyColon.lastIndex = 0;
  for (let found = anyColon.exec(text); found; found = anyColon.exec(text)) {
    let start = found.index;
    while (start > read && isHex(text.charCodeAt(start - 1))) start--;
    const end = stretchEnd(text, found.index);
    for (let at = start + escapeDigits(text, start); at < end; ) {
      const addressEnd = canStart(text, start, at) ? longestAddress(text, at) : undefined;
      if (addressEnd === undefined) {
        at = tokenEnd(text, at);
        continue;
      }
      out += text.slice(copied, at) + replacement;
      copied = addressEnd;
      at = nextToken(text, at, addressEnd);
    }
    read = Math.max(end, copied);
    anyColon.lastIndex = read;
  }
  return copied === 0 ? text : out + text.slice(copied);
}

/** The end of the stretch of hexadecimal groups and colons around this position. */
function stretchEnd(text: string, from: number): number {
  let at = from;
  for (let next = tokenEnd(text, at); next > at; next = tokenEnd(text, at)) at = next;
  return at;
}

/** The end of the colon or the group of hexadecimal digits at this position; the position itself if there is neither. */
function tokenEnd(text: string, from: number): number {
  const colon = colonLength(text, from);
  if (colon > 0) return from + colon;
  let at = from;
  while (isHex(text.charCodeAt(at))) at++;
  return at;
}

/** The first token after an address, which may end inside one. */
function nextToken(text: string, from: number, addressEnd: number): number {
  let at = from;
  while (at < addressEnd) {
    const end = tokenEnd(text, at);
    if (end === at) return addressEnd;
    at = end;
  }
  return at;
}

/** Characters of the colon at this position; 0 if there is none. */
function colonLength(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === code.colon) return 1;
  const isEncoded =
    first === code.percent &&
    text.charCodeAt(at + 1) === code.three &&
    (text.charCodeAt(at + 2) | 0x20) === code.a;
  return isEncoded ? 3 : 0;
}

/** How many characters at the start of a stretch belong to an escape that began before it. */
function escapeDigits(text: string, start: number): number {
  const before = text.charCodeAt(start - 1);
  if (before === code.percent) return matchesAt(percentDigits, text, start) ? 2 : 0;
  // `\b` and `\f`: the letter is a hexadecimal digit too.
  if (before === code.backslash) return /[bf]/.test(text.charAt(start)) ? 1 : 0;
  return text.slice(start - 2, start) === '\\u' && matchesAt(unicodeDigits, text, start) ? 4 : 0;
}

/** Whether an address may start at this token: a group, or exactly two colons, that does not continue a word or number. */
function canStart(text: string, stretchStart: number, at: number): boolean {
  const colon = colonLength(text, at);
  if (colon > 0) {
    const second = colonLength(text, at + colon);
    if (second === 0 || colonLength(text, at + colon + second) > 0) return false;
  } else if (at > stretchStart && !isHex(text.charCodeAt(at - 1))) {
    return true; // a group after a colon
  }
  const before = text.charCodeAt(at - 1);
  if (isAlphanumeric(before)) return endsWithEscape(text, at);
  if (colon > 0 || before !== code.dot) return true;
  // The last number of an IPv4 address starts no IPv6 address, but text after it may: `10.0.0.1.::1`.
  return !threeNumbers.test(text.slice(Math.max(0, at - maxThreeNumbersLength), at));
}

/** Maximum number of groups: eight and a port. */
const maxGroups = 9;
/** Maximum digits of a port. */
const maxPortLength = 5;

/** The end of the longest address that starts here. */
function longestAddress(text: string, start: number): number | undefined {
  const reading = emptyReading();
  let longest: number | undefined;
  let at = start;
  for (;;) {
    const colon = colonLength(text, at);
    if (colon > 0) {
      const second = colonLength(text, at + colon);
      const isThird = reading.endsCompressed;
      if (isThird || (second > 0 && reading.isCompressed)) break;
      reading.startsCompressed ||= second > 0 && at === start;
      reading.isCompressed ||= second > 0;
      reading.endsCompressed = second > 0;
      at += colon + second;
      if (second === 0) continue;
    } else {
      const end = readGroup(text, at, reading);
      if (end === undefined) break;
      at = end;
    }
    const end = endOfAddress(text, at, reading);
    if (end !== undefined) longest = end;
  }
  const hasZone = longest !== undefined && /^f[ef]/i.test(text.slice(start, start + 2));
  if (hasZone && matchesAt(zone, text, longest!)) return zone.lastIndex;
  return longest;
}

/** The part of an address that has been read so far. */
type Reading = ReturnType<typeof emptyReading>;

function emptyReading() {
  return {
    groups: 0,
    /** Digits of the last group. */
    length: 0,
    isNumber: false,
    /** Number of groups that do not have 2 characters, and of those that do not have 4. */
    notOfTwo: 0,
    notOfFour: 0,
    hasDigit: false,
    isCompressed: false,
    startsCompressed: false,
    /** Whether the last thing read is a `::`. */
    endsCompressed: false,
  };
}

/** Reads one more group. @returns its end; undefined if there is none, or an address can't have it */
function readGroup(text: string, start: number, reading: Reading): number | undefined {
  let digits = 0;
  let at = start;
  for (; at - start <= maxPortLength && isHex(text.charCodeAt(at)); at++) {
    if (isDigit(text.charCodeAt(at))) digits++;
  }
  const length = at - start;
  // Only a port, after eight groups, may be longer than four.
  const maxDigits = reading.groups === maxGroups - 1 ? maxPortLength : 4;
  if (length === 0 || length > maxDigits || reading.groups === maxGroups) return undefined;
  reading.groups++;
  reading.length = length;
  reading.isNumber = digits === length;
  reading.hasDigit ||= digits > 0;
  if (length !== 2) reading.notOfTwo++;
  if (length !== 4) reading.notOfFour++;
  reading.endsCompressed = false;
  return at;
}

/** The end of the address that has been read, including a trailing IPv4 address; undefined if it is not an address by itself. */
function endOfAddress(text: string, at: number, reading: Reading): number | undefined {
  const isQuad =
    text.charCodeAt(at) === code.dot && !reading.endsCompressed && matchesAt(dottedQuad, text, at);
  const end = isQuad ? dottedQuad.lastIndex : at;
  if (!isQuad && isAlphanumeric(text.charCodeAt(at))) return undefined;
  if (isQuad && !(reading.isNumber && reading.length <= 3)) return undefined;
  return isAddress(reading, Number(isQuad)) ? end : undefined;
}

function isAddress(reading: Reading, quads: number): boolean {
  const { groups, notOfTwo, isNumber } = reading;
  if (reading.isCompressed) return groups > 0 && groups + quads <= 7 && isNoScope(reading);
  // Eight pairs of digits are an EUI-64 or part of a fingerprint.
  if (notOfTwo === 0) return false;
  if (groups === maxGroups) return isNumber;
  return groups + quads === 8;
}

/** Without a digit, `a::b` is more likely a name in a scope; `::a`, `a:b::`, `dead::beef` and `a:b::c` are addresses. */
function isNoScope(reading: Reading): boolean {
  return (
    reading.hasDigit ||
    reading.startsCompressed ||
    (reading.endsCompressed && reading.groups > 1) ||
    reading.groups > 2 ||
    reading.notOfFour === 0
  );
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
