import { growingTexts, textOfLength } from '../googlesql/growing-texts.ts';
import type { Attack } from './attack.ts';
import { at, bombs, bulk, endless, list } from './attack-texts.ts';
import { agentHeaders, callTool, type Target, tokenLines } from './target.ts';

/** What is left in the middle, what is rare, and several kinds at once. */
export const mixedAttacks: readonly Attack[] = [
  { name: 'classes that only one of two readers of patterns knows', senders: 32, seconds: 8, send: (to, n) => at([counts, (_: Target, p: string) => to.sql(`select countif(regexp_contains(event_message, r'${p}')) as n from edge_logs`), (_: Target, p: string) => to.graphql({ query: `{ ${list(20, i => `f${i}: usageApiCounts(interval: DAILY, project: ${JSON.stringify(`${p}${i}`)}) { timestamp }`, ' ')} }` })], n)(to, `${at(['\\p{Emoji}', '\\p{Cn}', '(?<a>x)', '\\p{Garay}', '\\p{LC}', '\\p{Assigned}'], Math.floor(n / 3))}${n}`) },
  { name: 'a hundred patterns of Unicode classes in each operation', senders: 16, seconds: 8, send: (to, n) => to.graphql({ query: `{ ${list(100, i => `f${i}: usageApiCounts(interval: MINUTELY, project: "${at(['(?i)[\\\\pL\\\\pN\\\\pS][\\\\pL\\\\pM]{3}', '(?i)[\\\\x{100}-\\\\x{10FFFF}]'], n)}${n}x${i}") { timestamp }`, ' ')} }` }) },
  { name: 'times far apart', senders: 64, seconds: 8, send: (to, n) => to.rest({ iso_timestamp_start: `0001-01-01T00:00:${String(n % 60).padStart(2, '0')}Z`, iso_timestamp_end: `9999-12-31T23:${String(n % 59).padStart(2, '0')}:00Z`, sql: `select count(*) as n, max(event_message) as m from ${at(subsets, n)} where id != '${n}'` }) },
  { name: 'GraphQL operations left at any moment', senders: 64, seconds: 8, send: (to, n) => to.graphql({ query: `{ ${list(8, i => `f${i}: logsAllSql(project: "x", sql: ${JSON.stringify(at([bulk(3000, n + i), endless(n + i)], i))}) { rows }`, ' ')} }` }, { leaveMs: 5 + ((n * 37) % 900) }) },
  { name: 'tools left at any moment', senders: 64, seconds: 8, send: (to, n) => to.send('/mcp', { method: 'POST', headers: agentHeaders, body: JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'logs_all_sql', arguments: { project: 'x', sql: at([bulk(8000, n), endless(n), `select ${n} from nope`], n) } } }), leaveMs: 1 + ((n * 37) % 700) }) },
  { name: 'checks of texts of every kind', senders: 16, seconds: 20, send: (to, n) => check(to, textOfLength(at(grown, n))) },
  { name: 'checks left at any moment', senders: 64, seconds: 8, send: (to, n) => check(to, textOfLength(at(grown, n), 20_000), n % 120) },
  { name: 'explanations of texts of every kind', senders: 16, seconds: 20, scope: 'explain', send: (to, n) => to.send(`${logs}?explain=true`, { method: 'POST', headers: json, body: JSON.stringify({ project: 'x', sql: textOfLength(at(grown, n)) }) }) },
  { name: 'explanations left at any moment', senders: 64, seconds: 8, scope: 'explain', send: (to, n) => to.send(`${logs}?explain=true`, { method: 'POST', headers: json, body: JSON.stringify({ project: 'x', sql: textOfLength(at(grown, n), 20_000) }), leaveMs: 1 + (n % 300) }) },
  { name: 'bodies that no route reads', senders: 64, seconds: 8, send: (to, n) => to.send(at(['/livez', '/metrics', '/openapi.json', '/', '/assets/none.js', '/api/logs?source_name=postgres.logs', '/api/sources/postgres.logs/rows', '/admin/invalidate', '/none', `${logs}?project=x`], n), { method: at(['GET', 'POST', 'DELETE'], Math.floor(n / 10)), headers: json, body: at([million, million.subarray(0, 40_000)], n >> 1) }) },
  { name: 'slow bodies on every route', senders: 600, seconds: 18, send: (to, n) => to.socket(`POST ${at(['/graphql', '/mcp', '/api/endpoints/logs.all/check', '/livez', '/api/logs?source_name=postgres.logs', logs], n)} HTTP/1.1\r\n${tokenLines(to.token)}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 900000\r\n\r\n{"query":"`, { drip: 'x'.repeat(900), everyMs: 200, holdMs: 60_000 }) },
  { name: 'compressed bodies where none is taken', senders: 32, seconds: 6, prepare: bombs.gzip, send: (to, n) => to.send(at([logs, '/graphql', '/mcp', '/api/endpoints/logs.all/check'], n), { method: 'POST', headers: { ...agentHeaders, 'content-encoding': at(['gzip', 'zstd', 'br', 'gzip, gzip'], n >> 2) }, body: bombs.gzip() }) },
  { name: 'long documents in a GET', senders: 64, seconds: 8, send: (to, n) => to.send(`/graphql?query=${encodeURIComponent(`{ ${list(900, i => `a${n}x${i}: __typename`, ' ')} }`)}&variables=${encodeURIComponent(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)}`) },
  { name: 'the whole schema in other words each time', senders: 64, seconds: 8, send: (to, n) => to.graphql({ query: `query q${n} { __schema { queryType { name } types { ...t } directives { name locations args { name } } } } fragment t on __Type { kind name description fields(includeDeprecated: true) { name description args { name type { name } } type { kind name ofType { name } } } inputFields { name } enumValues { name } }` }) },
  { name: 'short documents that ask for as much of the schema as they may', senders: 32, seconds: 8, send: to => to.graphql({ query: `{${list(95, i => `s${i}:__schema{...t}`, ' ')}}fragment t on __Schema{types{name kind fields{name isDeprecated type{name kind}args{name type{name kind}}}}}` }) },
  { name: 'hundreds of patterns of large ranges at once', senders: 300, seconds: 8, send: (to, n) => at(ranged, n)(to, `(?i)[\\x{100}-\\x{10FFFF}]${n}`) },
  { name: 'tokens that look like one', senders: 200, seconds: 8, send: (to, n) => to.send(at([`${logs}?project=x`, '/graphql?query={__typename}', '/api/endpoints'], n), { headers: { 'x-api-key': `sqg_${n.toString(16).padStart(8, '0')}_${'a'.repeat(43)}${n.toString(16).padStart(8, 'b')}` } }) },
  { name: 'a connection for each hit', senders: 128, seconds: 8, send: to => to.send(`/api/endpoints/query/usage.api-counts?interval=daily&project=x`, { headers: { connection: 'close' } }) },
  { name: 'subqueries of other rows', senders: 16, seconds: 12, send: (to, n) => to.sql(at(correlated, n)(n)) },
  { name: 'patterns made of values', senders: 16, seconds: 14, send: (to, n) => to.sql(at(patterns, n)(n)) },
  { name: 'long keys', senders: 16, seconds: 14, send: (to, n) => to.sql(at(keyed, n)(n)) },
  { name: 'numbers and times at their ends', senders: 16, seconds: 14, send: (to, n) => to.sql(at(extreme, n)(n)) },
  { name: 'columns made of rows', senders: 16, seconds: 12, send: (to, n) => to.sql(at(turned, n)(n)) },
  { name: 'fifteen fields of 60 KB of SQL', senders: 16, seconds: 10, send: (to, n) => to.graphql({ query: `{ ${list(15, i => `f${i}: logsAllSql(project: "x", sql: ${JSON.stringify(textOfLength(at(grown, n * 15 + i), 60_000))}) { rows }`, ' ')} }` }) },
  { name: 'pipelines of a thousand queries', senders: 16, seconds: 10, send: (to, n) => to.socket(list(1000, i => `GET ${logs}?project=x&sql=${encodeURIComponent(at([`select ${n} as a, ${i} as b`, bulk(200, n * 1000 + i), `select nope${n}x${i}`, endless(n + i)], i))} HTTP/1.1\r\n${tokenLines(to.token)}\r\n`, ''), { holdMs: 4000 }) },
  { name: 'pipelines of bodies of a MB', senders: 50, seconds: 10, send: (to, n) => to.socket(Buffer.concat(Array.from({ length: 30 }, (_, i) => [Buffer.from(`POST ${at([logs, '/graphql', '/mcp'], n + i)} HTTP/1.1\r\n${tokenLines(to.token)}Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`), million]).flat()), { reads: false, holdMs: 5000 }) },
  { name: 'several kinds at once', senders: 48, seconds: 20, send: (to, n) => at(kinds, n)(to, n) },
  { name: 'several kinds at once, with Redis', needsRedis: true, senders: 48, seconds: 20, send: (to, n) => at(kinds, n)(to, n) },
  { name: 'several kinds at once, left at any moment', senders: 64, seconds: 14, send: (to, n) => at(left, n)(to, n) },
  { name: 'readers who stop and heavy queries', senders: 64, seconds: 14, send: (to, n) => (n % 4 ? to.sql(endless(n)) : to.socket(`GET ${logs}?project=x&format=${at(['csv', 'json', 'ndjson'], n)}&sql=${encodeURIComponent(bulk(14_000, n % 5))} HTTP/1.1\r\n${tokenLines(to.token)}\r\n`, { reads: false, holdMs: 4000 })) },
]; // biome-ignore format: a table

