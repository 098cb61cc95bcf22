import { growingTexts, textOfLength } from '../googlesql/growing-texts.ts';
import type { Attack } from './attack.ts';
import { at, bulk, endless, list } from './attack-texts.ts';

const subsets = [
  'edge_logs', 'postgres_logs', 'function_edge_logs', 'function_logs', 'auth_logs', 'realtime_logs', 'storage_logs',
  'postgrest_logs', 'pgbouncer_logs',
]; // biome-ignore format: a list

/** Functions that hand a record on; each once made an answer that was no JSON. */
const handedOn = [
  'coalesce(metadata, metadata)', 'if(true, metadata, metadata)', 'ifnull(metadata, metadata)', 'any_value(metadata)',
  'any_value(metadata having max timestamp)', 'first_value(metadata) over (order by id)',
  'last_value(metadata) over (order by id)', 'nth_value(metadata, 2) over (order by id)',
  'lag(metadata) over (order by id)', 'lead(metadata) over (order by id)', 'struct(metadata as s)',
  '(select any_value(m) from unnest(metadata) as m)',
]; // biome-ignore format: a list

const grown = Object.values(growingTexts);

/** SQL that is in time neither read nor run, or that fills memory, disk or the wire. */
export const sqlAttacks: readonly Attack[] = [
  { name: 'sixteen string_aggs', senders: 16, seconds: 12, send: (to, n) => to.sql(hashes(n % 16)) },
  { name: 'records handed on by functions', send: (to, n) => to.sql(`select ${at(handedOn, n)} as m from ${at(subsets, Math.floor(n / handedOn.length))} limit 1`) },
  { name: 'an unknown time zone', send: (to, n) => to.sql(`select extract(hour from timestamp at time zone 'Mars/${n}') as h from edge_logs`) },
  { name: 'texts of 64 KiB of every kind', seconds: 20, send: (to, n) => to.sql(textOfLength(at(grown, n))) },
  { name: '5,000 columns joined by USING', send: to => to.sql(`select count(*) as n from ${wide(5000)} a join ${wide(1)} b using (c0)`) },
  { name: '900 columns joined by USING', send: (to, n) => to.sql(`select * from ${wide(900)} a full join ${wide(900)} b using (${columns(900)}) limit ${1 + n}`) },
  { name: '* except of thousands', send: (to, n) => to.sql(`select * except (${columns(900)}) from (select ${n} as x, * from ${wide(900)})`) },
  { name: 'twenty patterns of a{1000} 140 times', send: (to, n) => to.sql(`select ${list(20, i => `regexp_contains(event_message, r'${'a{1000}'.repeat(140)}${n}x${i}') as c${i}`)} from edge_logs`) },
  { name: 'patterns just within the limit', send: (to, n) => to.sql(`select ${list(20, i => `regexp_replace(repeat(event_message, 100), r'(a?|b?){150}${n}x${i}', 'x') as c${i}`)} from edge_logs`) },
  { name: 'patterns of SAFE calls, which are none', send: (to, n) => to.sql(`select [${list(1000, i => `safe.regexp_contains('', r'(?i)[\\x{100}-\\x{10FFFF}]${n}x${i}(')`)}] as x`) },
  { name: 'unresponsive queries', senders: 16, seconds: 12, send: (to, n) => to.sql(`${unresponsive} where ${n} >= 0`) },
  { name: 'unresponsive queries, left at once', senders: 16, seconds: 12, send: (to, n) => to.sql(`${unresponsive} where ${n} >= 0`, { leaveMs: 50 + (n % 10) * 20 }) },
  { name: 'three hundred heavy queries', senders: 300, seconds: 12, send: (to, n) => to.sql(endless(n)) },
  { name: 'thousands of queries left at once', senders: 64, seconds: 8, send: (to, n) => to.sql(endless(n), { leaveMs: n % 20 }) },
  { name: 'results of 40 MB', senders: 16, seconds: 12, send: (to, n) => to.sql(bulk(40_000, n)) },
  { name: 'results over the limit', senders: 16, seconds: 12, send: (to, n) => to.sql(bulk(120_000, n)) },
  { name: 'large answers compressed', senders: 16, seconds: 12, send: (to, n) => to.sql(bulk(16_000, n), { headers: { 'accept-encoding': at(['br', 'gzip', 'zstd', 'deflate', 'br;q=0.5, zstd'], n) } }) },
  { name: 'one value of a GB', send: (to, n) => to.sql(`select length(string_agg(repeat('x', 1000000 - ${n % 1000}), '')) as n from unnest(generate_array(1, 1000))`) },
  { name: 'sixty arrays of a million', send: (to, n) => to.sql(`select ${list(60, i => `array_length(generate_array(${n + i}, ${n + i} + 1000000))`, ' + ')} as n`) },
  { name: 'arrays of arrays of rows', send: (to, n) => to.sql(`select array_length(array(select as struct a.*, ${n} as n from edge_logs a, edge_logs b, unnest(generate_array(1, 20)))) as n`) },
  { name: 'cross joins of everything', senders: 16, seconds: 12, send: (to, n) => to.sql(`select count(distinct concat(a.id, b.id)) as n from edge_logs a, edge_logs b, postgres_logs c where a.id != '${n}'`) },
  { name: 'sorts that spill', senders: 16, seconds: 12, send: (to, n) => to.sql(`select sha256(concat(a.id, cast(x as string))) as h, a.event_message from edge_logs a, unnest(generate_array(1, 2000)) x order by 1, mod(x, ${7 + n}) limit 10`) },
  { name: 'windows over everything', send: (to, n) => to.sql(`select id, ${list(12, i => `string_agg(event_message) over (order by timestamp rows between ${2000 + n + i} preceding and current row) as c${i}`)} from edge_logs order by id limit 3`) },
  { name: 'LIKE with many percent signs', send: (to, n) => to.sql(`select count(*) as n from edge_logs, unnest(generate_array(1, 3000)) x where repeat(event_message, 20) like '${'%a'.repeat(60)}${n}'`) },
  { name: 'deep JSON texts', send: (to, n) => to.sql(`select json_query(concat(repeat('[', ${900 + (n % 99)}), repeat(']', ${900 + (n % 99)})), '$${'[0]'.repeat(500)}') as j, json_value(repeat('{"a":', 900), '$${'.a'.repeat(500)}') as v from edge_logs`) },
  { name: 'JSON that is parsed for each row', send: (to, n) => to.sql(`select sum(length(to_json_string(parse_json(concat('[', repeat('{"a":[1,2,3]},', 2000), '${n}]'))))) as n from edge_logs, unnest(generate_array(1, 20))`) },
  { name: 'lists of IN as long as a text may be', send: (to, n) => to.sql(`select count(*) as n from edge_logs, unnest(generate_array(1, 100)) x where id in (${list(5000, i => `'${n}x${i}'`)})`) },
  { name: 'many subsets of many names', send: (to, n) => to.sql(`with ${list(65, i => `c${i} as (select id, '${n}' as n from edge_logs)`)} select count(*) as n from ${list(65, i => `c${i}`, ' join ').replace(/ join (c\d+)/g, ' join $1 using (id)')}`) },
  { name: 'functions of every kind', senders: 16, seconds: 20, send: (to, n) => to.sql(at(costly, n)(n)) },
  { name: 'functions that make more than they get', senders: 16, seconds: 30, send: (to, n) => to.sql(at(growing, n)(n)) },
  { name: 'recursion of every kind', seconds: 12, send: (to, n) => to.sql(at(recursive, n)(n)) },
  { name: 'errors that repeat a MB', senders: 16, seconds: 8, send: (to, n) => to.sql(at(repeating, n)(n), redacted) },
  { name: 'errors that repeat a MB, in many fields', seconds: 8, send: (to, n) => to.graphql({ query: `{ ${list(9, i => `f${i}: logsAllSql(project: "x", sql: ${JSON.stringify(at(repeating, i)(n))}) { rows }`, ' ')} }` }, redacted) },
  { name: 'statements that are long to plan or run', senders: 16, seconds: 20, send: (to, n) => to.sql(at(planned, n)(n)) },
  { name: 'records that are fifty deep', seconds: 12, send: (to, n) => to.sql(`select ${'[struct('.repeat(20 + (n % 31))}${n} as a${')] as a'.repeat(19 + (n % 31))})] as x`) },
  { name: 'redaction of colons', send: (to, n) => to.sql(`select repeat('1:', ${30_000 - (n % 50)}) as m from unnest(generate_array(1, 100))`, redacted) },
  { name: 'redaction of hexadecimal digits, dots and at signs', senders: 16, seconds: 10, send: (to, n) => to.sql(`select repeat('${at(['abcdef01', '::1.', 'a@b.c', '1.2.3.', 'eyJa.eyJb.', 'Bearer a=', 'a@', '.a'], n)}', ${7500 - (n % 50)}) as m from unnest(generate_array(1, 800))`, redacted) },
]; // biome-ignore format: a table

