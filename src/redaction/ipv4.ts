import { endsWithEscape, isAlphanumeric } from './ascii.ts';
import { replacement } from './redaction-kinds.ts';

/** Groups of digits with single dots between them. */
const dottedDigits = /\d+(?:\.\d+)*/g;

/** A release word makes `1.2.3.4-beta` a version. */
const release =
  /^-(?:alpha|beta|rc|dev|devel|development|pre|prerelease|preview|snapshot|canary|nightly|final|release|stable|build)(?![a-z])/i;

/** `curl/1.2.3.4` is a product's version, unless the word names an address or a port follows. */
const product = /(?:^|[^\w./@-])([a-z][\w+-]*)\/$/i;
const addressWords = new Set(
  'ip ipv4 addr address host client peer src dst source destination remote from to via localhost'.split(' '),
);

/** Maximum characters of a product name before a version. */
const maxProductLength = 64;

/** Replaces IPv4 addresses: four numbers of at most 255 that are neither a version nor part of a longer number. */
export function redactIpv4(text: string): string {
  return text.replace(dottedDigits, (digits: string, at: number) => {
    const start = addressStart(text, digits, at);
    if (start === undefined) return digits;
    return isVersion(text, at + start, at + digits.length) ? digits : digits.slice(0, start) + replacement;
  });
}

/** Where an address starts in the digits: after those that end an escape, as in `%2010.0.0.1`. */
function addressStart(text: string, digits: string, at: number): number | undefined {
  if (isIpv4(digits) && hasBoundaryBefore(text, at)) return 0;
  const first = digits.indexOf('.');
  for (let skip = 1; skip <= Math.min(4, first - 1); skip++) {
    if (endsWithEscape(text, at + skip) && isIpv4(digits.slice(skip))) return skip;
  }
  return undefined;
}

function isIpv4(digits: string): boolean {
  if (digits.length > 15) return false;
  const parts = digits.split('.');
  return parts.length === 4 && parts.every(part => part.length <= 3 && Number(part) <= 255);
}

function hasBoundaryBefore(text: string, at: number): boolean {
  // No digit can precede: the match has all digits.
  return !isAlphanumeric(text.charCodeAt(at - 1)) || endsWithEscape(text, at);
}

function isVersion(text: string, start: number, end: number): boolean {
  const after = text.slice(end, end + 16);
  if (/^[a-z]/i.test(after) || release.test(after)) return true;
  if (text[start - 1] !== '/' || /^:\d/.test(after)) return false;
  const name = product.exec(text.slice(Math.max(0, start - maxProductLength), start))?.[1];
  return name !== undefined && !addressWords.has(name.toLowerCase());
}
