import { replacement } from './replacement.ts';

/** A stretch that can hold addresses: hexadecimal groups and colons, `%3A` too, with two colons at least. */
const stretch = /(?:[0-9a-f]|%3A|:){2,}/gi;
const token = /%3A|:|[0-9a-f]+/gi;
const dottedQuad = /\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![0-9a-z])/iy;
/** An interface's name belongs to the address; only link-local and multicast addresses have one. */
const zone = /%[0-9a-z_.-]*[0-9a-z]/iy;
const hasZone = /^f[ef]/i;
/** An address has at most eight groups and seven colons; a port adds one of each. */
const mostTokens = 17;
/** Eight groups, with a port, or six before an IPv4 address, whose first number is a token here. */
const uncompressedTokens = new Set([15, 17, 13]);
/** The digits of an escape, which are no part of an address: `%5B2001:db8::1`. */
const percentDigits = /^(?:[2357][0-9a-f]|40|0[9ad])/i;

type Token = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly isColon: boolean;
};

/** Replaces IPv6 addresses, but not times, MAC addresses, fingerprints or scopes such as `std::string`. */
export function redactIpv6(text: string): string {
  let out = '';
  let copied = 0;
  for (const { 0: run, index } of text.matchAll(stretch)) {
    const skip = text[index - 1] === '%' && percentDigits.test(run) ? 2 : 0;
    const tokens = tokenize(run.slice(skip), index + skip);
    for (let from = 0; from < tokens.length; from++) {
      if (tokens[from]!.start < copied || !canStart(text, tokens, from)) continue;
      const end = longestAddress(text, tokens, from);
      if (end === undefined) continue;
      out += text.slice(copied, tokens[from]!.start) + replacement;
      copied = end;
    }
  }
  return copied === 0 ? text : out + text.slice(copied);
}

function tokenize(run: string, offset: number): Token[] {
  return Array.from(run.matchAll(token), ({ 0: text, index }) => ({
    text,
    start: offset + index,
    end: offset + index + text.length,
    isColon: text.endsWith(':') || (text.length === 3 && text[0] === '%'),
  }));
}

function canStart(text: string, tokens: readonly Token[], from: number): boolean {
  const { start, isColon } = tokens[from]!;
  if (isColon) {
    if (!tokens[from + 1]?.isColon || tokens[from + 2]?.isColon) return false;
  }
  if (start === 0) return true;
  const before = text.slice(Math.max(0, start - 12), start);
  if (/(?:\\[bfnrt]|\\u[0-9a-f]{4}|%[2357][0-9a-f]|%40|%0[9ad])$/i.test(before)) return true;
  // The last number of an IPv4 address starts nothing; what follows it may: `10.0.0.1.::1`.
  return !(isColon ? /[0-9a-z]$/i : /[0-9a-z]$|\d\.\d+\.\d+\.$/i).test(before);
}

/** The end of the longest address that starts at this token. */
function longestAddress(text: string, tokens: readonly Token[], from: number): number | undefined {
  const { furthest, isCompressed } = reach(tokens, from);
  for (let to = furthest; to > from + 1; to--) {
    if (!isCompressed && !uncompressedTokens.has(to - from)) continue;
    const { end } = tokens[to - 1]!;
    const quad = stickyEnd(dottedQuad, text, end);
    const isWhole = quad !== undefined || !/[0-9a-z]/i.test(text[end] ?? ' ');
    const some = tokens.slice(from, to);
    if (!isWhole || !isIpv6(some, quad !== undefined)) continue;
    const addressEnd = quad ?? end;
    return hasZone.test(some[0]!.text) ? (stickyEnd(zone, text, addressEnd) ?? addressEnd) : addressEnd;
  }
  return undefined;
}

/** How far an address can go at most; looking no further keeps hostile text cheap. */
function reach(tokens: readonly Token[], from: number): { furthest: number; isCompressed: boolean } {
  let isCompressed = false;
  let to = from;
  for (; to < Math.min(tokens.length, from + mostTokens); to++) {
    const isDouble = to > from && tokens[to]!.isColon && tokens[to - 1]!.isColon;
    if (isDouble && isCompressed) break;
    if (!tokens[to]!.isColon && tokens[to]!.text.length > 5) break;
    isCompressed ||= isDouble;
  }
  return { furthest: to, isCompressed };
}

function stickyEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function isIpv6(tokens: readonly Token[], hasQuad: boolean): boolean {
  const spelled = tokens.map(({ text, isColon }) => (isColon ? ':' : text)).join('');
  const halves = spelled.split('::');
  if (halves.length > 2 || /^:[^:]|[^:]:$|:::/.test(spelled)) return false;
  const groups = spelled.split(':').filter(Boolean);
  if (hasQuad && !/^\d{1,3}$/.test(groups.at(-1) ?? '')) return false;
  if (halves.length === 2) {
    return groups.length > 0 && groups.length + Number(hasQuad) <= 7 && isNoScope(spelled, groups);
  }
  // Eight pairs of digits are an EUI-64 or a part of a fingerprint.
  if (groups.every(group => group.length === 2)) return false;
  if (groups.length === 9) return areGroups(groups.slice(0, 8)) && /^\d{1,5}$/.test(groups[8]!);
  return areGroups(groups) && groups.length + Number(hasQuad) === 8;
}

function areGroups(groups: readonly string[]): boolean {
  return groups.every(group => group.length <= 4);
}

/** Without a digit, `a::b` is more likely a name in a scope; `::a`, `a:b::`, `dead::beef` and `a:b::c` are addresses. */
function isNoScope(spelled: string, groups: readonly string[]): boolean {
  if (!areGroups(groups)) return false;
  return (
    /\d/.test(spelled) ||
    spelled.startsWith('::') ||
    (spelled.endsWith('::') && groups.length > 1) ||
    groups.length > 2 ||
    groups.every(({ length }) => length === 4)
  );
}
