import type { CaseGroup } from './case-group.ts';

/** Analytic functions, frames, QUALIFY. */
export const windowCases: CaseGroup = {
  same: [
    "select x, rank() over (order by x) as r from unnest([1.5, cast('nan' as float64), 0.5, 0.5]) x order by x",
    'select id, row_number() over (order by i desc, id) as rn, rank() over (order by i) as r, dense_rank() over (order by i) as dr from facts order by id',
    'select id, lag(i) over (order by id) as p, lead(i) over (order by id) as n, lag(i, 2) over (order by id) as p2 from facts order by id',
    "select id, lag(i, 1, -1) over (order by id) as p, lead(s, 2, 'none') over (order by id) as n from facts order by id",
    'select id, lag(f, 1, 0) over (order by id) as p from facts order by id',
    'select id, first_value(i) over (partition by b order by id) as f, last_value(i) over (partition by b order by id) as l, nth_value(i, 2) over (partition by b order by id) as n from facts order by id',
    'select id, first_value(i ignore nulls) over (order by id desc) as f, last_value(i ignore nulls) over (order by id rows between unbounded preceding and unbounded following) as l from facts order by id',
    'select id, sum(id) over (order by id rows between 1 preceding and 1 following) as s from facts order by id',
    'select id, sum(i) over (partition by b) as s, count(*) over () as n, avg(id) over (order by id) as a from facts where id < 7 order by id',
    'select id, sum(id) over (order by id range between 2 preceding and current row) as s from facts order by id',
    'select id, sum(id) over (order by b) as s from facts order by id',
    'select id, ntile(3) over (order by id) as n, percent_rank() over (order by i) as p, cume_dist() over (order by i) as c from facts order by id',
    'select id, percentile_cont(f, 0.5) over () as p from facts where f < 100 order by id',
    'select id, percentile_disc(f, 0.5) over (partition by b) as p from facts order by id',
    'select id, percentile_disc(i, 0.5) over () as p from facts order by id',
    'select id, count(*) over w as n from facts window w as (partition by b order by id) order by id',
    'select id, min(s) over (order by id rows 1 preceding) as m from facts order by id',
    "select id, string_agg(s, '|') over (order by id) as m from facts order by id",
    'select id from facts qualify row_number() over (partition by b order by id desc) = 1 order by id',
    'select b, count(*) as n, rank() over (order by count(*) desc) as r from facts group by b order by b',
    'select id, countif(b) over (order by id) as c, logical_and(b) over (order by id) as l from facts order by id',
    "select id, sum(i) over (partition by json_value(coalesce('no json', s), '$.a') order by id) as x from facts order by id",
    "select id, count(*) over (partition by json_query(coalesce('{', s), '$.a')) as x from facts order by id",
    'select id, percentile_cont(f, 0.5) over () as p from facts where not is_nan(f) order by id',
    'select id, date_diff(d, lag(d) over (order by d, id), day) as x from facts order by id',
  ],
  fail: [
    'select id, count(*) over (partition by f) as n from facts',
    'select id, count(*) over (partition by 1.5) as n from facts',
    "select id, count(*) over (partition by json '1') as n from facts",
    'select id, count(*) over w as n from facts window w as (partition by f)',
  ],
  refused: [
    'select id, count(*) over (partition by [id]) as n from facts',
    'select id, count(*) over (partition by struct(id)) as n from facts',
    "select percentile_cont(x, 0.5) over () as p from unnest([cast('nan' as float64), 1.5]) x",
    "select percentile_disc(x, 0.5) over () as p from unnest([cast('nan' as float64), 1.5]) x",
  ],
};
