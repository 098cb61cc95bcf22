import type { CaseGroup } from './case-group.ts';

const floats = `unnest([cast('nan' as float64), 1, 1.5, cast('inf' as float64), cast('-inf' as float64), null])`;

/** Calculations inside one another: values that the printer names, and where they stand. */
export const letCases: CaseGroup = {
  same: [
    // A name in the array of a correlated subquery.
    'select array(select x from unnest(array_concat(a, array_reverse(a))) x order by x) as v from (select [3, 1, 2] as a)',
    "select array(select distinct upper(x) from unnest(regexp_extract_all(cast(t as string), r'[0-9]')) x order by 1) as v from (select timestamp '2026-01-15 10:00:00+00' as t)",
    "select (select string_agg(x, '|' order by x) from unnest(array_concat(split(s, ','), ['x', null, ''])) x) as v from (select 'b,a' as s)",
    "safe.substr('abc', 1, -1)",
    'safe.div(1, 0)',
    'select safe.div(7, x) from unnest([2, 0, null]) x',
    "select safe.repeat('a', x - 2) from unnest([1, 2, 4]) x",
    'select round(x / 7, 2) from unnest([1.5, 22, null]) x',
    'select round(round(round(x / 7, 3) / 3, 2) * 3, 1) from unnest([1.5, 22, null]) x',
    'select round(sum(x) / 1024 / 1024 / 1024, 2) from unnest([1, 5000000000, null]) x',
    'select round(sum(x) / sum(y), 2) from (select 1 as x, 3 as y union all select 4, 5)',
    'select round(x / 3, 0) as r, count(*) as n from unnest([1.5, 1.6, 9]) x group by r having r > 0 order by r',
    'select round(x / 3, 0) between 0 and 1 as r, count(*) as n from unnest([1.5, 1.6, 9]) x group by r order by r',
    'select case round(x / 3, 0) when 1 then max(y) when 0 then 7 else sum(y) end from (select 3 as x, 4 as y union all select 9, 5) group by x',
    'select case count(*) when 0 then 0 else sum(x) / count(*) end from unnest([1, 2]) x',
    'select case x + 1 when 2 then 5 when 3 then div(7, x - 1) else div(1, x - 3) end from unnest([1, 2, 4]) x',
    'select (select case x + y when 3 then x when 4 then (select max(z) from unnest([x, y]) z) end from unnest([2]) y) from unnest([1, 2]) x',
    'select case x + 1 when 2 then (case x + 2 when 3 then x else 9 end) else (case x + 3 when 5 then x + 100 end) end from unnest([1, 2, 3]) x',
    'select if(x > 1, div(7, x - 2), 0) from unnest([0, 1, 5]) x',
    'select x / 2 + 1 between y and y + 3 from (select 1.5 as x, 1 as y union all select null, 2 union all select 9, 3)',
    'select array(select y * 2 + x from unnest([1, 2]) y where y * 2 + x between 3 and 4) from unnest([1, 2.5]) x',
    `select min(x), max(x) from ${floats} x`,
    'select min(-x) from unnest([0.5, 2.5, null]) x',
    `select x > 1, x >= 1, 1 < x, 1 <= x, x < 1, x <= 1, 1 > x, 1 >= x, x = 1, x != 1 from ${floats} x`,
    `select x > y, x >= y, x = y, x != y, x < y, x <= y from (select abs(x) as x from ${floats} x), ${floats} y`,
    `select abs(x) > abs(y), abs(x) = abs(y), abs(x) <= abs(y) from ${floats} x, ${floats} y`,
    'select sum(round(x / 3, 1)) over (order by round(x / 3, 1)) from unnest([1, 2, 4]) x',
    'select string_agg(cast(round(x / 3, 1) as string) order by round(x / 3, 1)) from unnest([4, 1, 2]) x',
    'select a from (select 1 as a union all select 2) join (select 1.0 as y) on round(a / 1, 0) = y',
    'select [10, 20, 30][offset(x - 1)] from unnest([1, 3]) x',
    "select split(concat(x, '/b'), '/')[offset(0)] from unnest(['a', 'c']) x",
    "select upper(concat(x, 'ß')) like concat('%', 's') or lower(concat(x, 'y')) like any ('a%', concat(x, '%')) from unnest(['a', 'b']) x",
    "select cast(concat(x, '1') as int64) + cast(concat(x, '.5') as float64), safe_cast(concat(x, 'z') as int64) from unnest(['1', '22']) x",
  ],
  fail: [
    'select case x + 1 when 2 then div(1, x - 1) end from unnest([1, 2]) x',
    'safe.ln(1 / 0)',
    'select safe.ln(div(1, x)) from unnest([0]) x',
    'select 1 / (1e308 * x) from unnest([10]) x',
    'select [10, 20][offset(x)] from unnest([1, 2]) x',
    "select cast(concat(x, 'a') as int64) from unnest(['1']) x",
    'select avg(x * 10) from unnest([1e308, 1e308]) x',
  ],
  refused: [],
  answered: [
    ['select approx_quantiles(x, 4)[offset(1)] as v from unnest([1, 2, 3, 4, 5]) x', [['2']]],
    [
      'select round(approx_quantiles(x, 100)[offset(95)] / 1000, 2) as v from unnest([1000, 2500]) x',
      [['2.5']],
    ],
    ['select approx_quantiles(x, 4)[safe_offset(9)] as v from unnest([1, 2]) x', [[null]]],
  ],
};