/** Values that do not fit, which their errors repeat. */
const repeating: readonly ((n: number) => string)[] = [
  n => `select error(repeat('1:', 400000 + ${n})) as x`,
  n => `select cast(repeat('1::', 300000 + ${n}) as int64) as x`,
  n => `select cast(repeat('2001:db8::1 ', 80000 + ${n}) as timestamp) as x`,
  n => `select cast(repeat('a@b.c ', 150000 + ${n}) as float64) as x`,
  n => `select parse_json(concat('{', repeat('a@b.c', 150000 + ${n}))) as x`,
];

/** Short statements of many tables, aggregates or sets. */
const planned: readonly ((n: number) => string)[] = [
  n => `select count(*) as n from edge_logs e0 ${list(59, i => `join edge_logs e${i + 1} on e${i + 1}.id = e${i}.id`, ' ')} where e0.id != '${n}'`,
  n => `select ${list(120, i => `count(distinct concat(id, '${n}x${i}')) as c${i}`)} from edge_logs, unnest(generate_array(1, 40))`,
  n => `select count(*) as n from edge_logs, unnest(generate_array(1, 30)) x group by grouping sets (${list(60, i => `(id, x, mod(x, ${i + n + 2}))`)})`,
  n => `select array(select y from unnest(generate_array(1, 1000000)) y order by mod(y * 7919, 1000003 + ${n}) desc limit 5) as a from unnest(generate_array(1, 50)) x`,
  n => `select array_length(array_agg(concat(id, cast(x as string)) order by sha256(concat(id, cast(x as string))))) as n from edge_logs, unnest(generate_array(1, 200)) x where id != '${n}'`,
  n => `select max(c) as m from (select count(distinct id) over (order by unix_micros(timestamp) range between ${100_000_000_000 + n} preceding and current row) as c from edge_logs)`,
  n => `select count(*) as n from (select id, x from edge_logs, unnest(generate_array(1, 2000)) x union distinct select id, x + ${n} from edge_logs, unnest(generate_array(1, 2000)) x)`,
  n => `select count(*) as n from (select x from unnest(generate_array(1, 1000000)) x intersect all select x + ${n} from unnest(generate_array(1, 1000000)) x)`,
  n => `select * from (select id, mod(length(id), 7) as k, ${n} as v from edge_logs) pivot (sum(v), count(*) as c for k in (${list(400, i => `${i}`)}))`,
  n => `with edge_logs as (select * from edge_logs), b as (with edge_logs as (select ${n} as id) select * from edge_logs) select count(*) as n from edge_logs, b`,
  n => `select id from edge_logs limit 9223372036854775807 offset ${9_223_372_036_854_000_000n + BigInt(n)}`,
]; // biome-ignore format: a table