/** What whoever may write sends to the source that everyone reads, or leaves in the middle. */
export const sharedWriteAttacks: readonly Attack[] = ([
  // First: the source keeps the fields that it has learned, and all that follows is asked of wide rows.
  { name: 'events: deep new fields in the source that all read', senders: 8, seconds: 10, send: (to, n) => events(to, [{ event_message: 'x', metadata: nested(12, n) }]) },
  { name: 'events: many rows of the project that all read', senders: 16, seconds: 12, send: (to, n) => events(to, Array.from({ length: 400 }, (_, i) => ({ event_message: `GET | 200 | ${n}`, project: to.project, timestamp: Date.now() * 1000 - i, metadata: { request: { url: `https://${to.project}.supabase.co/rest/v1/x?${'y'.repeat(200)}`, path: '/rest/v1/x', method: 'GET' }, response: { status_code: 200 } } }))) },
  { name: 'rows: into every source at once', senders: 16, seconds: 10, send: (to, n) => to.send(`/api/sources/${at(sources, n)}/rows`, { method: 'POST', headers: ndjson, body: list(2000, i => `{"id":"r${n}x${i}","event_message":"hello ${'x'.repeat(200)}","timestamp":"2026-0${1 + (n % 9)}-1${i % 10}T00:00:00Z"}`, '\n') }) },
  { name: 'rows: left in the middle', senders: 32, seconds: 8, send: (to, n) => to.send('/api/sources/cloudflare.logs.prod/rows', { method: 'POST', headers: ndjson, body: manyRows, leaveMs: 5 + ((n * 37) % 500) }) },
  // Last: what it brings takes minutes to be stored, and until then senders of others are refused.
  { name: 'events: names of a MB', senders: 16, seconds: 8, send: (to, n) => events(to, Array.from({ length: 15 }, (_, i) => ({ event_message: 'x', [`${'k'.repeat(999_000)}${n}x${i}`]: 1 }))) },
] satisfies Attack[]).map(attack => ({ ...attack, scope: 'write' as const })); // biome-ignore format: a table

