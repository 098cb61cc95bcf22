const list = (count: number, item: (n: number) => string, separator: string) =>
  Array.from({ length: count }, (_, n) => item(n)).join(separator);

const nested = (depth: number, open: string, inner: string, close: string) =>
  `${open.repeat(depth)}${inner}${close.repeat(depth)}`;

/** Subsets of which each reads the one before it twice. */
const doubled = (count: number, first: string, next: (previous: string) => string) =>
  `with c0 as (${first}), ${list(count, n => `c${n + 1} as (${next(`c${n}`)})`, ', ')} select count(*) as n from c${count}`;

/** What is refused before anything runs. */
// biome-ignore format: one query a line
export const refusedQueries: Readonly<Record<string, string>> = {
  'a text over the limit': `select '${'x'.repeat(65_536)}' as x`,
  'brackets 10,000 deep': `select ${nested(10_000, '(', '1', ')')} as x`,
  'functions 10,000 deep': `select ${nested(10_000, 'abs(', '1', ')')} as x`,
  'subqueries 5,000 deep': `select ${nested(5_000, '(select ', '1', ')')} as x`,
  'derived tables 3,000 deep': `select 1 from ${nested(3_000, '(select 1 from ', 'edge_logs', ')')}`,
  'arrays 10,000 deep': `select ${nested(10_000, '[', '1', ']')} as x`,
  'types 5,000 deep': `select cast(null as ${nested(5_000, 'array<', 'int64', '>')}) as x`,
  'CASE 4,000 deep': `select ${nested(4_000, 'case when true then ', '1', ' end')} as x`,
  'joins in brackets 5,000 deep': `select 1 from ${nested(5_000, '(', 'edge_logs', ')')}`,
  'a thousand joins': `select count(*) as n from edge_logs e0 ${list(1_000, n => `join edge_logs e${n + 1} using (id)`, ' ')}`,
  'a thousand commas': `select count(*) as n from ${list(1_000, n => `edge_logs e${n}`, ', ')}`,
  'a thousand branches of UNION ALL': list(1_000, () => 'select id from edge_logs', ' union all '),
  'a thousand scalar subqueries': `select ${list(1_000, n => `(select max(id) from edge_logs) as x${n}`, ', ')}`,
  'a chain of 1,000 subsets': doubled(1_000, 'select id from edge_logs', c => `select id from ${c}`),
  'records joined to themselves': `select count(*) as n from edge_logs e ${list(60, n => `left join unnest(e.metadata) m${n} on ${n === 0 ? 'true' : list(8, () => `m${n - 1}.load_balancer_redirect_identifier is not null`, ' and ')}`, ' ')} where m59.load_balancer_redirect_identifier is not null`,
  'functions that repeat their argument': `select ${nested(70, 'greatest(1, ', '2', ')')} as x`,
  'BETWEEN in BETWEEN': `select ${nested(70, '(', 'true', ' between true and true)')} as x`,
  'BETWEEN in BETWEEN by subqueries': `select ${nested(40, '((select ', 'true', ') between true and true)')} as x`,
  'CASE in the operand of CASE': `select ${nested(70, 'case ', 'length(concat(id, id))', ' when 1 then 1 when 2 then 2 end')} as x from edge_logs`,
  'LIKE in LIKE': `select ${nested(70, 'cast((', "concat(id, id)", ") like any ('a', 'b') as string)")} as x from edge_logs`,
  'windows in windows': `select row_number() over w30 from edge_logs window w0 as (partition by id), ${list(30, n => `w${n + 1} as (w${n} partition by id, row_number() over w${n})`, ', ')}`,
  'a FORMAT of great widths': "select format('%600000d%600000d', 1, 2) as x from edge_logs",
  '5,000 columns': `select ${list(5_000, n => `id as c${n}`, ', ')} from edge_logs`,
  'a regular expression that nests repeats': "select regexp_contains(id, '((((((a{1,100}){1,100}){1,100}){1,100}){1,100}){1,100})') as x from edge_logs",
  'a huge regular expression': `select regexp_contains(id, r'${'(a|b|c){1,50}'.repeat(300)}') as x from edge_logs`,
  'a regular expression of optional characters': "select regexp_contains(id, '(a?){1000}') as x from edge_logs",
  'many regular expressions': `select 1 as x from edge_logs where ${list(300, () => "regexp_contains(id, '(?:a?){700}')", ' or ')}`,
  'types that double': `select * from ${list(40, () => '(select struct(a as x, a as y) as a from ', '')}(select 1 as a)${')'.repeat(40)}`,
};

