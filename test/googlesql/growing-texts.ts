import { maxCallerTokens } from '../../src/googlesql/binder/bind-statement.ts';
import { lex } from '../../src/googlesql/syntax/lexer.ts';

/** Most characters of a caller's SQL. */
export const maxTextLength = 65_536;

/** A caller's SQL that is made longer by one number. */
type GrowingText = (count: number) => string;

const list = (count: number, item: (n: number) => string, separator = ', ') =>
  Array.from({ length: count }, (_, n) => item(n)).join(separator);

const nested = (depth: number, open: string, inner: string, close: string) =>
  `${open.repeat(depth)}${inner}${close.repeat(depth)}`;

/** A derived table of so many columns. */
const wide = (count: number) => `(select ${list(count, n => `${n} as c${n}`)})`;

/** Subsets of which each reads the one before it, by a query that names it. */
const chain = (count: number, first: string, next: (previous: string) => string) =>
  `with c0 as (${first}), ${list(count, n => `c${n + 1} as (${next(`c${n}`)})`)} select * from c${count}`;

/**
 * Texts whose compilation once took longer than they are long, or might: the front-end's cost must grow as the text does.
 * Each was found by reading the binder for scans, or by a search over repeated pieces.
 */
// biome-ignore format: one text a line
export const growingTexts: Readonly<Record<string, GrowingText>> = {
  'columns of a list': n => `select ${list(n, i => `${i} as c${i}`)}`,
  'columns of one name': n => `select 1 from (select ${list(n, () => '1 as c')})`,
  'star over many columns': n => `select * from ${wide(n)}`,
  'star except': n => `select * except (${list(n, i => `c${i}`)}) from (select 1 as x, ${list(n, i => `${i} as c${i}`)})`,
  'star replace': n => `select * replace (${list(n, i => `${i} as c${i}`)}) from ${wide(n)}`,
  'a star of stars': n => `select ${list(n, () => 't.*')} from edge_logs t`,
  'group by columns': n => `select ${list(n, i => `c${i}`)} from ${wide(n)} group by ${list(n, i => `c${i}`)}`,
  'group by positions': n => `select ${list(n, i => `c${i}`)} from ${wide(n)} group by ${list(n, i => `${i + 1}`)}`,
  'group by all': n => `select ${list(n, i => `c${i}`)}, count(*) as n from ${wide(n)} group by all`,
  'order by columns': n => `select ${list(n, i => `c${i}`)} from ${wide(n)} order by ${list(n, i => `c${i}`)}`,
  'order by other columns': n => `select 1 as x, ${list(n, i => `c${i} + 1 as d${i}`)} from ${wide(n)} order by ${list(n, i => `c${i} + 1`)}`,
  'distinct columns, ordered': n => `select distinct ${list(n, i => `c${i}`)} from ${wide(n)} order by ${list(n, i => `c${i}`)}`,
  'joined using one column': n => `select a.c0 from ${wide(n / 2)} a join ${wide(n / 2)} b using (c0)`,
  'joined using every column': n => `select count(*) as n from ${wide(n)} a join ${wide(n)} b using (${list(n, i => `c${i}`)})`,
  'star of what is joined using every column': n => `select * from ${wide(n)} a join ${wide(n)} b using (${list(n, i => `c${i}`)})`,
  'fully joined using every column': n => `select * from ${wide(n)} a full join ${wide(n)} b using (${list(n, i => `c${i}`)})`,
  'left joins of a wide table': n => `select 1 as x from ${wide(n)} t ${list(Math.min(n, 150), i => `left join edge_logs l${i} on true`, ' ')}`,
  'a wide subset read often': n => `with w as (select ${list(n, i => `${i} as c${i}`)}) select 1 as x from ${list(Math.min(n, 150), i => `w as w${i}`)}`,
  'a wide subset passed on': n => `with c0 as (select ${list(n, i => `${i} as c${i}`)}), ${list(n, i => `c${i + 1} as (select * from c${i})`)} select 1 as x from c${n}`,
  'derived tables in one another': n => nested(Math.min(n, 90), '(select * from ', wide(n), ')').replace(/^\((.*)\)$/s, '$1'),
  'names that are not there': n => `select ${list(n, i => `x${i}`)} from edge_logs`,
  'aliases that shadow one another': n => `select ${list(n, i => `id as a${i}`)} from edge_logs where ${list(n, () => "id = 'x'", ' and ')} order by ${list(n, i => `a${i}`)}`,
  'one alias often': n => `select ${list(n, () => 'id as a')} from edge_logs order by a`,
  'having aliases': n => `select ${list(n, i => `max(id) as a${i}`)} from edge_logs having ${list(n, i => `a${i} = 'x'`, ' and ')}`,
  'terms of OR': n => `select 1 as x from edge_logs where ${list(n, i => `id = '${i}'`, ' or ')}`,
  'terms of AND': n => `select 1 as x from edge_logs where ${list(n, i => `id != '${i}'`, ' and ')}`,
  'terms of +': n => `select ${list(n, () => '1', ' + ')} as x`,
  'chained calls': n => `select 'a'${'.lower()'.repeat(n)} as x`,
  'terms of ||': n => `select ${list(n, () => "'a'", ' || ')} as x`,
  'signs': n => `select ${'- '.repeat(n)}1 as x`,
  'NOTs': n => `select ${'not '.repeat(n)}true as x`,
  'elements of IN': n => `select 1 as x from edge_logs where id in (${list(n, i => `'${i}'`)})`,
  'elements of IN that are calculated': n => `select 1 as x from edge_logs where id in (${list(n, i => `concat(id, '${i}')`)})`,
  'numbers in IN': n => `select 1 as x from edge_logs where 1.5 in (${list(n, i => `${i}`)})`,
  'IN by columns': n => `select 1 as x from ${wide(n)} where 1.5 in (${list(n, i => `c${i}`)})`,
  'patterns of LIKE ANY': n => `select 1 as x from edge_logs where id like any (${list(n, i => `'${i}'`)})`,
  'branches of CASE': n => `select case ${list(n, i => `when id = '${i}' then ${i}`, ' ')} end as x from edge_logs`,
  'branches of CASE with an operand': n => `select case id ${list(n, i => `when '${i}' then ${i}`, ' ')} end as x from edge_logs`,
  'arguments of COALESCE': n => `select coalesce(${list(n, () => 'id')}) as x from edge_logs`,
  'arguments of CONCAT': n => `select concat(${list(n, () => 'id')}) as x from edge_logs`,
  'records in COALESCE': n => `select coalesce(${list(n, () => 'metadata')}) as x from edge_logs`,
  'elements of an array': n => `select [${list(n, i => `${i}`)}] as x`,
  'records in an array': n => `select [${list(n, () => 'struct(1 as a)')}] as x`,
  'fields of a STRUCT': n => `select struct(${list(n, i => `${i} as c${i}`)}) as x`,
  'fields of a STRUCT, read': n => `select ${list(n, i => `s.c${i}`)} from (select struct(${list(n, i => `${i} as c${i}`)}) as s)`,
  'fields of an UNNEST, read': n => `select ${list(n, i => `c${i}`)} from unnest([struct(${list(n, i => `${i} as c${i}`)})])`,
  'a STRUCT of a type': n => `select struct<${list(n, i => `c${i} int64`)}>(${list(n, i => `${i}`)}) as x`,
  'rows as values': n => `select ${list(n, () => 't')} from edge_logs t`,
  'a wide row as a value': n => `select ${list(10, i => `t as t${i}`)} from ${wide(n)} t`,
  'SELECT AS STRUCT': n => `select array(select as struct ${list(n, i => `${i} as c${i}`)}) as x`,
  'parentheses': n => `select ${nested(Math.min(n, 190), '(', list(n, () => '1', ' + '), ')')} as x`,
  'parentheses after FROM': n => `select 1 as x from ${list(n, () => '(', '')}edge_logs`,
  'queries in parentheses after FROM': n => `select 1 as x from ${nested(Math.min(n, 150), '(', `select ${list(n, () => '1')}`, ')')}`,
  'joins in parentheses': n => `select 1 as x from ${nested(Math.min(n, 190), '((select 1 as a) cross join ', `(select ${list(n, i => `1 as c${i}`)})`, ')')}`,
  'subqueries': n => `select ${list(n, i => `(select ${i})`, ' + ')} as x`,
  'EXISTS': n => `select 1 as x from edge_logs where ${list(n, () => 'exists (select 1 from unnest(metadata))', ' or ')}`,
  'subqueries in one another': n => `select ${nested(Math.min(n, 95), '(select ', list(n, () => '1', ' + '), ')')} as x`,
  'subsets in a chain': n => chain(n, 'select id from edge_logs', c => `select id from ${c}`),
  'subsets that join the one before with itself': n => chain(n, 'select id from edge_logs', c => `select a.id from ${c} a, ${c} b`),
  'subsets that unite the one before with itself': n => chain(n, 'select 1 as x', c => `select x from ${c} union all select x from ${c}`),
  'subsets that double their columns': n => chain(n, 'select 1 as a', c => `select *, * from ${c}`),
  'subsets that nest records': n => chain(n, 'select 1 as a', c => `select struct(a as x, a as y) as a from ${c}`),
  'subsets that double an expression': n => chain(n, 'select 1 as a', c => `select a + a as a from ${c}`),
  'branches of UNION ALL': n => list(n, i => `select ${i} as x`, ' union all '),
  'wide branches of UNION ALL': n => list(Math.ceil(n / 10), () => `select ${list(10, i => `${i} as c${i}`)}`, ' union all '),
  'branches of UNION ALL of mixed types': n => list(n, i => `select ${i % 2 ? '1.5' : '1'} as x`, ' union all '),
  'set operations in one another': n => nested(Math.min(n, 95), '(', list(n, i => `select ${i} as x`, ' union all '), ' union all select 1)'),
  'joins': n => `select 1 as x from edge_logs e ${list(Math.min(n, 190), i => `join edge_logs e${i} using (id)`, ' ')} where ${list(n, () => 'true', ' and ')}`,
  'joins on': n => `select 1 as x from edge_logs e ${list(Math.min(n, 190), i => `left join edge_logs e${i} on e${i}.id = e.id`, ' ')} where ${list(n, () => 'true', ' and ')}`,
  'joins in commas': n => `select 1 as x from ${list(Math.min(n, 190), i => `edge_logs e${i}`)} where ${list(n, () => 'true', ' and ')}`,
  'UNNESTs': n => `select 1 as x from edge_logs e ${list(Math.min(n, 190), i => `cross join unnest(e.metadata) m${i}`, ' ')} where ${list(n, () => 'true', ' and ')}`,
  'UNNESTs that stay without elements': n => `select 1 as x from edge_logs e ${list(Math.min(n, 190), i => `left join unnest(e.metadata) m${i}`, ' ')} where ${list(n, () => 'true', ' and ')}`,
  'UNNESTs of lists': n => `select 1 as x from edge_logs e ${list(Math.min(n, 190), i => `cross join unnest([1, 2]) m${i}`, ' ')} where ${list(n, () => 'true', ' and ')}`,
  'ambiguous fields of UNNESTs': n => `select ${list(n, () => 'method')} from edge_logs e ${list(Math.min(n, 150), i => `cross join unnest(e.metadata) m${i}`, ' ')}`,
  'names over many tables': n => `select ${list(n, () => 'e0.id')} from ${list(Math.min(n, 150), i => `edge_logs e${i}`)}`,
  'windows': n => `select ${list(n, i => `row_number() over (partition by id order by id) as c${i}`)} from edge_logs`,
  'named windows': n => `select ${list(n, i => `row_number() over w${i} as c${i}`)} from edge_logs window ${list(n, i => `w${i} as (order by id)`)}`,
  'named windows in a chain': n => `select row_number() over w${n} as c from edge_logs window w0 as (order by id), ${list(n, i => `w${i + 1} as (w${i})`)}`,
  'keys of a window': n => `select row_number() over (partition by ${list(n, () => 'id')} order by ${list(n, () => 'id')}) as c from edge_logs`,
  'aggregates': n => `select ${list(n, i => `max(id) as c${i}`)} from edge_logs`,
  'aggregates that order': n => `select string_agg(distinct id order by ${list(n, () => 'id')}) as c from edge_logs`,
  'keys of an array that is aggregated': n => `select array_agg(id order by ${list(n, () => 'id')}) as c from edge_logs`,
  'comments': n => `select 1 as x ${'/**/'.repeat(n)}`,
  'comments between columns': n => `select ${list(n, () => '1 /* x */ -- y\n')}`,
  'lines': n => `select 1 as x${'\n'.repeat(n)}, x`,
  'white space': n => `select${' '.repeat(n)}1 as x`,
  'string literals': n => `select concat(${list(n, () => "'a'")}) as x`,
  'one long string': n => `select '${'a'.repeat(n)}' as x`,
  'one long string of escapes': n => `select '${'\\n'.repeat(n)}' as x`,
  'one long string of NULs': n => `select '${'\\000'.repeat(n)}' as x`,
  'a string that never ends': n => `select '${'\\\''.repeat(n)}`,
  'triple quotes that never end': n => `select """${'""a'.repeat(n)}`,
  'a comment that never ends': n => `select 1 ${'/* '.repeat(n)}`,
  'quoted names': n => `select ${list(n, i => `\`${i}\``)} from edge_logs`,
  'one long name': n => `select ${'a'.repeat(n)} from edge_logs`,
  'one long path': n => `select id${'.a'.repeat(n)} from edge_logs`,
  'a table with many dashes': n => `select 1 as x from a${'-a'.repeat(n)}`,
  'a table with many parts': n => `select 1 as x from a${'.a'.repeat(n)}`,
  'one long number': n => `select ${'1'.repeat(n)} as x`,
  'one long LIKE': n => `select id like '${'%a'.repeat(n)}' as x from edge_logs`,
  'backslashes of a LIKE': n => `select id like '${'\\\\\\\\'.repeat(n)}' as x from edge_logs`,
  'one long timestamp': n => `select timestamp '2026-01-15 ${'0'.repeat(n)}' as x`,
  'spaces in a RANGE literal': n => `select range<date> '[${' '.repeat(n)}' as x`,
  'one long format': n => `select format_timestamp('${'%Y'.repeat(n)}', timestamp) as x from edge_logs`,
  'one long format to parse': n => `select parse_timestamp('${'%Y '.repeat(n)}', id) as x from edge_logs`,
  'one long JSON path': n => `select json_value(event_message, '$${'.a'.repeat(n)}') as x from edge_logs`,
  'one long JSON literal': n => `select json '[${list(n, () => '1', ',')}]' as x`,
  'one long number in a JSON literal': n => `select json '1.${'0'.repeat(n)}1' as x`,
  'a deep JSON literal': n => `select json '${nested(n, '[', '', ']')}' as x`,
  'JSON paths': n => `select ${list(n, i => `json_value(event_message, '$.a${i}') as c${i}`)} from edge_logs`,
  'JSON values in conditions': n => `select 1 as x from edge_logs where ${list(n, i => `json_value(event_message, '$.a${i}.b') = 'x'`, ' and ')}`,
  'JSON values of calculated texts': n => `select ${list(n, i => `json_value(lower(event_message), '$.a') as c${i}`)} from edge_logs`,
  'JSON values in one another': n => `select ${nested(Math.min(n, 25), 'json_value(', list(Math.min(n, 150), () => 'id', ' || '), ", '$.a')")} as x from edge_logs where ${list(n, () => 'true', ' and ')}`,
  'JSON values of many texts': n => `select ${list(n, i => `json_value(c${i}, '$.a') as c${i}`)} from (select ${list(n, i => `id as c${i}`)} from edge_logs)`,
  'calls that only the warehouse answers': n => `select ${list(n, i => `net.reg_domain(id) as c${i}`)} from edge_logs`,
  'calls in one another that only the warehouse answers': n => `select ${nested(Math.min(n, 90), 'regexp_extract(', 'id', ", r'\\C')")} as x from edge_logs where ${list(n, () => 'true', ' and ')}`,
  'casts with a format': n => `select ${list(n, i => `cast(timestamp as string format 'YYYY') as c${i}`)} from edge_logs`,
  'types with limits': n => `select ${list(n, i => `cast(id as string(${i})) as c${i}`)} from edge_logs`,
  'limits of a type': n => `select cast(id as numeric(${list(n, i => `${i}`)})) as x from edge_logs`,
  'a path into JSON': n => `select j${'.a'.repeat(n)} from (select json '1' as j)`,
  'subscripts of JSON': n => `select j${'[0]'.repeat(n)} as x from (select json '1' as j)`,
  'subscripts': n => `select [1]${'[0]'.repeat(n)} as x`,
  'types in one another': n => `select cast(null as ${nested(Math.min(n, 90), 'struct<a ', `struct<${list(n, i => `c${i} int64`)}>`, '>')}) as x`,
  'quantiles': n => `select ${list(n, i => `approx_quantiles(1, 10)[offset(${i % 10})] as c${i}`)} from edge_logs`,
  'one long regular expression': n => `select regexp_contains(id, r'${'a'.repeat(n)}') as x from edge_logs`,
  'groups of a regular expression': n => `select regexp_extract(id, r'${'(?:a)'.repeat(n)}') as x from edge_logs`,
  'open classes of a regular expression': n => `select regexp_extract(id, r'${'[^'.repeat(n)}') as x from edge_logs`,
  'open quotations of a regular expression': n => `select regexp_extract(id, r'${'\\Q'.repeat(n)}') as x from edge_logs`,
  'open named classes of a regular expression': n => `select regexp_extract(id, r'${'\\p{'.repeat(n)}') as x from edge_logs`,
  'open codes of a regular expression': n => `select regexp_extract(id, r'${'\\x{'.repeat(n)}') as x from edge_logs`,
  'backslashes of a regular expression': n => `select regexp_extract(id, r'${'\\\\'.repeat(n)}') as x from edge_logs`,
  'regular expressions': n => `select ${list(n, i => `regexp_contains(id, r'a{10}${i}') as c${i}`)} from edge_logs`,
  'backslashes of a replacement': n => `select regexp_replace(id, 'a', r'${'\\\\'.repeat(n)}') as x from edge_logs`,
  'records in a list': n => `select (1, 2) in (${list(n, i => `(${i}, ${i})`)}) as x`,
  'keys of ROLLUP': n => `select 1 as x from edge_logs group by rollup(${list(n, () => '1')})`,
  'sets of CUBE': n => `select 1 as x from edge_logs group by grouping sets (${list(n, () => 'cube(1, 2, 3, 4, 5, 6)')})`,
  'aggregates and values of PIVOT': n => `select * from (select 1 as a, 2 as b) pivot (${list(n, i => `sum(a) as s${i}`)} for b in (${list(n, i => `${i} as v${i}`)}))`,
  'names of a WITH expression': n => `select with(${list(n, i => `a${i} as ${i}`)}, 1) as x`,
  'names of a WITH expression in a chain': n => `select with(a0 as rand(), ${list(n, i => `a${i + 1} as a${i} + rand()`)}, a${n}) as x`,
  'recursive subsets': n => `with recursive ${list(n, i => `t${i} as (select 1 as x union all select x + 1 from t${i})`)} select 1 as x`,
  'subsets of WITH RECURSIVE in a chain': n => `with recursive ${list(n, i => `t${n - i} as (select x from t${n - i - 1})`)}, t0 as (select 1 as x) select x from t${n}`,
  'branches of FULL UNION ALL BY NAME': n => list(n, i => `select ${i} as c${i}`, ' full union all by name '),
  'arguments of COALESCE before a subquery': n => `select coalesce(${list(n, () => 'id')}, (select 'x')) as x from edge_logs`,
  'subqueries in COALESCE': n => `select coalesce(${list(n, () => '(select 1)')}) as x`,
  'subqueries that may fail in COALESCE': n => `select coalesce(${list(n, () => "(select error('x'))")}) as x`,
  'subqueries in branches of CASE': n => `select case ${list(n, i => `when id = '${i}' then (select ${i})`, ' ')} end as x from edge_logs`,
  'COALESCE in COALESCE before a subquery': n => `select ${nested(Math.min(n, 180), 'coalesce(', `[${list(n, () => '1')}]`, ", (select error('x')))")} as x`,
  'WITH RECURSIVE in one another': n => nested(Math.min(n, 190), 'with recursive a as (', `select [${list(n, () => '1')}] as x`, ') select 1 as x'),
  'aggregates over subqueries in one another': n => `select ${nested(Math.min(n, 60), 'count(*) + (select ', `array_length([${list(n, () => 'id')}])`, ' from edge_logs limit 1)')} as x from edge_logs`,
  'names of the last of many tables': n => `select [${list(n, () => 'zz')}] as x from ${list(Math.min(n, 180), i => `edge_logs e${i}`)}, (select 'a' as zz)`,
  'names of an outer query': n => `select ${nested(Math.min(n, 60), '(select ', `array_length([${list(n, () => 'zz')}])`, ' from edge_logs e1, edge_logs e2 limit 1)')} as x from (select 'a' as zz)`,
  'USING of one name': n => `select 1 as x from edge_logs e ${list(Math.min(n, 100), i => `cross join (select 1 as c) e${i}`, ' ')} join edge_logs b using (${list(n, () => 'id')})`,
  'columns renamed': n => `from ${wide(Math.min(n, 900))} ${list(n, i => `|> rename ${i % 2 ? 'd0 as c0' : 'c0 as d0'}`, ' ')}`,
  'columns dropped': n => `from ${wide(Math.min(n, 900))} ${list(Math.min(n, 899), i => `|> drop c${i}`, ' ')}`,
  'columns ordered': n => `from ${wide(Math.min(n, 900))} ${list(n, () => '|> order by 1', ' ')}`,
  'windows that name a chain': n => `select [${list(n, () => `count(*) over w${n}`)}] as x from edge_logs window w0 as (order by id), ${list(n, i => `w${i + 1} as (w${i})`)}`,
  'a long JSON literal in a window': n => `select [${list(n, () => 'count(*) over w')}] as x from edge_logs window w as (partition by to_json_string(json '[${list(n * 6, () => '1')}]'))`,
  'records in one another': n => `select [${['1', '1.5'].map(last => nested(Math.min(n, 180), '(', `${list(n, () => '1')}, ${last}`, ', 1)')).join(', ')}] as x`,
  'arrays in calls in one another': n => `select ${nested(Math.min(n, 180), 'array_reverse(', `array_concat(${list(n, () => '[1]')})`, ')')} as x`,
  'sums of calculated values': n => `select ${list(n, i => `${nested(9, '(', 'sqrt(x)', `${` + sqrt(x + ${i})`.repeat(11)})`)} as c${i}`)} from (select 1.5 as x)`,
  'sums in brackets': n => `select ${list(n, i => `${nested(10, '(', '1.5', `${' + 1.5'.repeat(190)})`)} as c${i}`)}`,
  'a wide row in COALESCE': n => `select to_json_string(coalesce(${list(n, () => 't')})) as x from ${wide(Math.min(n, 900))} t`,
  'wide rows in COALESCE': n => `select to_json_string(coalesce(${list(n, () => 't, u')})) as x from ${wide(Math.min(n, 900))} t, ${wide(Math.min(n, 900))} u`,
  'the text of a wide record': n => `select 1 as x from unnest([struct(${list(Math.min(n, 900), i => `1 as c${i}`)})]) t where ${list(n, () => "to_json_string(t) = ''", ' or ')}`,
  'UNNESTs over a wide subset': n => `with w as (select ${list(900, i => `${i} as c${i}`)}) select 1 as x from ${list(18, i => `w as w${i}`)} ${list(Math.min(n, 150), i => `cross join unnest([1, 2]) m${i}`, ' ')}`,
  'RIGHT JOINs with UNNEST in one another': n => `select ${nested(Math.min(n, 60), 'array(select 1 from edge_logs right join unnest(', `[${list(n, () => '1')}]`, ') on true)')} as x`,
  'RIGHT JOINs of a wide subset': n => `with w as (select ${list(900, i => `${i} as c${i}`)}) select 1 as x from ${list(18, i => `w as w${i}`)} ${list(Math.min(n, 150), i => `right join edge_logs e${i} on true`, ' ')}`,
  'FULL JOINs with a subquery of both sides': n => `select 1 as x from edge_logs a0${list(Math.min(n, 90), i => ` full join edge_logs a${i + 1} on exists (select 1 from auth_logs l where l.id = a${i}.id and l.id = a${i + 1}.id)`, '')}`,
  'LEFT JOINs with a subquery of both sides': n => `select 1 as x from edge_logs a0${list(Math.min(n, 90), i => ` left join edge_logs a${i + 1} on exists (select 1 from auth_logs l where l.id = a${i}.id and l.id = a${i + 1}.id)`, '')}`,
  'names of a WITH expression before a long body': n => `select with(${list(190, i => `a${i} as rand()`)}, array_length([${list(n, () => '1')}])) as x`,
  'types that close at once between brackets': n => `select 1 as x from ${list(n, i => `((select cast(null as struct<a array<int64>>)) union all (select null)) t${i}`)}`,
  'keys of ROLLUP in many sets': n => `select count(*) as n from edge_logs group by rollup((${list(n, () => 'id')}), ${list(60, () => 'id')})`,
  'columns of UNPIVOT': n => `select 1 as x from (${list(Math.min(n, 100), i => `(select ${i} as c${i}) t${i}`, ' cross join ')} cross join edge_logs) unpivot (v for k in (${list(n, () => 'c0')}))`,
  'a long text in calls that have lambdas': n => `select ${nested(Math.min(n, 16), 'array_to_string(split(', `(select '${'a'.repeat(n)}')`, ", ','), ',', 'x')")} as x`,
  'calculated elements of IN with a number': n => `select 1 as x from edge_logs where 1 in (${list(n, () => '-ascii(id)')})`,
  'positions of a long value in ORDER BY': n => `select concat(${list(n, () => 'id')}) as a from edge_logs order by ${list(n, () => '1')}`,
  'positions of a long value in GROUP BY': n => `select concat(${list(n, () => 'id')}) as a from edge_logs group by ${list(n, () => '1')}`,
  'aliases of a long value in ORDER BY': n => `select concat(${list(n, () => 'id')}) as a from edge_logs order by ${list(n / 2, () => 'lower(a)')}`,
  'aliases of a long value in HAVING': n => `select max(concat(${list(n, () => 'id')})) as a from edge_logs having ${list(n / 3, () => "a = ''", ' and ')}`,
  'aliases of a long value in QUALIFY': n => `select concat(${list(n, () => 'id')}) as a from edge_logs qualify ${list(n / 3, () => "a = ''", ' and ')}`,
  'aliases of a long array': n => `select [${list(n, () => '1')}] as a from edge_logs order by ${list(n / 10, () => 'array_length(array_reverse(a))')}`,
  'values of PIVOT for a call of many arguments': n => `select * from (select 1 as a, 2 as b) pivot (greatest(sum(a), ${list(n, () => '1')}) for b in (${list(900, i => `${i}`)}))`,
  'values of PIVOT for a long constant': n => `select * from (select 'x' as a, 2 as b) pivot (max(concat(${list(n, () => "'a'")}, a)) for b in (${list(900, i => `${i}`)}))`,
  'columns set': n => `from ${wide(900)} ${list(n / 500, () => `|> set ${list(900, i => `c${i} = 1`)}`, ' ')}`,
  'columns renamed at once': n => `from ${wide(900)} ${list(n / 500, () => `|> rename ${list(900, i => `c${i} as c${i}`)}`, ' ')}`,
  'a long text in calls that name it twice': n => `select ${nested(Math.min(n, 50), 'greatest(1, ', `length(concat(${list(n, () => 'id')}))`, ')')} as x from edge_logs`,
  'calls in GREATEST': n => `select greatest(${list(n, i => `abs(${i})`)}) as x from edge_logs`,
  'columns in LEAST': n => `select least(${list(n, () => 'c')}) as x from (select 1.5 as c)`,
  'SAFE calls of a long constant': n => `select with(a as concat(${list(n, () => "'a'")}), array_length([${list(n / 3, () => 'safe.lower(a)')}])) as x`,
  'sums in brackets after a long array': n => `select ${nested(4, '(', `array_length([${list(n, () => '1')}])`, `${' + 1'.repeat(190)})`)} as x`,
  'sums in an array': n => `select [${list(n, () => '1 + 1.5')}] as x`,
  'sums in brackets in an array': n => `select [${list(n, () => nested(5, '(', '1', ' + 1 + 1)'))}] as x`,
  'sums of many columns in calls that have lambdas': n => `select [${list(n / 600, () => `array_to_string(split(cast(((((c0${list(4, k => `${list(150, i => ` + c${k * 150 + i}`, '')})`, '')} as string), ','), ',', 'x')`)}] as x from ${wide(700)}`,
  'comparisons of deep records': n => `select 1 as x from ${list(2, i => `(select ${nested(150, '(', list(200, () => '1'), ', 1)')} as s) t${i}`)} where ${list(n, () => 't0.s = t1.s', ' or ')}`,
  'comparisons of wide records': n => `select 1 as x from ${list(2, i => `(select (${list(400, () => '1')}) as s) t${i}`)} where ${list(n, () => 't0.s = t1.s', ' or ')}`,
  'comparisons of records': n => `select 1 as x from (select (1, 2) as a) where ${list(n, () => '(1, 2) = a', ' or ')}`,
  'comparisons of arrays': n => `select 1 as x from (select [1, 2] as a) where ${list(n, () => '[1, 2] = a', ' or ')}`,
  'LEFT JOINs with subqueries of a wide subset': n => `with w as (select ${list(900, i => `${i} as c${i}`)}) select 1 as x from ${list(18, i => `w as w${i}`)} ${list(Math.min(n, 150), i => `left join edge_logs e${i} on e${i}.id in (select 'x')`, ' ')}`,
  'a name that FULL JOINs have merged': n => `select [${list(n, () => 'id')}] as x from edge_logs e ${list(Math.min(n, 150), i => `full join edge_logs e${i} using (id)`, ' ')}`,
  'USING of many names over many tables': n => `with w as (select ${list(200, i => `${i} as c${i}`)}), s as (select 1 as x) select 1 as y from w, ${list(100, i => `s s${i}`)} ${list(Math.min(n, 90), i => `join w w${i} using (${list(200, k => `c${k}`)})`, ' ')}`,
  'numbers to order by': n => `select 1 as x from (select 1.5 as f) order by ${list(n, () => 'f + 1')}`,
  'calculated patterns of LIKE ANY': n => `select 1 as x from edge_logs where lower(id) like any (${list(n, () => 'lower(id)')})`,
  'calls of IF': n => `select [${list(n, () => "if(id = '', 1, 2)")}] as x from edge_logs`,
  'elements of JSON_ARRAY': n => `select to_json_string(json_array(${list(n, () => '1')})) as x`,
  'subqueries in MAX in one another': n => `select ${nested(Math.min(n, 60), 'max((select ', `concat(${list(n, () => 'id')})`, ' from edge_logs limit 1))')} as x from edge_logs`,
  'records of two types in UNION ALL': n => list(n / 200, i => `select (${list(200, () => (i % 2 ? '1.5' : '1'))})`, ' union all '),
  'statements': n => '; '.repeat(n),
  'opening brackets': n => `select ${'['.repeat(n)}`,
  'dots': n => `select ${'.'.repeat(n)}`,
};

/** The longest text of a kind with so many characters, by default as many as a caller may send. Many of those have too many tokens. */
export const textOfLength = (text: GrowingText, length = maxTextLength): string =>
  longest(text, sql => sql.length <= length);

/** The longest text of a kind with as many characters and tokens as a caller may send. */
export const textWithinLimits = (text: GrowingText): string =>
  longest(text, sql => sql.length <= maxTextLength && tokensOf(sql) <= maxCallerTokens);

function longest(text: GrowingText, fits: (sql: string) => boolean): string {
  let [fitting, tooLong] = [1, maxTextLength];
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (fits(text(middle))) fitting = middle;
    else tooLong = middle;
  }
  return text(fitting);
}

/** The number of tokens of a text; 0 if it is refused before they are counted. */
function tokensOf(sql: string): number {
  try {
    return lex(sql).length;
  } catch {
    return 0;
  }
}
