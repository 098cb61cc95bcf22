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