/** Small texts whose functions have much to do. */
const costly: readonly ((n: number) => string)[] = [
  n => `select countif(repeat('a', 3000) like '${'%a'.repeat(20)}${n}') as n from unnest(generate_array(1, 3000))`,
  n => `select countif(event_message like any (${list(300, i => `'%${i}x${n}%'`)})) as n from edge_logs, unnest(generate_array(1, 200))`,
  n => `select edit_distance(repeat('a', 30000), repeat('b', 30000 + ${n})) as n`,
  n => `select to_json_string(parse_json(concat(repeat('{"a":', ${100_000 + n}), '1', repeat('}', ${100_000 + n})))) as n`,
  n => `select length(json_query(concat(repeat('[', ${900_000 + n}), repeat(']', ${900_000 + n})), '$[0]')) as n`,
  n => `select json_value(concat('{', repeat('"a":1,', 150000), '"b":${n}}'), '$.b') as n from unnest(generate_array(1, 100))`,
  n => `select sum(length(to_json_string(json_set(parse_json(concat('[', repeat('{"a":[1,2,3]},', 3000), '${n}]')), '$[5].b', x)))) as n from unnest(generate_array(1, 2000)) as x`,
  n => `select array_length(array_concat(${list(300, () => 'generate_array(1, 100000)')})) + ${n} as n`,
  n => `select length(replace(replace(repeat('a', 10000), 'a', repeat('a', 90)), 'a', '${n}')) as n from unnest(generate_array(1, 500))`,
  n => `select length(format('%t', generate_array(${n}, ${n} + 900000))) as n`,
  n => `select sum(length(format('%T', metadata))) as n from edge_logs, unnest(generate_array(1, 300 + ${n}))`,
  n => `select count(*) as n from unnest(generate_array(1, 900000)) x where x in (select y * 2 from unnest(generate_array(1, 900000)) y) and x != ${n}`,
  n => `select max(p) as n from (select percentile_cont(x, 0.5) over (partition by mod(x, 2)) as p from unnest(generate_array(1, 500000 + ${n})) x)`,
  n => `select sum(length(normalize(repeat('é${n}', 100000), NFKD))) as n from unnest(generate_array(1, 100))`,
]; // biome-ignore format: a table

