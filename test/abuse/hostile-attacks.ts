import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Attack } from './attack.ts';
import { at, bombs, bulk, list } from './attack-texts.ts';
import type { Target } from './target.ts';
import { tokenLines } from './target.ts';

/** What fills the memory of something that is kept: by its count alone it would be bounded, by its size it is not. */
export const keptAttacks: readonly Attack[] = [
  { name: 'a hundred hits in ever other words', needsRedis: true, senders: 16, seconds: 20, send: (to, n) => to.graphql({ query: `{ ${list(100, i => `f${i}: usageApiCounts(interval: DAILY, project: "kept${i}") { timestamp }`, ' ')} } # ${n}` }) },
  { name: 'hits in ever other headers', senders: 16, seconds: 12, send: (to, n) => to.send(`${usage}?interval=daily&project=x`, { headers: { 'lf-endpoint-labels': `a=${n}${'x'.repeat(60_000)}` } }) },
  { name: 'entries of many columns', needsRedis: true, senders: 8, seconds: 15, send: (to, n) => to.rest({ interval: 'daily', sql: `select ${list(900, i => `${n} as c${n}x${i}`)}` }, { of: 'usage.api-counts' }) },
  { name: 'long SQL that would be kept warm', senders: 16, seconds: 20, send: (to, n) => to.rest({ interval: 'daily', sql: `select ${n} as n, length('${'x'.repeat(60_000)}') as m` }, { of: 'usage.api-counts' }) },
  { name: 'large entries in every form', senders: 16, seconds: 25, send: (to, n) => to.rest({ interval: 'daily', sql: `select ${list(9, i => `to_base64(sha512(concat('${n % 40} ${i}', cast(x as string)))) as m${i}`)} from unnest(generate_array(1, 1000)) as x`, ...(n % 3 === 2 ? { format: 'csv' } : {}) }, { of: 'usage.api-counts', headers: { 'accept-encoding': at(['br', 'gzip', 'zstd'], Math.floor(n / 40)), ...(n % 2 ? { 'lf-endpoint-redact-pii': 'true' } : {}) } }) },
  { name: 'documents that are named by their hash', senders: 16, send: (to, n) => hashed(to, `{ __typename ${list(500, i => `a${n}x${i}: __typename`, ' ')} }`) },
  { name: 'hashes of nothing', senders: 32, send: (to, n) => to.graphql({ extensions: { persistedQuery: { version: 1, sha256Hash: sha256(`nothing ${n}`) } } }) },
  { name: 'refused texts that are kept', senders: 16, send: (to, n) => to.sql(`select nope${n} from edge_logs -- ${'x'.repeat(50_000)}`) },
  { name: 'all that takes memory at once', needsRedis: true, senders: 24, seconds: 15, send: (to, n) => at(heavy, n)(to, n) },
]; // biome-ignore format: a table

const heavy: readonly ((to: Target, n: number) => Promise<void>)[] = [
  (to, n) => to.sql(bulk(15_000, n), { headers: { 'lf-endpoint-redact-pii': 'true', 'accept-encoding': 'br' } }),
  (to, n) => to.rest({ sql: bulk(15_000, n), format: 'parquet' }),
  (to, n) => to.rest({ sql: bulk(7000, n), format: 'csv', interval: 'daily' }, { of: 'usage.api-counts' }),
  (to, n) => to.graphql({ query: `{ logsAllSql(project: "x", sql: "select repeat(to_hex(sha256(concat('${n}', cast(x as string)))), 220) as m from unnest(generate_array(1, 1000)) as x") { rows } }` }),
  (to, n) => to.rest({ interval: 'daily', sql: bulk(7900, n) }, { of: 'usage.api-counts', headers: { 'accept-encoding': 'gzip' } }),
]; // biome-ignore format: a table

