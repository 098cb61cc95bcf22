import { trimSpaces } from './casts/trim-spaces.ts';
import type { EngineFunctions } from './engine-function.ts';

/** Functions of addresses: bytes in the network's order, four of IPv4, sixteen of IPv6. */
export const netValues: EngineFunctions = {
  'bq_net_host(STRING) STRING': host,
  'bq_net_ip_from_string(STRING) BYTES': (text: string) => {
    const address = parseAddress(text);
    if (!address) throw new Error(`NET.IP_FROM_STRING() encountered an unparseable IP-address: ${text}`);
    return address;
  },
  'bq_net_safe_ip_from_string(STRING) BYTES': (text: string) => parseAddress(text) ?? null,
  'bq_net_ip_to_string(BYTES) STRING': (address: Uint8Array) => {
    if (address.length === 4) return address.join('.');
    if (address.length === 16) return longText(address);
    throw new Error(
      `NET.IP_TO_STRING() encountered an invalid IP address. Expected 4 (for IPv4) or 16 (for IPv6) bytes but got ${address.length}`,
    );
  },
  'bq_net_ip_net_mask(INT64, INT64) BYTES': (length: bigint, prefix: bigint) => {
    if (length !== 4n && length !== 16n)
      throw new Error(
        `The first argument of NET.IP_NET_MASK() must be either 4 (for IPv4) or 16 (for IPv6); got ${length}`,
      );
    if (prefix < 0n || prefix > length * 8n)
      throw new Error(
        `The second argument of NET.IP_NET_MASK() must be between 0 and the first argument * 8; got ${prefix}`,
      );
    return mask(Number(length), Number(prefix));
  },
  'bq_net_ip_trunc(BYTES, INT64) BYTES': (address: Uint8Array, prefix: bigint) => {
    if (address.length !== 4 && address.length !== 16)
      throw new Error(
        `The first argument of NET.IP_TRUNC() must have length 4 (for IPv4) or 16 (for IPv6); got ${address.length}`,
      );
    if (prefix < 0n || prefix > BigInt(address.length) * 8n)
      throw new Error(
        `The second argument of NET.IP_TRUNC() must be between 0 and 8 * LENGTH(first argument); got ${prefix}`,
      );
    const kept = mask(address.length, Number(prefix));
    return address.map((byte, i) => byte & kept[i]!);
  },
  'bq_net_ipv4_from_int64(INT64) BYTES': (number: bigint) => {
    if (number < -0x8000_0000n || number > 0xffff_ffffn)
      throw new Error(
        `NET.IPV4_FROM_INT64() encountered an invalid integer IP. Expected range: [-0x80000000, 0xFFFFFFFF]; got ${number}`,
      );
    const bits = Number(BigInt.asUintN(32, number));
    return Uint8Array.of(bits >>> 24, bits >>> 16, bits >>> 8, bits);
  },
  'bq_net_ipv4_to_int64(BYTES) INT64': (address: Uint8Array) => {
    if (address.length !== 4)
      throw new Error(
        `NET.IPV4_TO_INT64() encountered a non-IPv4 address. Expected 4 bytes but got ${address.length}`,
      );
    return BigInt(`0x${Buffer.from(address).toString('hex')}`);
  },
};

function mask(length: number, prefix: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => 0xff00 >> Math.min(8, Math.max(0, prefix - i * 8)));
}

function parseAddress(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseLong(text) : parseShort(text);
}

function parseShort(text: string): Uint8Array | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every(part => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return undefined;
  return Uint8Array.from(parts, Number);
}

/** Groups of sixteen bits; `::` stands for as many zeros as are missing, and the last 32 bits may be an IPv4 address. */
function parseLong(text: string): Uint8Array | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const groups = halves.map(half => groupsOf(half, half === halves.at(-1)));
  const [before, after] = groups;
  if (!before || (halves.length === 2 && !after)) return undefined;
  const count = before.length + (after?.length ?? 0);
  if (after ? count > 7 : count !== 8) return undefined;
  const all = [...before, ...Array<number>(8 - count).fill(0), ...(after ?? [])];
  return Uint8Array.from(all.flatMap(group => [group >> 8, group & 255]));
}

function groupsOf(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const isMixed = isLast && parts.at(-1)!.includes('.');
  const short = isMixed ? parseShort(parts.pop()!) : undefined;
  if (isMixed && !short) return undefined;
  if (!parts.every(part => /^[\da-f]{1,4}$/i.test(part))) return undefined;
  const groups = parts.map(part => Number.parseInt(part, 16));
  if (short) groups.push(short[0]! * 256 + short[1]!, short[2]! * 256 + short[3]!);
  return groups;
}

/** As C's `inet_ntop`: the first longest run of zeros is left out. */
function longText(address: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => address[i * 2]! * 256 + address[i * 2 + 1]!);
  let [start, length] = [-1, 1];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (groups[to] === 0) to++;
    if (to - from > length || (start < 0 && to - from > 1)) [start, length] = [from, to - from];
  }
  const isShort = start === 0 && (length === 6 || (length === 5 && groups[5] === 0xffff));
  const texts = groups.map(group => group.toString(16));
  if (isShort) texts.splice(6, 2, address.slice(12).join('.'));
  if (start < 0) return texts.join(':');
  return `${texts.slice(0, start).join(':')}::${texts.slice(start + length).join(':')}`;
}

/** The host in a URL, or in what looks like one; schemes without `//` are none. */
function host(url: string): string | null {
  let text = trimSpaces(url);
  let hasScheme = false;
  if (/^[/\\]{2}/.test(text)) {
    text = text.slice(2);
    hasScheme = true;
  }
  const scheme = hasScheme ? null : /^[^/\\?#:]*:[/\\]{2}(?=[\s\S]|$)/.exec(text);
  if (scheme) text = text.slice(scheme[0].length);
  text = /^[^/\\?#]*/.exec(text)![0];
  text = text.slice(text.lastIndexOf('@') + 1);
  const [bracketed = ''] = /^\[[^[\]]*[[\]]?/.exec(text) ?? [];
  const colon = text.indexOf(':', bracketed.length);
  if (colon >= 0) text = text.slice(0, colon);
  return text.replace(/^\.+/, '').replace(/(?<!\.)\.+$/, '.') || null;
}