const logs = '/api/endpoints/query/logs.all';
const json = { 'content-type': 'application/json' };
const ndjson = { 'content-type': 'application/x-ndjson' };
const redacted = { headers: { 'lf-endpoint-redact-pii': 'true' } };
const grown = Object.values(growingTexts);
const million = Buffer.alloc(1_000_000, ' ');
const subsets = [
  'edge_logs',
  'postgres_logs',
  'function_edge_logs',
  'auth_logs',
  'realtime_logs',
  'storage_logs',
];
const sources = [
  'cloudflare.logs.prod',
  'postgres.logs',
  'deno-relay-logs',
  'gotrue.logs.prod',
  'postgREST.logs.prod',
  'pgbouncer.logs.prod',
];
const manyRows = list(60_000, i => `{"id":"m${i}","event_message":"${'x'.repeat(150)}"}`, '\n');

function counts(to: Target, project: string): Promise<void> {
  return to.rest({ interval: 'minutely', project }, { of: 'usage.api-counts' });
}

function check(to: Target, sql: string, leaveMs?: number): Promise<void> {
  return to.send('/api/endpoints/logs.all/check', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ sql }),
    ...(leaveMs !== undefined && { leaveMs }),
  });
}

function events(to: Target, all: readonly object[]): Promise<void> {
  return to.send('/api/logs?source_name=cloudflare.logs.prod', {
    method: 'POST',
    headers: json,
    body: JSON.stringify(all),
  });
}

