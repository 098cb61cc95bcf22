import type { CaseGroup } from './case-group.ts';

/** WITH(a AS 1, a + 1): names for values within an expression. */
export const withExpressionCases: CaseGroup = {
  same: [
    'select WITH(a AS 1, b AS a+1, a+b)',
    "select with(a as '123', b as concat(a, '456'), c as '789', concat(b, c))",
    'select with(a as rand(), a - a)',
    'select with(s as sum(i), c as count(i), s/c) from facts where i < 10',
    'select avg(with(d as i+1, d * d)) from facts where i < 100',
    'select with(d as i+1, e as d+d, f as e+e, f*e) from facts where i < 100',
    'select with(a as id, (select a + x from unnest([1]) x)) from facts',
    'select with(a as id + 1, (select a + x from unnest([1]) x)) from facts',
    'select with(a as id + 1, with(b as a * 2, a + b)) from facts',
    'select id in (with(a as 1, a)) from facts',
    'select with(id as i, id) from facts',
    'select id, count(*) from facts group by id, with(a as id + 1, a)',
    'select with(a as id + 1, a) k, count(*) from facts group by k',
  ],
  fail: ['select with(d as i+1, avg(d)) from facts', 'select with(a as 1, a as 2, a)'],
};
