import type { Attack } from './attack.ts';
import { at, bombs, bulk, endless, list } from './attack-texts.ts';
import type { Target } from './target.ts';

/** What other handlers than those of rows get: agents' messages, exports, checks, pages, metrics. */
export const handlerAttacks: readonly Attack[] = [
  { name: 'agents that list tools', senders: 64, send: to => mcp(to, 'tools/list', {}) },
  { name: 'agents with 60,000 arguments', send: to => mcp(to, 'tools/call', { name: 'logs_all', arguments: wide }) },
  { name: 'agents with 9,000 arguments', send: to => mcp(to, 'tools/call', { name: 'logs_all', arguments: narrow }) },
  { name: 'agents with deep JSON', send: to => to.send('/mcp', { method: 'POST', headers: agent, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"a":${deep}}}}` }) },
  { name: 'agents with batches', send: to => to.send('/mcp', { method: 'POST', headers: agent, body: JSON.stringify(Array(8000).fill({ jsonrpc: '2.0', id: 1, method: 'tools/list' })) }) },
  { name: 'agents with long names and identifiers', send: (to, n) => to.send('/mcp', { method: 'POST', headers: agent, body: JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(400_000), method: n % 2 ? 'x'.repeat(400_000) : 'tools/call', params: { name: 'y'.repeat(400_000) } }) }) },
  { name: 'agents whose tools never end', senders: 32, seconds: 8, send: (to, n) => mcp(to, 'tools/call', { name: 'logs_all_sql', arguments: { project: to.project, sql: endless(n) } }) },
  { name: 'agents with results of 15 MB', senders: 16, seconds: 10, send: (to, n) => mcp(to, 'tools/call', { name: 'logs_all_sql', arguments: { project: 'x', sql: bulk(15_000, n) } }) },
  { name: 'agents with ids, methods and versions of every kind', senders: 32, send: (to, n) => to.send('/mcp', { method: 'POST', headers: { ...agent, ...(n % 3 === 0 && { 'mcp-protocol-version': 'x'.repeat(n % 5000) }) }, body: at(oddMessages, n) }) },
  { name: 'agents that open streams and sessions', senders: 64, send: (to, n) => to.send('/mcp', { method: at(['GET', 'DELETE', 'OPTIONS'], n), headers: { ...agent, accept: 'text/event-stream', 'mcp-session-id': `s${n}`, 'last-event-id': `${n}` } }) },
  ...(['csv', 'ndjson', 'parquet', 'arrow'] as const).flatMap((format): Attack[] => [
    { name: `16 MB of small integers as ${format}`, seconds: 12, send: (to, n) => exported(to, format, `select array_concat(generate_array(1, 7), generate_array(1, ${3000 + (n % 50)})) as a from unnest(generate_array(1, 1000))`) },
    { name: `900 columns as ${format}`, senders: 16, send: (to, n) => exported(to, format, `select ${list(900, i => `${n} as c${i}`)}`) },
  ]),
  { name: '16 MB of empty texts as csv', seconds: 12, send: (to, n) => exported(to, 'csv', `select split(repeat(',', ${5200 + (n % 50)}), ',') as a from unnest(generate_array(1, 1000))`) },
  { name: 'exports left at once', senders: 16, seconds: 8, send: (to, n) => to.rest({ sql: bulk(12_000, n), format: 'parquet' }, { leaveMs: 200 + ((n * 37) % 900) }) },
  { name: 'checks of long SQL', senders: 64, send: (to, n) => to.send('/api/endpoints/logs.all/check', { method: 'POST', headers: json, body: JSON.stringify({ sql: `select ${n}, ${'id, '.repeat(8000)} 1 from edge_logs` }) }) },
  { name: 'questions with long SQL', senders: 64, send: (to, n) => to.sql(`select ${n} as n, ${list(900, i => `id as c${i}`)} from edge_logs limit 1`) },
  { name: 'pages and documents', senders: 64, send: (to, n) => to.send(at(['/docs', '/openapi.json', '/llms.txt', '/', '/api/dialect', '/graphql', '/api/endpoints', '/assets/none.js'], n), { headers: { accept: 'text/html', 'accept-encoding': at(['br', 'gzip', 'zstd', 'identity'], n) } }) },
  { name: 'metrics', senders: 200, send: to => to.send('/metrics') },
  { name: 'variables of 60,000 members', send: to => to.graphql({ query: 'query ($p: String!) { usageApiCounts(interval: HOURLY, project: $p) { timestamp } }', variables: { p: wide } }) },
  { name: 'variables of 9,000 members', senders: 16, send: to => to.graphql({ query: 'query ($p: String!) { usageApiCounts(interval: HOURLY, project: $p) { timestamp } }', variables: { p: narrow } }) },
]; // biome-ignore format: a table

/** What whoever may write sends: rows, and events as log shippers send them. */
export const writeAttacks: readonly Attack[] = ([
  { name: 'rows: lines of 15 MB', senders: 8, seconds: 10, send: (to, n) => rows(to, `{"event_message":"${'x'.repeat(15_000_000)}","n":${n}}\n`) },
  { name: 'rows: lines without an end', senders: 8, seconds: 8, send: to => rows(to, 'x'.repeat(20_000_000)) },
  { name: 'rows: numbers of 15 million digits', senders: 8, seconds: 8, send: to => rows(to, `{"timestamp":${'1'.repeat(15_000_000)}}\n`) },
  { name: 'rows: arrays of seven million', senders: 8, seconds: 10, send: to => rows(to, `{"metadata":[1${',1'.repeat(7_000_000)}]}\n`) },
  { name: 'rows: deep JSON', senders: 8, seconds: 8, send: to => rows(to, `{"n":9999999999999999,"metadata":${deep}}\n`) },
  { name: 'rows: nothing but line ends', senders: 8, seconds: 8, send: to => rows(to, '\n'.repeat(30_000_000)) },
  { name: 'rows: lines that are none', senders: 8, seconds: 8, send: to => rows(to, '{}\n'.repeat(5_000_000)) },
  { name: 'rows: fields that nobody knows', senders: 8, seconds: 8, send: (to, n) => rows(to, list(50_000, i => `{"u${n}x${i}":1}`, '\n')) },
  { name: 'rows: more than any may bring at once', senders: 100, seconds: 8, send: to => rows(to, '{"id":"none"}\n') },
  { name: 'rows: slow senders', senders: 100, seconds: 18, send: to => to.socket(`POST ${rowsPath} HTTP/1.1\r\nHost: gateway\r\nX-API-KEY: ${to.token}\r\nContent-Length: 60000000\r\n\r\n`, { drip: '{"a":', everyMs: 1000, holdMs: 60_000 }) },
  { name: 'rows: bytes that are no text', senders: 16, seconds: 8, prepare: bombs.gzip, send: to => rows(to, bombs.gzip()) },
  { name: 'events: bombs of gzip and zstd', senders: 16, seconds: 8, prepare: () => [bombs.gzip(), bombs.zstd()], send: (to, n) => events(to, n % 2 ? bombs.gzip() : bombs.zstd(), { 'content-encoding': n % 2 ? 'gzip' : 'zstd' }) },
  { name: 'events: deep JSON', senders: 16, seconds: 8, send: to => events(to, `[{"event_message":"x","metadata":{"a":${deep}}}]`) },
  { name: 'events: a hundred thousand at once', senders: 8, seconds: 8, send: to => events(to, `[${'{},'.repeat(500_000)}7]`) },
  { name: 'events: metadata of many fields', senders: 8, seconds: 8, send: (to, n) => events(to, JSON.stringify([{ event_message: 'x', timestamp: 'never', metadata: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${n}x${i}`, i])) }])) },
  { name: 'events: a flood of good ones', senders: 16, seconds: 10, send: (to, n) => events(to, JSON.stringify(Array.from({ length: 500 }, (_, i) => ({ id: `${process.pid}x${n}x${i}`, event_message: 'hello '.repeat(20), timestamp: Date.now() * 1000, metadata: { host: 'x', n: i } })))) },
  { name: 'events: ids of 60 KB', senders: 16, seconds: 8, send: (to, n) => events(to, JSON.stringify(Array.from({ length: 10 }, (_, i) => ({ id: 'x'.repeat(60_000) + n + i, event_message: 'x', timestamp: Date.now() * 1000 })))) },
  { name: 'events: times of every day', senders: 16, seconds: 8, send: (to, n) => events(to, JSON.stringify(Array.from({ length: 400 }, (_, i) => ({ event_message: 'x', timestamp: (Date.now() - ((n * 400 + i) * 86_400_000) % 3e14) * 1000, project: `p${n}x${i}` })))) },
  { name: 'events: to sources that are not there', senders: 32, seconds: 6, send: (to, n) => to.send(`/api/logs?source_name=${'postgres.log'.repeat(100)}${n}`, { method: 'POST', headers: json, body: '[{}]' }) },
  { name: 'events: names that become one', senders: 16, seconds: 8, send: (to, n) => events(to, JSON.stringify([{ event_message: 'x', metadata: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`${'é'.repeat(1 + (i % 200))}${at(['-', '.', '+', ' '], i)}${n}`, i])) }])) },
  { name: 'events: a field of every type in turn', senders: 8, seconds: 8, send: (to, n) => events(to, JSON.stringify(Array.from({ length: 9000 }, (_, i) => ({ event_message: 'x', metadata: { [`turn${n % 3}`]: at([1, 'a', true, 1.5, { a: 1 }, [1], [[1]], null, '2026-01-01'], i) } })))) },
  { name: 'events: numbers of every length', senders: 16, seconds: 8, send: (to, n) => events(to, at([`[{"timestamp":1e400,"a":${'9'.repeat(900_000)},"b":-0,"c":1e-400}]`, `[{"timestamp":"${'1'.repeat(900_000)}"}]`, `[{"metadata":{"a":[${list(50_000, () => '12345678901234567')}]}}]`, '[{"timestamp":[[[1]]]},{"timestamp":{"a":1}}]'], n)) },
  { name: 'events: names that every object has', senders: 16, seconds: 6, send: (to, n) => events(to, `[{"__proto__":{"id":"x"},"constructor":{"prototype":{"a":1}},"toString":"x","event_message":"x${n}","metadata":{"__proto__":{"polluted":1},"toJSON":{"a":1},"rowid":1,"_p":1,"then":{"then":1}}}]`) },
  { name: 'events: bodies of every form', senders: 32, seconds: 6, send: (to, n) => events(to, at(['{"batch":[]}', '{"batch":{}}', '{"batch":[[[]]]}', 'null', '[]', '[null,1,"x",[]]', '{"batch":[{"batch":[{}]}]}', '{"event_message":null,"message":{"a":1}}', '\n\n{}\n', '{"a":1}{"b":2}', '[{}', '\0', '{"batch":"x","event_message":"y"}', `[{"metadata":{"a":${'['.repeat(60)}1${']'.repeat(60)}}}]`], n)) },
  { name: 'rows: values of no type', senders: 16, seconds: 8, send: to => rows(to, oddRows) },
  { name: 'rows: quotes and backslashes by the million', senders: 8, seconds: 8, send: (to, n) => rows(to, at([`{"id":"${'\\"'.repeat(4_000_000)}\n`, `{"id":"x","event_message":"${'\\\\'.repeat(2_000_000)}\\ud800"}\n`, `{"id":"${'NaN '.repeat(2_000_000)}","a":NaN}\n`], n)) },
  { name: 'events: one line each, thousands', senders: 200, seconds: 8, send: (to, n) => events(to, `{"event_message":"x${n}"}`) },
] satisfies Attack[]).map(attack => ({ ...attack, scope: 'write' as const })); // biome-ignore format: a table