function nested(depth: number, n: number): object {
  return Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [
      `f${n % 50}x${i}`,
      depth > 0 && i === 0 ? nested(depth - 1, n + 1) : n,
    ]),
  );
}

/** A pattern by every way in which one comes. */
const ranged: readonly ((to: Target, pattern: string) => Promise<void>)[] = [
  counts,
  (to, pattern) => to.send(`/api/endpoints/query/usage.api-counts?interval=daily&project=${encodeURIComponent(pattern)}`),
  (to, pattern) => to.graphql({ query: `{ usageApiCounts(interval: DAILY, project: ${JSON.stringify(pattern)}) { timestamp } }` }),
  (to, pattern) => callTool(to, 'usage_api-counts', { interval: 'daily', project: pattern }),
]; // biome-ignore format: a list

/** Subqueries whose rows depend on those outside. */
const correlated: readonly ((n: number) => string)[] = [
  n => `select count(*) as n from edge_logs a where (select count(*) from edge_logs b where b.timestamp < a.timestamp and b.id != '${n}') > 5`,
  n => `select count(*) as n from edge_logs a where exists (select 1 from edge_logs b where length(b.event_message) + length(a.event_message) = ${100_000 + n})`,
  n => `select array_length(array_agg(x)) as n from (select array(select b.id from edge_logs b where b.id > a.id order by b.id limit 3)[safe_offset(0)] as x from edge_logs a where a.id != '${n}')`,
  n => `select sum((select sum(length(b.event_message)) from edge_logs b where mod(length(b.id) + x, 7) = ${n % 7})) as n from unnest(generate_array(1, 100000)) x`,
  n => `select count(*) as n from edge_logs a where a.id not in (select concat(b.id, a.event_message) from postgres_logs b where b.id != '${n}')`,
  n => `select count(*) as n from edge_logs a left join postgres_logs b on a.timestamp between timestamp_sub(b.timestamp, interval ${1 + n} hour) and b.timestamp left join auth_logs c on c.timestamp > b.timestamp`,
]; // biome-ignore format: a table

/** Patterns of which each row has another. */
const patterns: readonly ((n: number) => string)[] = [
  n => `select countif(regexp_contains(event_message, concat('(a?b?){', cast(100 + mod(x, 400) as string), '}', cast(x as string), '${n}'))) as n from edge_logs, unnest(generate_array(1, 300)) x`,
  n => `select count(*) as n from edge_logs a, edge_logs b where regexp_contains(a.event_message, concat(b.id, '|${n}'))`,
  n => `select countif(event_message like concat('%', cast(x as string), '%a%b%c%${n}%')) as n from edge_logs, unnest(generate_array(1, 20000)) x`,
  n => `select sum(length(regexp_replace(event_message, concat('[', cast(x as string), 'a-z]+'), '${n}'))) as n from edge_logs, unnest(generate_array(1, 2000)) x`,
  n => `select sum(array_length(regexp_extract_all(repeat(event_message, 50), concat('.', cast(x as string), '?')))) as n from edge_logs, unnest(generate_array(1, 2000 + ${n})) x`,
  n => `select count(format_timestamp(concat('%Y', repeat('%c', mod(x, 300))), timestamp)) + ${n} as n from edge_logs, unnest(generate_array(1, 300)) x`,
]; // biome-ignore format: a table