/** Small texts whose functions make large values, or take long over them. */
const growing: readonly ((n: number) => string)[] = [
  n => `select length(format('%${900_000 + n}d', 1)) as n`,
  n => `select length(format('%*d', 2000000000, ${n})) as n`,
  n => `select length(lpad('x', 1000000 - ${n}, 'ab')) as n from unnest(generate_array(1, 2000))`,
  n => `select array_length(generate_timestamp_array(timestamp '2026-01-01', timestamp '2026-01-02', interval ${1 + n} microsecond)) as n`,
  n => `select sum(array_length(generate_date_array('0001-01-01', date_add('9999-12-30', interval mod(${n}, 2) day)))) as n from unnest(generate_array(1, 100))`,
  n => `select sum(array_length(split(repeat('a${n}', 100000), ''))) as n from unnest(generate_array(1, 200))`,
  n => `select sum(array_length(to_code_points(repeat('é', 300000 + ${n})))) as n from unnest(generate_array(1, 100))`,
  n => `select sum(array_length(regexp_extract_all(repeat('ab${n}', 100000), 'a'))) as n from unnest(generate_array(1, 200))`,
  n => `select count(*) as n from edge_logs group by cube(id, project, timestamp, event_message, mod(length(id), ${2 + n}), 1.5 + length(id))`,
  n => `select length(trim(repeat('ab', 400000 + ${n}), '${list(500, i => String.fromCodePoint(0x4e00 + i), '')}ab')) as n from unnest(generate_array(1, 50))`,
  n => `select length(translate(repeat('ab', 200000 + ${n}), '${list(9000, i => String.fromCodePoint(0x4e00 + i), '')}', 'b')) as n from unnest(generate_array(1, 50))`,
  n => `select instr(repeat('a', 900000), 'a', 1, 899000 + ${n % 900}) as n from unnest(generate_array(1, 100))`,
  n => `select length(format_timestamp('${'%c'.repeat(3000)}', timestamp)) + ${n} as n from edge_logs`,
  n => `select length(initcap(repeat('a b', 300000 + ${n}))) as n from unnest(generate_array(1, 50))`,
  n => `select soundex(repeat('a', 900000 - ${n})) as n from unnest(generate_array(1, 200))`,
  n => `select safe_cast(repeat('9', 900000 + ${n}) as bignumeric) as n from unnest(generate_array(1, 200))`,
  n => `select net.host(repeat('a.', 400000 + ${n})) as n, net.reg_domain(repeat('a.', 400000)) as m from unnest(generate_array(1, 50))`,
  n => `select array_length(approx_quantiles(x, 90000 + ${n % 999})) as n from unnest(generate_array(1, 900000)) as x`,
  n => `select array_length(approx_top_count(x, 90000 + ${n % 999})) as n from unnest(generate_array(1, 900000)) as x`,
  n => `select hll_count.extract(hll_count.init(x + ${n}, 24)) as n from unnest(generate_array(1, 900000)) as x`,
  n => `select max(array_length(a)) as n from (select array_agg(event_message) over (order by timestamp rows between unbounded preceding and current row) as a from edge_logs where id != '${n}')`,
  n => `select to_json_string(array_agg(struct(x, [x, x], struct(x as y)))) as j from unnest(generate_array(1, 200000 + ${n})) as x`,
  n => `select json_query_array(to_json_string(generate_array(1, 200000 + ${n})), '$') as j`,
  n => `select parse_timestamp('${'%Y '.repeat(2000)}', repeat('2026 ', 2000 + ${n})) as t from unnest(generate_array(1, 2000))`,
  n => `select contains_substr((select as struct a.*), 'nope${n}') as c from edge_logs a, unnest(generate_array(1, 300)) qualify row_number() over (order by timestamp) = 1`,
  n => `select to_base32(sha512(repeat('a', 1000000 - ${n}))) as s, to_base64(cast(repeat('a', 1000000) as bytes)) as b from unnest(generate_array(1, 15))`,
  n => `select normalize_and_casefold(repeat('ﷺ', 50000 + ${n}), NFKC) as s from unnest(generate_array(1, 20))`,
  n => `select code_points_to_string(array_concat(generate_array(65, 90), generate_array(1000, 50000 + ${n % 999}))) as s from unnest(generate_array(1, 100))`,
  n => `select string_agg(distinct concat(id, cast(x as string)), '' order by concat(id, cast(x as string)) desc) as s from edge_logs, unnest(generate_array(1, 30)) x where id != '${n}'`,
  n => `select bit_count(cast(repeat('a', 1000000 - ${n}) as bytes)) as b, reverse(repeat('é', 300000)) as r from unnest(generate_array(1, 10))`,
]; // biome-ignore format: a table

