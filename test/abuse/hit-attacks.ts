import type { Attack } from './attack.ts';
import { at, bulk } from './attack-texts.ts';
import { tokenLines } from './target.ts';

/** Requests whose bytes are known, which are answered before they are parsed (decision 106): split, joined, unread, and many. */
export function hitAttacks(token: string): readonly Attack[] {
  const get = (path: string, lines = '') => `GET ${path} HTTP/1.1\r\n${tokenLines(token)}${lines}\r\n`;
  const hit = get(`${usage}?interval=daily&project=x`);
  return [
    { name: 'known bytes cut anywhere', senders: 64, seconds: 8, send: (to, n) => to.socket(hit + hit.slice(0, n % hit.length), { drip: hit.slice(n % hit.length) + hit + hit.slice(0, n % hit.length), everyMs: 20, holdMs: 1500 }) },
    { name: 'known bytes and a slow head behind them', senders: 500, seconds: 18, send: to => to.socket(hit, { drip: 'G', everyMs: 1000, holdMs: 60_000 }) },
    { name: 'known bytes that nobody reads', senders: 100, seconds: 12, send: to => to.socket(get(large), { drip: get(large), everyMs: 30, reads: false, holdMs: 60_000 }) },
    { name: 'known bytes as fast as they go', senders: 64, seconds: 8, send: to => to.send(`${usage}?interval=daily&project=x`) },
    { name: 'known bytes of a MB as fast as they go', senders: 32, seconds: 8, send: to => to.send(large) },
    { name: 'known bytes by the thousand', senders: 64, seconds: 10, send: (to, n) => to.send(`${usage}?interval=daily&project=x&n=${n % 20_000}${'y'.repeat(8000)}`) },
    { name: 'known bytes with a body behind them', senders: 32, seconds: 6, send: (to, n) => to.socket(hit + get(`${usage}?interval=daily&project=x`, at(['Content-Length: 7\r\n', 'Transfer-Encoding: chunked\r\n', 'Expect: 100-continue\r\nContent-Length: 7\r\n', 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n'], n)), { drip: hit, everyMs: 30, holdMs: 600 }) },
  ]; // biome-ignore format: a table
}

const usage = '/api/endpoints/query/usage.api-counts';

/** Almost a MB. */
const large = `${usage}?interval=daily&sql=${encodeURIComponent(bulk(900, 0))}&project=x`;