/** Texts, names and bytes that are read in two ways. */
export function strangeAttacks(token: string): readonly Attack[] {
  const head = (lines: string) =>
    `POST ${logs} HTTP/1.1\r\n${tokenLines(token)}Content-Type: application/json\r\n${lines}\r\n`;
  return [
    { name: 'requests that two servers would read in two ways', senders: 32, send: (to, n) => to.socket(`${head(at(framings, n))}0\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n`, { holdMs: 300 }) },
    { name: 'paths of 70 KB', senders: 32, send: (to, n) => to.send(at([`/api/endpoints/query/${'%F0%9F%92%A5'.repeat(5800)}`, `/api/endpoints/${'a.'.repeat(35_000)}`, '/'.repeat(70_000), `/api/endpoints/query/${'%2e%2e%2f'.repeat(7700)}`, `/api/sources/${'%00'.repeat(23_000)}/rows`, `/assets/${'../'.repeat(20_000)}`], n)) },
    { name: 'names that look alike', senders: 32, send: (to, n) => to.sql(`select ${list(300, i => `\`${at(['ѕ', 'ℕ', '﷽', 'e\u0301', '\u202e', '𝒂', 'İ', 'ß'], i)}${n}x${i}\`.id`)} from edge_logs`) },
    { name: 'values that no parameter takes', senders: 32, send: (to, n) => to.rest({ project: at([{ a: { b: [] } }, Array(5000).fill('x'), '\ud800', '\0'.repeat(4000), 1e308, '-0', '\u2028'.repeat(4000), true], n), iso_timestamp_start: at(['0001-01-01', '9999-12-31T23:59:59.999999Z', '1'.repeat(4000), '2026-02-30', '+292278994-08-17', '2026-01-01T00:00:00.0000000000001Z'], n) }) },
    { name: 'patterns of every Unicode class', senders: 16, send: (to, n) => to.rest({ interval: 'daily', project: `${n}${at(['(?i)[\\pL\\pN\\pS\\pP]', '[^\\pL]', '(?i)\\p{Greek}\\p{Han}', '[[:^alpha:]\\x{100}-\\x{10FFFF}]'], n)}{9}` }, { of: 'usage.api-counts' }) },
    { name: 'errors as long as a text may be', senders: 16, send: (to, n) => to.sql(`select ${`a${n}`.padEnd(60_000, 'b@c.de ')} from edge_logs`, { headers: { 'lf-endpoint-redact-pii': 'true' } }) },
    { name: 'agents that read resources', senders: 64, send: (to, n) => to.send('/mcp', { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body: JSON.stringify({ jsonrpc: '2.0', id: n, method: at(['resources/list', 'resources/read', 'resources/templates/list', 'prompts/list', 'logging/setLevel', 'completion/complete'], n), params: { uri: `saved-query://logs.all/subsets${n % 7 ? '' : 'x'.repeat(300_000)}`, cursor: 'z'.repeat(300_000) } }) }) },
    { name: 'the catalogue in storms', senders: 64, send: (to, n) => to.send(at(['/api/endpoints', '/api/endpoints/logs.all', '/api/endpoints/none', '/admin/warm', '/admin/invalidate'], n)) },
    { name: 'connections half closed behind a request', senders: 64, send: (to, n) => to.socket(at([`GET ${usage}?interval=daily&project=x HTTP/1.1\r\n${tokenLines(token)}\r\n`, `GET ${logs}?project=x HTTP/1.1\r\n${tokenLines(token)}\r\n`, `${head('Content-Length: 100\r\n')}{"a"`, 'GET / HTTP/1.1\r\nHost'], n), { ends: 'half', holdMs: 500 }) },
    { name: 'connections that are reset at any moment', senders: 64, send: (to, n) => to.socket(`GET ${logs}?project=x&sql=select+${n}+as+n HTTP/1.1\r\n${tokenLines(token)}\r\n`.repeat(3), { ends: 'reset', holdMs: n % 60 }) },
    { name: 'targets that are no paths', senders: 32, send: (to, n) => to.socket(`${at(oddTargets, n)} HTTP/1.1\r\n${tokenLines(token)}Connection: close\r\n\r\n`, { holdMs: 300 }) },
    { name: 'headers that expressions read', senders: 32, send: (to, n) => to.send(`${usage}?interval=daily&project=x`, { headers: at(oddHeaders, n) }) },
    { name: 'bodies in other character sets', senders: 32, send: (to, n) => to.send(logs, { method: 'POST', headers: { 'content-type': at(['application/json; charset=utf-16', `application/${'+'.repeat(9000)}json`, 'application/json'], n) }, body: at([Buffer.from('{"project":"x"}', 'utf16le'), Buffer.from('{"project":"\xff\xfe\xed\xa0\x80"}', 'latin1'), '\ufeff{"project":"x"}', '\u00a0'.repeat(500_000)], n) }) },
    { name: 'keys that look like numbers', senders: 16, send: (to, n) => to.send(logs, { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{${list(60_000, i => `"${i * at([2 ** 16, 2 ** 20, 2 ** 24, 61_356], n)}":1`, ',')},"project":"x"}` }) },
    { name: 'objects of ever other shapes', senders: 16, send: (to, n) => to.send(logs, { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"project":[${list(45_000, i => `{"k${n}x${i}":1}`, ',')}]}` }) },
    { name: 'members that every object has', senders: 32, send: (to, n) => to.send(at([logs, '/graphql', '/mcp'], n), { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }, body: '{"__proto__":{"sql":"select 1"},"constructor":{"prototype":{"x":1}},"project":"x","toString":1,"then":{},"query":"{ __typename }","variables":{"__proto__":{"p":1}},"operationName":"__proto__"}' }) },
    { name: 'values of parameters that are no texts', senders: 16, send: (to, n) => to.send(logs, { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"project":${at(['9'.repeat(900_000), `1e${'9'.repeat(900_000)}`, `0.${'0'.repeat(900_000)}1`, `"x","format":${'['.repeat(50_000)}${']'.repeat(50_000)}`, `"x","sql":{"a":"${'1:'.repeat(450_000)}"}`, `"x"${',"project":"x"'.repeat(60_000)}`], n)}}` }) },
    { name: 'zones in every case of letters', senders: 16, send: (to, n) => to.rest({ iso_timestamp_start: `2026-01-01 00:00:00 ${list(16, i => 'america/new_york'.charAt(i)[(n >> (i % 12)) & 1 ? 'toUpperCase' : 'toLowerCase'](), '')}` }) },
    { name: 'the same requests as others, left at any moment', senders: 64, seconds: 8, send: (to, n) => to.send(at([`${logs}?project=${to.project}`, `${usage}?interval=hourly&project=${to.project}`, `${usage}?interval=minutely&project=left${n >> 2}`], n >> 1), { leaveMs: n % 40 }) },
    { name: 'tokens of 100 KB', senders: 32, send: (to, n) => to.send(`${logs}?project=x`, { headers: { authorization: `Bearer ${at(['sqg_', 'eyJhbGciOiJSUzI1NiJ9.', 'ey', ''], n)}${'a.'.repeat(45_000)}${n}` } }) },
  ]; // biome-ignore format: a table
}

const oddTargets = [
  'GET http://[', 'OPTIONS *', 'GET *', 'GET //evil/', 'GET http:x', 'GET /%00', 'GET /api/endpoints/query/%ff', 'GET /?%ff=%ff', 'GET http:///livez',
  'GET https://a@b:99999/livez', 'GET ?x', 'GET /livez#x', 'M-SEARCH *', 'QUERY /graphql', 'GET /api/sources/%2e%2e/rows', 'GET /api/endpoints/__proto__',
  'GET /api/endpoints/query/constructor', 'GET /assets/..%2f..%2fpackage.json', 'GET /graphql?query=%00&variables=[1]&operationName=__proto__',
]; // biome-ignore format: a list

/** Long headers, of which the end does not fit what we look for. */
const oddHeaders: readonly Record<string, string>[] = [
  { 'cache-control': `,${' '.repeat(60_000)}no-cach` },
  { 'cache-control': ',\t\t\t\t\t\t\t'.repeat(8000) },
  { authorization: `Bearer${' '.repeat(60_000)}x` },
  { 'lf-endpoint-labels': ','.repeat(100_000) },
  { 'if-none-match': 'W/'.repeat(50_000) },
  { accept: 'a/b;'.repeat(30_000) },
  { expect: 'x'.repeat(60_000) },
  { 'x-request-id': `${'a'.repeat(100_000)}!` },
  { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01${'-x'.repeat(40_000)}` },
];

/** Framings of a body that HTTP forbids, or that are read differently in places. */
const framings = [
  'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
  'Transfer-Encoding: xchunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Content-Length: 5\r\nContent-Length: 6\r\n',
  'Content-Length: +5\r\n',
  'Content-Length: 5, 5\r\n',
  'X: y\r\n Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n',
];

/** Bodies that are small on the wire, for whoever may write. */
export const packedAttacks: readonly Attack[] = ([
  { name: 'events: zstd with the largest window', senders: 32, seconds: 10, prepare: () => [bombs.window(), bombs.zstd()], send: (to, n) => events(to, at([bombs.window(), bombs.zstd()], n), 'zstd') },
  { name: 'events: gzip of a hundred thousand members', senders: 16, seconds: 10, send: to => events(to, members, 'gzip') },
  { name: 'events: bombs of deflate, and what is none', senders: 16, seconds: 8, prepare: bombs.deflate, send: (to, n) => events(to, at([bombs.deflate(), Buffer.from('no'), bombs.deflate().subarray(0, 100)], n), at(['deflate', 'x-gzip', 'zstd'], n)) },
  { name: 'events: fields with names like SQL', senders: 8, seconds: 8, send: (to, n) => events(to, JSON.stringify([{ event_message: 'x', metadata: Object.fromEntries(list(50, i => `"a${n}x${i}"; drop table x; --\u0000'\``, '|').split('|').map(name => [name, { __proto__: 1, constructor: [[], [[]]], '': { '': 1 } }])) }])) },
] satisfies Attack[]).map(attack => ({ ...attack, scope: 'write' as const })); // biome-ignore format: a table

const member = gzipSync('');
const members = Buffer.concat(Array(100_000).fill(member));

const logs = '/api/endpoints/query/logs.all';
const usage = '/api/endpoints/query/usage.api-counts';

function events(to: Target, body: string | Buffer, coding?: string): Promise<void> {
  const headers = { 'content-type': 'application/json', ...(coding && { 'content-encoding': coding }) };
  return to.send('/api/logs?source_name=postgres.logs', { method: 'POST', headers, body });
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function hashed(to: Target, query: string): Promise<void> {
  return to.graphql({ query, extensions: { persistedQuery: { version: 1, sha256Hash: sha256(query) } } });
}