const recursive: readonly ((n: number) => string)[] = [
  n => `with recursive t as (select ${n} as n union all select n + 1 from t) select count(*) as c from t`,
  n => `with recursive t as (select 'a${n}' as s, 0 as n union all select concat(s, s), n + 1 from t where n < 60) select max(length(s)) as c from t`,
  n => `with recursive t as (select ${n} as n union all select n + x from t, unnest([1, 2]) as x where n < 100000) select count(*) as c from t`,
  n => `with c0 as (select ${n} as n), ${list(30, i => `c${i + 1} as (select n from c${i} union all select n from c${i})`)} select count(*) as c from c30`,
]; // biome-ignore format: a table

const redacted = { headers: { 'lf-endpoint-redact-pii': 'true' } };

/** Spends minutes inside one vector of rows, where DuckDB does not look for an interrupt. */
const unresponsive = `select sum(length(regexp_replace(repeat('a', 100000 + x), 'a|b', 'c'))) as n from unnest(generate_array(1, 2000)) as x`;

const columns = (count: number) => list(count, i => `c${i}`);
const wide = (count: number) => `(select ${list(count, i => `${i} as c${i}`)})`;

/** Needs 170 MB for a second. */
function hashes(n: number): string {
  return `with h as (select string_agg(to_hex(sha256(concat(cast(x as string), cast(y as string), '${n}')))) as m from unnest(generate_array(1,900)) x cross join unnest(generate_array(1,700)) y group by y) select sum(length(m)) as n from h`;
}
