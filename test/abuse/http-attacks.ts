import type { Attack } from './attack.ts';
import { at, bulk, endless, list } from './attack-texts.ts';
import type { Target } from './target.ts';
import { tokenLines } from './target.ts';

/** Made with the attacker's token, which raw bytes need. */
export function httpAttacks(token: string): readonly Attack[] {
  const head = (target: string, lines = '') => `GET ${target} HTTP/1.1\r\n${tokenLines(token)}${lines}\r\n`;
  const post = (lines: string) =>
    `POST ${logs} HTTP/1.1\r\n${tokenLines(token)}Content-Type: application/json\r\n${lines}\r\n`;
  return [
    { name: 'twenty connections that stop reading', senders: 20, seconds: 12, send: (to, n) => to.socket(head(`${logs}?project=x&sql=${encodeURIComponent(bulk(60_000, n % 4))}`), { reads: false, holdMs: 60_000 }) },
    { name: 'two hundred that stop reading a hit', senders: 200, seconds: 10, send: to => to.socket(head(`${usage}?interval=daily&project=x&sql=${encodeURIComponent(bulk(7000, 0))}`).repeat(3), { reads: false, holdMs: 60_000 }) },
    { name: 'pipelines that stop reading', senders: 50, seconds: 8, send: to => to.socket(head('/openapi.json').repeat(2000), { reads: false, holdMs: 60_000 }) },
    { name: 'five hundred slow heads', senders: 500, seconds: 18, send: to => to.socket('GET / HTTP/1.1\r\n', { drip: 'X-A: b\r\n', everyMs: 1000, holdMs: 60_000 }) },
    { name: 'five hundred slow bodies', senders: 500, seconds: 18, send: to => to.socket(post('Content-Length: 1000000\r\n'), { drip: ' ', everyMs: 1000, holdMs: 60_000 }) },
    { name: 'slow bodies on all connections', senders: 2100, seconds: 12, send: to => to.socket(post('Content-Length: 1000000\r\n'), { drip: ' ', everyMs: 1000, holdMs: 60_000 }) },
    { name: 'bodies of a MB without their end', senders: 1200, seconds: 12, send: to => to.socket(post('Content-Length: 1000000\r\n') + ' '.repeat(990_000), { drip: ' ', everyMs: 1000, holdMs: 60_000 }) },
    { name: 'three hundred bodies of a MB at once', senders: 300, seconds: 8, send: (to, n) => to.send(logs, { method: 'POST', headers: json, body: `{"project":"x${n}"${' '.repeat(990_000)}}` }) },
    { name: 'one query that all connections wait for', senders: 2100, seconds: 12, send: to => to.rest({ interval: 'daily', sql: endless(0) }, { of: 'usage.api-counts' }) },
    { name: 'bodies of one byte a chunk', senders: 32, send: to => to.socket(post('Transfer-Encoding: chunked\r\n') + '1\r\n \r\n'.repeat(150_000), { drip: '1\r\n \r\n'.repeat(5000), everyMs: 20, holdMs: 5000 }) },
    { name: 'chunks with extensions, trailers', senders: 16, send: to => to.socket(`${post('Transfer-Encoding: chunked\r\nTrailer: X-A\r\n')}2;${'a=b;'.repeat(3000)}\r\n{}\r\n0\r\n${'X-A: b\r\n'.repeat(3000)}\r\n`) },
    { name: 'a MB that waits for 100 Continue', senders: 100, send: to => to.socket(post('Content-Length: 1000000\r\nExpect: 100-continue\r\n'), { holdMs: 4000 }) },
    { name: 'malformed pipelines', senders: 32, send: to => to.socket(`${head('/health')}${head(`${logs}?project=x`)}GET \0 HTTP/9.9\r\n\r\n`, { holdMs: 500 }) },
    { name: 'pipelines of a thousand', senders: 8, send: to => to.socket(head(`${usage}?interval=daily&project=x`).repeat(1000), { holdMs: 2000 }) },
    { name: 'garbage, TLS and HTTP/2', senders: 32, send: (to, n) => to.socket(['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\0'.repeat(4096), '\r\n'.repeat(2000), 'GET'][n % 5]!, { holdMs: 200 }) },
    { name: 'heads of 100 KB', senders: 16, send: to => to.send('/health', { headers: Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x-${i}`, 'y'.repeat(100)])) }) },
    { name: 'heads over the limit', senders: 32, send: to => to.socket(head('/health', `X-A: ${'a'.repeat(400_000)}\r\n`)) },
    { name: 'two thousand headers', senders: 16, send: to => to.socket(head('/health', 'a:b\r\n'.repeat(9000))) },
    { name: 'guesses of tokens', senders: 32, send: (to, n) => to.send(`${logs}?project=x`, { headers: { authorization: `Bearer ${n}${'t'.repeat(n % 5000)}` } }) },
    { name: 'upgrades to WebSocket', senders: 32, send: to => to.socket(head('/graphql', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n'), { holdMs: 1000 }) },
    { name: 'HTTP/1.0 and CONNECT', senders: 32, send: (to, n) => to.socket([`GET ${logs}?project=x HTTP/1.0\r\nX-API-KEY: ${token}\r\n\r\n`, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'][n % 2]!, { holdMs: 500 }) },
    { name: 'HEAD, OPTIONS and other methods', senders: 16, send: (to, n) => to.send(`${logs}?project=${to.project}`, { method: at(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'PATCH', 'PURGE'], n), headers: { origin: 'https://a.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'a,'.repeat(1000) } }) },
    { name: 'tags by the thousand in If-None-Match', senders: 16, send: to => to.send(`${usage}?interval=daily&project=x`, { headers: { 'if-none-match': '"a", W/"b", '.repeat(7000) } }) },
    { name: 'encodings by the thousand in Accept-Encoding', senders: 16, send: (to, n) => to.send(`${usage}?interval=daily&project=x`, { headers: { 'accept-encoding': at(['gzip;q=0.001, ', 'identity;q=0, *;q=0, ', 'br;q=1;q=1;;, ', ', '], n).repeat(4000), accept: at(['text/html;q=0.1, ', '*/*;a="\\"', 'application/json;q=0, '], n).repeat(2000) } }) },
    { name: 'ranges', senders: 8, send: to => to.send('/openapi.json', { headers: { range: `bytes=${'0-1,'.repeat(9000)}` } }) },
    { name: 'a query string of 70 KB', senders: 16, send: (to, n) => to.send(`${logs}?${at(['a=b&', '%61%62=%63&', '__proto__=x&', '&', '=', 'sql=+'], n).repeat(14_000).slice(0, 70_000).replace(/%.?$/, '')}&project=x`) },
    { name: 'four hundred URLs of 64 KB of SQL', senders: 400, seconds: 8, send: (to, n) => to.send(`${logs}?project=x&sql=select+${n}+${'a,'.repeat(32_000)}b`) },
    { name: 'headers of 120 KB that an error is about', senders: 300, seconds: 8, send: (to, n) => to.send('/mcp', { method: 'POST', headers: { 'x-api-key': 'none', 'content-encoding': at(['1:', 'a@b.c', '::1.', 'Bearer a='], n).repeat(13_000) }, body: '{}' }) },
    { name: 'readers who stop on all connections', senders: 2100, seconds: 12, send: to => to.socket(`GET /openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n`.repeat(32), { reads: false, holdMs: 60_000 }) },
    { name: 'bodies of a deep JSON', send: (to, n) => to.send(logs, { method: 'POST', headers: json, body: at(['['.repeat(1_000_000), '{"a":'.repeat(200_000), `{"project":"x","sql":${'['.repeat(400_000)}${']'.repeat(400_000)}}`, `{${'"a":1,'.repeat(140_000)}"project":"x"}`, `"${'\\u0000'.repeat(160_000)}"`], n) }) },
    { name: 'bodies over the limit', senders: 16, send: to => to.send(logs, { method: 'POST', headers: json, body: Buffer.alloc(3_000_000, ' ') }) },
    { name: 'explain in storms', senders: 32, scope: 'explain', send: (to, n) => to.send(`${logs}?explain=true&project=x&sql=${encodeURIComponent(`select ${n} as x, ${at([list(600, i => `id as c${i}`), `${'id, '.repeat(3000)}1 as y`], n)} from edge_logs`)}`) },
    { name: 'connections opened and closed', senders: 64, send: to => to.socket('', { holdMs: 5 }) },
    { name: 'fifteen hundred idle connections', senders: 1500, seconds: 10, send: to => to.socket(head('/health'), { holdMs: 60_000 }) },
    { name: 'a made-up token on each connection', senders: 3000, seconds: 12, send: (to, n) => to.socket(`GET /api/endpoints HTTP/1.1\r\nHost: gateway\r\nX-API-KEY: made-up-${n}\r\n\r\n`, { holdMs: 60_000 }) },
    { name: 'five thousand connections', senders: 5000, seconds: 12, send: (to, n) => to.socket(n % 2 ? head('/health') : 'GET', { holdMs: 60_000 }) },
  ]; // biome-ignore format: a table
}

/** What fills the cache, with a Redis and without. */
export const cacheAttacks: readonly Attack[] = [
  { name: 'keys by the thousand', senders: 32, seconds: 10, send: counts },
  { name: 'keys by the thousand, with Redis', needsRedis: true, senders: 32, seconds: 10, send: counts },
  { name: 'entries of 40 MB', senders: 16, seconds: 12, send: (to, n) => entry(to, 40_000, n) },
  { name: 'entries of 40 MB, with Redis', needsRedis: true, senders: 16, seconds: 15, send: (to, n) => entry(to, 40_000, n) },
  { name: 'entries just under the limit, with Redis', needsRedis: true, senders: 16, seconds: 15, send: (to, n) => entry(to, 8000, n) },
  { name: 'one large entry for many, with Redis', needsRedis: true, senders: 32, seconds: 10, send: (to, n) => entry(to, 7900, 0, { 'accept-encoding': at(['br', 'gzip', 'zstd', 'identity'], n) }) },
  { name: 'one large entry redacted for many', senders: 32, seconds: 10, send: (to, n) => entry(to, 7900, 0, { 'lf-endpoint-redact-pii': 'true', 'accept-encoding': at(['br', 'gzip', 'zstd', 'identity'], n) }) },
  { name: 'forty large entries redacted for many, with Redis', needsRedis: true, senders: 64, seconds: 15, send: (to, n) => entry(to, 7900, n % 40, { 'lf-endpoint-redact-pii': 'true' }) },
  { name: 'forty large entries as CSV for many, with Redis', needsRedis: true, senders: 64, seconds: 15, send: (to, n) => to.rest({ interval: 'daily', sql: bulk(7900, n % 40), format: 'csv' }, { of: 'usage.api-counts' }) },
  { name: 'forty large entries by GraphQL for many', senders: 64, seconds: 15, send: (to, n) => to.graphql({ query: `{ usageApiCountsSql(interval: DAILY, project: "x", sql: ${JSON.stringify(bulk(900, n % 40))}) { rows } }` }) },
  { name: 'patterns of 1,000 branches', senders: 16, seconds: 8, send: (to, n) => to.rest({ interval: 'daily', project: `(${'a|'.repeat(480)}${n})` }, { of: 'usage.api-counts' }) },
]; // biome-ignore format: a table

const logs = '/api/endpoints/query/logs.all';
const usage = '/api/endpoints/query/usage.api-counts';
const json = { 'content-type': 'application/json' };

function counts(to: Target, n: number): Promise<void> {
  return to.rest({ interval: 'minutely', project: `key${n}` }, { of: 'usage.api-counts' });
}

/** Asks for an answer of a thousand rows that the cache may keep. */
function entry(to: Target, rowBytes: number, n: number, headers: Record<string, string> = {}): Promise<void> {
  return to.rest({ interval: 'daily', sql: bulk(rowBytes, n) }, { of: 'usage.api-counts', headers });
}