/** Keys of many kilobytes. */
const keyed: readonly ((n: number) => string)[] = [
  n => `select length(k) as n from (select concat(repeat('a', 200000 + x), '${n}') as k from unnest(generate_array(1, 5000)) x) order by k desc limit 10`,
  n => `select count(*) as n from (select concat(repeat('a', 100000), cast(mod(x, 900 + ${n % 90}) as string)) as k from unnest(generate_array(1, 20000)) x group by k)`,
  n => `select count(*) as n from (select distinct generate_array(x, x + 5000 + ${n % 90}) as k from unnest(generate_array(1, 9000)) x)`,
  n => `select count(*) as n from (select concat(repeat('a', 50000), cast(x as string)) as k from unnest(generate_array(1, 9000)) x) a join (select concat(repeat('a', 50000), cast(x + ${n} as string)) as k from unnest(generate_array(1, 9000)) x) b using (k)`,
  n => `select max(r) as n from (select rank() over (partition by mod(x, 3) order by concat(repeat('a', 90000), cast(x as string))) as r from unnest(generate_array(1, 9000 + ${n})) x)`,
  n => `select min(concat(repeat('a', 900000 - ${n}), cast(x as string))) as n, count(distinct repeat('b', 100000 + x)) as d from unnest(generate_array(1, 9000)) x`,
]; // biome-ignore format: a table

/** Values where types end. */
const extreme: readonly ((n: number) => string)[] = [
  n => `select array_length(generate_array(0.0, 1.0, 0.0000001 * ${1 + n})) as n`,
  n => `select array_length(generate_array(-9223372036854775808, 9223372036854775807, ${9_000_000_000_000 + n})) as n`,
  n => `select timestamp_add(timestamp '9999-12-31', interval ${n} day) as t, timestamp_diff(timestamp '9999-12-31', timestamp '0001-01-01', microsecond) as d`,
  n => `select date_add(date '2026-01-01', interval ${9_000_000_000_000_000_000n + BigInt(n)} year) as d`,
  n => `select sum(cast(repeat('9', 38) as bignumeric) / (x + ${n})) as n from unnest(generate_array(1, 500000)) x`,
  n => `select count(power(bignumeric '1.000000001', x)) + ${n} as n from unnest(generate_array(1, 300000)) x`,
  n => `select count(round(cast(x as bignumeric) / 7, ${n % 30})) as n from unnest(generate_array(1, 900000)) x`,
  n => `select count(interval x year + interval x month + interval ${n} day) as n from unnest(generate_array(1, 900000)) x`,
  n => `select count(extract(isoweek from timestamp_add(timestamp '0001-01-02', interval x hour) at time zone 'America/New_York')) + ${n} as n from unnest(generate_array(1, 900000)) x`,
  n => `select array_length(generate_timestamp_array('0001-01-01', '9999-12-31', interval ${1 + n} hour)) as n`,
  n => `select safe_divide(9223372036854775807, 0) as a, bit_count(-1 << ${n % 70}) as b, 1 << 9223372036854775807 as c`,
  n => `select sum(length(cast(ieee_divide(x, 7 + ${n}) as string))) as n from unnest(generate_array(1, 900000)) x`,
]; // biome-ignore format: a table

/** Columns that become rows, rows that become columns, and samples. */
const turned: readonly ((n: number) => string)[] = [
  n => `select count(*) as n from (select ${list(300, i => `x + ${i} as c${i}`)} from unnest(generate_array(1, 5000)) x) unpivot (v for k in (${list(300, i => `c${i}`)})) where v != ${n}`,
  n => `select * from (select mod(x, 900) as k, x as v, mod(x, 7) as g from unnest(generate_array(1, 900000)) x) pivot (string_agg(cast(v as string)) as s for k in (${list(40, i => `${i + n}`)}))`,
  n => `select ${list(40, i => `array_agg(struct(id, event_message) order by sha256(concat(id, '${i}${n}')) limit 1000)[offset(0)].id as c${i}`)} from edge_logs`,
  n => `from edge_logs ${list(60, i => `|> extend row_number() over (order by concat(id, '${i}x${n}')) as r${i}`, ' ')} |> aggregate max(r59) as n`,
  n => `from edge_logs ${list(30, i => `|> cross join unnest([${i}, ${n}]) as u${i}`, ' ')} |> aggregate count(*) as n`,
  n => `from edge_logs ${list(12, i => `|> aggregate count(*) as n${i} group by id, timestamp |> join edge_logs as e${i} using (id) |> select id, e${i}.timestamp`, ' ')} |> where id != '${n}' |> aggregate count(*) as n`,
  n => `select count(*) as n from edge_logs a, unnest(a.metadata) m, unnest(m.request) r, unnest(r.headers) h, unnest(r.cf) c, unnest(generate_array(1, 5000)) x where x != ${n} and to_json_string(a) like '%${n}%'`,
]; // biome-ignore format: a table

