import type { CaseGroup } from './case-group.ts';

/** ROLLUP, CUBE, GROUPING SETS and GROUPING, which the reference parses and does not run: see grouping-sets.test.ts. */
export const groupingSetCases: CaseGroup = {
  same: [],
  fail: [
    'select b, grouping(d) as g from facts group by rollup(b)',
    'select grouping(b) as g from facts',
    'select b, d from facts group by rollup(b)',
    'select b from facts where grouping(b) = 1 group by rollup(b)',
    'select grouping() as g from facts group by rollup(b)',
    'select grouping(b, d) as g from facts group by rollup(b, d)',
    'select grouping(distinct b) as g from facts group by rollup(b)',
    'select b from facts group by rollup()',
    'select b from facts group by grouping sets ()',
    'select count(*) from facts group by cube(array_agg(b))',
    'select b from facts group by b, rollup(d)',
    'select count(*) as n from facts group by cube(b, d, f, s, i, t, id)',
  ],
  answered: [
    ['select count(*) as n from facts group by ()', [['8']]],
    ['select count(*) as n from facts where false group by ()', [['0']]],
    ['select count(*) as n from facts where false group by grouping sets (b)', []],
    [
      'select b, grouping(b) as g, count(*) as n from facts group by rollup(b) order by g, b',
      [
        [null, '0', '2'],
        [false, '0', '3'],
        [true, '0', '3'],
        [null, '1', '8'],
      ],
    ],
    ['select b, count(*) as n from facts group by rollup(b) having grouping(b) = 1', [[null, '8']]],
    [
      'select b, sum(id) as s from facts group by rollup(b) order by grouping(b) desc, b',
      [
        [null, '36'],
        [null, '10'],
        [false, '15'],
        [true, '11'],
      ],
    ],
    ['select b, grouping(b) as g from facts where b group by b', [[true, '0']]],
    [
      'select ifnull(b, true) as k, grouping(ifnull(b, true)) as g, sum(id) as s from facts group by rollup(k) order by g, s',
      [
        [false, '0', '15'],
        [true, '0', '21'],
        [null, '1', '36'],
      ],
    ],
    [
      'select round(f / 1000, 2) as k, grouping(round(f / 1000, 2)) as g, count(*) as n from facts where id in (1, 2, 4) group by rollup(k) order by g, k',
      [
        [null, '0', '1'],
        ['0', '0', '2'],
        [null, '1', '3'],
      ],
    ],
    [
      'select b, count(*) as n, rank() over (order by count(*), grouping(b)) as r from facts group by rollup(b) order by r, b',
      [
        [null, '2', '1'],
        [false, '3', '2'],
        [true, '3', '2'],
        [null, '8', '4'],
      ],
    ],
  ],
};