/** What no engine could answer: it ends with an error. */
// biome-ignore format: one query a line
export const heavyQueries: Readonly<Record<string, string>> = {
  'a cross join of nine': `select count(*) as n from ${list(9, n => `edge_logs e${n}`, ', ')} where e0.id < e1.id or e2.id < e3.id or e4.id < e5.id or e6.id < e7.id or e0.id < e8.id`,
  'a sorted cross join': 'select a.id from edge_logs a, edge_logs b, edge_logs c order by concat(a.id, b.id, c.id)',
  'generate_array of 1e9': 'select count(*) as n from unnest(generate_array(1, 1000000000)) as x',
  'generate_array backwards': 'select count(*) as n from unnest(generate_array(1000000000, 1, -1)) as x',
  'generate_array of the whole of INT64': 'select array_length(generate_array(-9223372036854775807, 9223372036854775807)) as n',
  'generate_array in each row': 'select generate_array(1, 1000000) as x from edge_logs',
  'generate_array multiplied': `select count(*) as n from ${list(4, n => `unnest(generate_array(1, 1000000)) as x${n}`, ', ')}`,
  'generate_date_array of 1e7': "select array_length(generate_date_array('0001-01-01', '9999-12-31', interval 1 day)) as n from edge_logs",
  'generate_timestamp_array of microseconds':
    "select array_length(generate_timestamp_array('2026-01-01', '2027-01-01', interval 1 microsecond)) as n",
  'repeat of 1e9': "select length(repeat('x', 1000000000)) as n",
  'repeat of repeat': "select length(repeat(repeat(repeat('x', 1000), 1000), 1000)) as n",
  'repeat in each row': "select repeat('x', 1000000) as x from edge_logs",
  'lpad of 1e9': "select length(lpad('x', 1000000000, 'ab')) as n",
  'replace that multiplies': `select length(${nested(12, 'replace(', "'x'", ", 'x', 'xxxxxxxxxx')")}) as n`,
  'regexp_replace that multiplies': `select length(${nested(12, 'regexp_replace(', "'x'", ", 'x', 'xxxxxxxxxx')")}) as n`,
  'concat that doubles': `select length(x) as n from ${list(40, () => '(select concat(x, x) as x from ', '')}(select 'x' as x)${')'.repeat(40)}`,
  'array_concat that doubles': `select array_length(x) as n from ${list(40, () => '(select array_concat(x, x) as x from ', '')}(select [1] as x)${')'.repeat(40)}`,
  'string_agg of a cross join': 'select length(string_agg(concat(a.id, b.event_message, c.event_message))) as n from edge_logs a, edge_logs b, edge_logs c',
  'array_agg of everything': 'select array_agg(a) as x from edge_logs a, edge_logs b, edge_logs c',
  'array_agg in a window': 'select array_agg(a.id) over (order by a.id rows between unbounded preceding and unbounded following) as x from edge_logs a, edge_logs b',
  'distinct of a cross join': 'select count(distinct concat(a.id, b.id, c.id)) as n from edge_logs a, edge_logs b, edge_logs c',
  'forty subsets that double in rows': doubled(40, 'select id from edge_logs', c => `select a.id from ${c} a cross join ${c} b`),
  'forty subsets that double by UNION ALL': doubled(40, 'select 1 as x', c => `select x from ${c} union all select x from ${c}`),
  'a calculated regular expression of optional characters': "select regexp_contains(id, concat('(a?){10', '00}')) as x from edge_logs",
  '10,000 open classes': `select regexp_extract(id, r'${'[^'.repeat(10_000)}') as x from edge_logs`,
  'a long text searched for half of itself': "select instr(repeat('a', 1000000), concat(repeat('a', 500000), 'b'), 1) as n from edge_logs",
  'JSON arrays of a million in each other': `select json_set(json '{}'${list(20, n => `, '$.a${'[900000]'.repeat(n + 1)}', 1`, '')}) as x from edge_logs`,
  'a width of FORMAT that is calculated': "select format('%*d', 2000000 + length(id), 1) as x from edge_logs",
  'BASE2 of BASE2': `select length(${nested(9, "cast(cast(", "repeat('x', 1000)", " as bytes) as string format 'base2')")}) as n`,
  'rows wider than the result': `select repeat('x', 1000000) as x from edge_logs limit 1000`,
};

/** What only looks too large: it is answered. */
// biome-ignore format: one query a line
export const cutQueries: Readonly<Record<string, string>> = {
  '9,000 terms of OR': `with a as (select true as b from edge_logs) select 1 from a where ${list(9_000, () => 'b', ' or ')}`,
  '9,900 elements of IN': `select id from edge_logs where id in (${list(9_900, n => `'${n % 10}'`, ',')})`,
  'split into a million': "select array_length(split(repeat('x,', 500000))) as n from edge_logs a, edge_logs b",
  'forty subsets that double, with one row in each': doubled(40, 'select 1 as x', c => `select a.x from ${c} a cross join ${c} b`),
  'forty subsets that double by subqueries': doubled(40, 'select 1 as x', c => `select (select max(x) from ${c}) + (select min(x) from ${c}) as x`),
};