/** One of each. */
const kinds: readonly ((to: Target, n: number) => Promise<void>)[] = [
  (to, n) => to.sql(endless(n)),
  (to, n) => to.sql(bulk(15_000, n), redacted),
  (to, n) => to.sql(`select ${n} from nope`),
  (to, n) => to.rest({ sql: bulk(15_000, n), format: at(['csv', 'parquet', 'arrow', 'ndjson'], n >> 4) }),
  (to, n) => to.rest({ interval: 'daily', sql: bulk(7900, n % 40) }, { of: 'usage.api-counts', headers: { 'accept-encoding': 'br' } }),
  (to, n) => counts(to, `(a?){200}${n}`),
  (to, n) => to.graphql({ query: `{ ${list(100, i => `f${i}: usageApiCounts(interval: MINUTELY, project: "k${n}x${i}") { timestamp }`, ' ')} }` }),
  (to, n) => to.graphql({ query: `{ ${list(8, i => `f${i}: logsAll(project: "${to.project}", sql: "select id, timestamp, event_message, metadata from edge_logs where id != '${n}' limit 1000") { id metadata }`)} }` }),
  (to, n) => check(to, textOfLength(at(grown, n >> 4))),
  (to, n) => to.sql(textOfLength(at(grown, n >> 4))),
  (to, n) => callTool(to, 'logs_all_sql', { project: 'x', sql: bulk(9000, n) }),
  (to, n) => to.send('/graphql', { method: 'POST', headers: json, body: `{"query":"{ __typename }","variables":{${list(50_000, i => `"k${i}":${n}`, ',')}}}` }),
  to => to.send('/metrics'),
  (to, n) => to.socket(`GET ${logs}?project=x&sql=${encodeURIComponent(bulk(15_000, n % 4))} HTTP/1.1\r\n${tokenLines(to.token)}\r\n`, { reads: false, holdMs: 3000 }),
  (to, n) => to.send(logs, { method: 'POST', headers: json, body: `{"project":"x${n}"${' '.repeat(990_000)}}` }),
  (to, n) => to.sql(at(keyed, n >> 4)(n)),
]; // biome-ignore format: a list

/** What is left while it is checked, waits, runs, is rendered or sent. */
const left: readonly ((to: Target, n: number) => Promise<void>)[] = [
  (to, n) => to.sql(bulk(15_000, n), { ...redacted, leaveMs: (n * 37) % 900 }),
  (to, n) => to.rest({ sql: bulk(9000, n), format: 'parquet' }, { leaveMs: (n * 37) % 900 }),
  (to, n) => to.rest({ interval: 'daily', sql: bulk(7900, n) }, { of: 'usage.api-counts', headers: { 'accept-encoding': 'br' }, leaveMs: (n * 37) % 1500 }),
  (to, n) => to.sql(at(keyed, n >> 3)(n), { leaveMs: (n * 37) % 1500 }),
  (to, n) => to.sql(at(patterns, n >> 3)(n), { leaveMs: (n * 37) % 1500 }),
  (to, n) => to.sql(textOfLength(at(grown, n >> 3)), { leaveMs: n % 200 }),
  (to, n) => to.graphql({ query: `{ ${list(60, i => `f${i}: usageApiCounts(interval: MINUTELY, project: "l${n}x${i}") { timestamp }`, ' ')} }` }, { leaveMs: n % 90 }),
]; // biome-ignore format: a list
