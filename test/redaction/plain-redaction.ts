import type { RedactionKind } from '../../src/redaction/redaction-kinds.ts';

/**
 * What is redacted, written as plainly as it can be and without a thought for time: every place is tried with every length,
 * and patterns look back as far as they like. Bearer tokens are left out: the product has one plain pattern for them.
 */
export function redactPlainly(text: string, kinds: readonly RedactionKind[]): string {
  let redacted = text;
  for (let round = 0; round < 8; round++) {
    const before = redacted;
    for (const [kind, redact] of Object.entries(recognisers)) {
      if (kinds.some(each => each === kind)) redacted = redact(redacted);
    }
    if (redacted === before) break;
  }
  return redacted;
}

/** In the order in which they are applied. */
const recognisers = { jwt: plainJwts, ipv6: plainIpv6, ipv4: plainIpv4, email: plainEmails };

const anyEscape = String.raw`(?:\\[bfnrt]|\\u[0-9a-f]{4}|%[2357][0-9a-f]|%40|%0[9ad])`;

function plainJwts(text: string): string {
  return text.replace(/eyJ[\w-]*\.(?:eyJ[\w-]*(?:\.[\w-]*){0,3}|[\w-]+(?:\.[\w-]*){1,3})/g, 'REDACTED');
}

const octet = String.raw`(?:25[0-5]|2[0-4]\d|[01]?\d?\d)`;

function plainIpv4(text: string): string {
  const candidate = new RegExp(
    String.raw`(?:(?<![a-z\d]|\d\.)|(?<=${anyEscape}))(?:${octet}\.){3}${octet}(?!\.?\d)`,
    'gi',
  );
  return text.replace(candidate, (address, at: number) => {
    const after = text.slice(at + address.length);
    const release =
      /^-(?:alpha|beta|rc|dev(?:el(?:opment)?)?|pre(?:release|view)?|snapshot|canary|nightly|final|release|stable|build)(?![a-z])/i;
    const [, product] = /(?:^|[^\w./@-])([a-z][\w+-]*)\/$/i.exec(text.slice(0, at)) ?? [];
    const named =
      /^(?:ip|ipv4|addr|address|host|client|peer|src|dst|source|destination|remote|from|to|via|localhost)$/i;
    const isProduct = product !== undefined && !named.test(product) && !/^:\d/.test(after);
    return /^[a-z]/i.test(after) || release.test(after) || isProduct ? address : 'REDACTED';
  });
}

function plainIpv6(text: string): string {
  let out = '';
  for (let at = 0; at < text.length; ) {
    const end = canStartIpv6(text, at) ? longestIpv6(text, at) : undefined;
    out += end === undefined ? text[at] : 'REDACTED';
    at = end ?? at + 1;
  }
  return out;
}

function canStartIpv6(text: string, at: number): boolean {
  const before = text.slice(0, at);
  const after = text.slice(at);
  if (/^(?::|%3A)/i.test(after)) {
    // Exactly two colons, though there may be more before.
    return /^(?::|%3A){2}(?!:|%3A)/i.test(after) && (!/[0-9a-z]$/i.test(before) || endsWithEscape(before));
  }
  if (/^[^0-9a-f]/i.test(after) || /\d\.\d+\.\d+\.$/.test(before.slice(-12))) return false;
  // The digits of an escape, and of a colon that is one.
  if (/%$/.test(before) && /^(?:[2357][0-9a-f]|40|0[9ad])/i.test(after)) return false;
  if (/\\$/.test(before) && /^[bf]/.test(after)) return false;
  return !/[0-9a-z]$/i.test(before) || endsWithEscape(before);
}

function endsWithEscape(before: string): boolean {
  return new RegExp(`${anyEscape}$`, 'i').test(before);
}

function longestIpv6(text: string, start: number): number | undefined {
  for (let end = Math.min(text.length, start + 100); end > start; end--) {
    const [quad] = /(?<![:.])\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.exec(text.slice(start, end)) ?? [];
    const spelled = text.slice(start, end - (quad?.length ?? 0));
    const isOver = !/^[0-9a-z]/i.test(text.slice(end));
    const isPart =
      !quad &&
      /^\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![0-9a-z])/i.test(text.slice(end)) &&
      !/(?::|%3A)$/i.test(spelled);
    if (!isOver || isPart || !isIpv6(spelled.replace(/%3A/gi, ':'), quad !== undefined)) continue;
    const [zone = ''] = /^f[ef]/i.test(spelled)
      ? (/^%[0-9a-z_.-]*[0-9a-z]/i.exec(text.slice(end)) ?? [])
      : [];
    return end + zone.length;
  }
  return undefined;
}

function isIpv6(spelled: string, hasQuad: boolean): boolean {
  if (!/^[0-9a-f:]+$/i.test(spelled) || /:::|^:[^:]|[^:]:$/.test(spelled)) return false;
  const groups = spelled.split(':').filter(Boolean);
  if (groups.some(({ length }, at) => length > (at === 8 ? 5 : 4))) return false;
  if (hasQuad && !/(?:^|:)\d{1,3}$/.test(spelled)) return false;
  const doubles = spelled.split('::').length - 1;
  const count = groups.length + Number(hasQuad);
  if (doubles > 1) return false;
  if (doubles === 1) {
    const isScope = !/\d|^::|.:.*::$|:.*:.*:/.test(spelled) && !groups.every(({ length }) => length === 4);
    return groups.length > 0 && count <= 7 && !isScope;
  }
  if (groups.every(({ length }) => length === 2)) return false;
  return groups.length === 9 ? /^\d+$/.test(groups[8]!) : count === 8;
}

function plainEmails(text: string): string {
  const sign = '(?:@|%40)';
  const label = String.raw`[\p{L}\p{N}-]`;
  const picture = String.raw`(?![1-9]x\.(?:png|jpe?g|gif|webp|svg|avif)(?!${label}|\.${label}))`;
  const last = String.raw`(?:\p{L}[\p{L}-]*\p{L}|xn--${label}+)(?!${label})`;
  const domain = `${picture}${label}+(?:\\.${label}+)*\\.${last}`;
  const address = new RegExp(String.raw`[\p{L}\p{N}_][\p{L}\p{N}._%+'-]*?(?:${sign}${domain})+`, 'giu');
  return text.replace(address, 'REDACTED');
}
