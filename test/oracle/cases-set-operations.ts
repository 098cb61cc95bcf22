import type { CaseGroup } from './case-group.ts';

const operators = [
  'union all',
  'union distinct',
  'intersect all',
  'intersect distinct',
  'except all',
  'except distinct',
];

const branches: readonly (readonly [string, string])[] = [
  ['select 1 as a, 2.5 as b', 'select 3 as b, 1 as a'],
  ['select i as a, s as b from facts', "select 'beta' as b, id as C from facts"],
  ['(select 1 as a, 2 as b union all select 1, 2)', 'select distinct b, 1 as c from (select 2 as b)'],
  ['select 1 as a, null as b', 'select 1 as d'],
];

/** Set operations: duplicates kept, and columns matched by their names. */
export const setOperationCases: CaseGroup = {
  same: [
    'select b from facts intersect all select b from facts where id < 4',
    'select i from facts except all select i from facts where id = 1',
    'select i from facts except all (select 7 except all select 7)',
    'select f from facts intersect all select f from facts order by 1',
    "select cast('nan' as float64) as x intersect all select cast('nan' as float64)",
    'select 1 as a, 2 as b union all corresponding select 3 as b, 4 as a union all corresponding select 5 as a, 6 as b order by a',
    'select a from (select 1 as a, 2 as b union all corresponding (select [1] as c, 2.5 as a)) order by a',
    'select * from ((select 1 as a) union all corresponding (select 2 as b, 3 as a)) as t order by a',
    'select t.a, s from ((select 1 as a) as t left join facts on id = a) order by a',
    'select 1 as a, union all select 2 order by a',
    'select 1 as a, 2, union all select 2, 3, limit 5',
    'select i as a from facts union all select id from lists order by a is null, -a',
    "select 'x' as k, 1 as n union all select 'total', 2 union all select 'a', 5 order by case when k = 'total' then 1 else 0 end, k",
    'select i as a from facts union distinct select id from lists order by 1 desc, abs(a) limit 3 offset 1',
    'select f as a from facts union all select 0.5 order by a * 2 desc',
    'select 1 as x, 2 as y union all select 2, 3 order by (select max(z) from unnest([x, y]) z) desc',
    'select (select x from (select 1 as x union all select 2 order by x + f.id desc limit 1)) as v from facts f order by f.id',
    'with a as (select 1 as x union all select 2) (select x from a union all select 5) order by -x',
    "select date '2024-01-01' as d union all select '2024-02-01'",
    "select date '2024-01-01' as d union all (select '2024-02-01')",
    "select '2024-02-01' as d union all select '2024-03-01' union all select d from facts group by d",
    "select t from facts union all select '2024-02-01 00:00:00+02' as t union all select null",
    "select t from facts where b union distinct (select '2024-02-01 00:00:00 America/New_York' from facts)",
    "select '2024-02-01' as d intersect distinct select date '2024-02-01'",
    "select '2024-02-01' as d except distinct select date '2024-02-01'",
    "select struct(date '2024-01-01' as a) as s union all select struct('2024-02-01')",
    'select [1, 2] as a union all select [1.5]',
    "select [date '2024-01-01'] as a union all select ['2024-02-01']",
    'select [1] as a union all select [id + 0.5] from facts where id = 1',
    "select 1 as a, '2024-02-01' as b union all corresponding select date '2024-01-01' as b, 2 as a",
    'select struct(1 as a) as x union all select struct(0) order by x.a',
    'select to_json_string(t) as v from (select 1 as a, [1] as b union all select 2, [] order by -a limit 1) t',
    'select ((select 1) union all (select 2) limit 1) in (1, 2) as v',
    'select ((select 1 as x) union distinct (select 1)) as v',
    'select ((select 3 as x)) + ((select 1 as x) order by 1 limit 1) as v',
    'select 1 + ((select 2 as x) intersect distinct ((select 2))) as v',
    'select 1 in ((select 1) union all (select 2)) as v, 3 not in ((select 1 union all select 2) union all (select 4)) as w',
    'select id in ((select 1) union all (select id from lists) limit 100) as v from facts order by id',
  ],
  fail: [
    'select 1 as a full union all select 2',
    'select 1 as a union all strict select 2 as a',
    'select 1 as a full union all strict corresponding select 2 as a',
    'select 1 as a union all corresponding select 2 as a union all select 3',
    'select 1 as a union all corresponding by (a, a) select 2 as a',
    'select 1 as a, 2 as a union all corresponding select 2 as a',
    'select 1 union all strict corresponding select 2 as a',
    'select 1 as a union all strict corresponding select 2 as b',
    'select 1 as a union all corresponding select 2 as b',
    'select 1 as a left union all corresponding select 2 as b',
    "select 1 as a union all corresponding select 'x' as a",
    'select as struct 1 as a union all corresponding select as struct 2 as a',
    'select 1 as a inner join select 2 as a',
    'select id from facts union all select id from lists order by facts.id',
    'select 1 as x union all select 2 order by x + y',
    'select 1 as x union all select 2 order by count(*)',
    'select struct(1 as a) as x union all select struct(0) order by x',
    'select struct(1 as a) as x union all select struct(0) order by 1',
    "select 1 as x union all select 2 order by 'x'",
    "select d from facts union all select 'x'",
    "select date '2024-01-01' as d union all (select '2024-02-01' limit 1)",
    "select date '2024-01-01' as d union all select * from (select '2024-02-01')",
    "select date '2024-01-01' as d union all select distinct '2024-02-01' from facts",
    "select date '2024-01-01' as d union all select @p",
    'select numbers from lists union all select [1.5]',
    'select ((select 1) union all (select 2)) as v',
    'select ((select 1) union (select 2)) as v',
    'select ((select 1), (select 2) limit 1) as v',
  ],
  agree: operators.flatMap(operator =>
    branches.map(([left, right]) => `${left} ${operator} corresponding ${right}`),
  ),
  answered: [
    [
      'select 1 as a, 2 as b union all by name select 3 as b, 4 as a order by a',
      [
        ['1', '2'],
        ['4', '3'],
      ],
    ],
    [
      'select 1 as a, 2 as b union all strict corresponding select 3 as b, 4 as a order by a',
      [
        ['1', '2'],
        ['4', '3'],
      ],
    ],
    ['select 1 as a, 2 as b inner union all by name select 3 as b order by b', [['2'], ['3']]],
    [
      'select 1 as a, 2 as b outer union all by name on (b, c) select 3 as c order by b',
      [
        [null, '3'],
        ['2', null],
      ],
    ],
    [
      'select 1 as a full union all corresponding select 3 as c full union all corresponding select 1.5 as a order by a',
      [
        [null, '3'],
        ['1', null],
        ['1.5', null],
      ],
    ],
    [
      'select 1 as a, 2 as b left union all corresponding select 3 as b, 4 as c left union all corresponding select 9 as a order by a, b',
      [
        [null, '3'],
        ['1', '2'],
        ['9', null],
      ],
    ],
    [
      'select a, c from (select 1 as a full union all corresponding select [1] as c) order by a',
      [
        [null, ['1']],
        ['1', []],
      ],
    ],
    [
      'select count(*) as n, b from facts where b group by b full union all corresponding select b, id from facts where id = 2 order by n',
      [
        [null, false, '2'],
        ['3', true, null],
      ],
    ],
    [
      'select b, count(*) as n from facts group by b inner union all by name select 1 as n order by n',
      [['1'], ['2'], ['3'], ['3']],
    ],
    [
      'select distinct b, 7 as n from facts where b left union all corresponding select 1 as n order by n',
      [
        [null, '1'],
        [true, '7'],
      ],
    ],
  ],
};