const json = { 'content-type': 'application/json' };
const agent = { ...json, accept: 'application/json, text/event-stream' };
const rowsPath = '/api/sources/postgres.logs/rows';

const long = 'x'.repeat(900_000);
const oddMessages = [
  '{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}',
  `{"jsonrpc":"2.0","id":1${'0'.repeat(400)},"method":"tools/list"}`,
  '{"jsonrpc":"2.0","id":1,"method":"constructor","params":{"__proto__":{}}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{}}}',
  `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"${long}"}}`,
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"${long}"}}`,
  `{"jsonrpc":"2.0","id":7,"result":{"a":"${long}"}}`,
  `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"${long}","capabilities":{},"clientInfo":{"name":"x","version":"y"}}}`,
];

const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
const [wide, narrow] = [members(60_000), members(9000)];
const deep = '['.repeat(300_000) + ']'.repeat(300_000);

const oddRows = [
  '{"__proto__":1,"id":"x"}', '{"timestamp":"0000-00-00"}', '{"timestamp":1e308}', '{"timestamp":-1}', '{"metadata":"{\\"a\\":"}',
  '{"metadata":[[[[{}]]]]}', `{"id":${'1'.repeat(400)}}`, '[1]', '"x"', 'null', 'NaN', '{"id":NaN}', '{"id":"a","id":"b"}', '{"id":"\\ud800"}',
].join('\n'); // biome-ignore format: a list

function mcp(to: Target, method: string, params: object): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return to.send('/mcp', { method: 'POST', headers: agent, body });
}

function exported(to: Target, format: string, sql: string): Promise<void> {
  return to.rest({ sql, format });
}

function rows(to: Target, body: string | Buffer): Promise<void> {
  return to.send(rowsPath, { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body });
}

function events(to: Target, body: string | Buffer, headers: Record<string, string> = {}): Promise<void> {
  return to.send('/api/logs?source_name=postgres.logs', {
    method: 'POST',
    headers: { ...json, ...headers },
    body,
  });
}
