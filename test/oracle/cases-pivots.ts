import type { CaseGroup } from './case-group.ts';

const source = '(select b, i, f, s, id from facts)';

/** PIVOT and UNPIVOT. */
export const pivotCases: CaseGroup = {
  same: [
    `select * from (select b, i from facts) pivot (count(*) for i in (7, 0, -7, null)) order by b`,
    `select * from (select b, i, id from facts) pivot (sum(id) as total, max(id) as top for i in (7 as seven, 0)) order by b`,
    `select * from (select b, s, id from facts) pivot (sum(id) for s in ('Alpha', 'beta' as second)) as p order by p.b`,
    `select p.b, _7 from (select b, i, f from facts) as t pivot (avg(t.f) for t.i in (7)) as p order by b`,
    `select * from (select b, id from facts) pivot (sum(id) for b in (true, false, null))`,
    `select * from (select s, id from facts) pivot (sum(id) for s in ('', 'beta'))`,
    `select * from (select d, id from facts) pivot (min(id) for d in (date '2026-01-15', date '2024-02-29'))`,
    `select * from (select b, id from facts where false) pivot (count(id) for b in (true, false))`,
    `select * from (select i, b, id from facts where false) pivot (count(id) for b in (true, false))`,
    `select * from (select b, i, id from facts) pivot (array_agg(id order by id desc) for i in (7, 1)) order by b`,
    `select * from (select b, i, s from facts) pivot (string_agg(s, '-' order by s) for i in (7, 1)) order by b`,
    `select * from (select b, i, s from facts) pivot (count(distinct s) for i in (7, 1)) order by b`,
    `select * from (select b, i, s from facts) pivot (any_value(s) for i in (0, 1)) order by b`,
    `select count(*) as n from (select b, i from facts) pivot (count(*) for i in (7)) join lists on _7 = id`,
    `select f.id, yes from facts f join (select id, b from facts) pivot (count(*) for b in (true as yes)) as p on f.id = p.id and f.id < 4 order by f.id`,
    `select (select yes from (select b from facts) pivot (count(*) for b in (true as yes))) as n`,
    `select * from (select id, i, f from facts where id < 5) unpivot (v for k in (i)) order by id`,
    `select * from (select id, i, length(s) as l from facts) unpivot (v for k in (i, l)) order by id, k`,
    `select * from (select id, i, length(s) as l from facts) unpivot include nulls (v for k in (i as 'one', l as 'two')) order by id, k`,
    `select * from (select id, i, length(s) as l from facts) unpivot exclude nulls (v for k in (i as 1, l as 2)) as u order by u.id, u.k`,
    `select * from (select id, i, length(s) as l, s, cast(d as string) as x from facts) unpivot ((n, t) for k in ((i, s), (l, x))) order by id, k`,
    `select k, sum(v) as s from facts unpivot (v for k in (i, id)) group by k order by k`,
    `select id, (select sum(v) from (select 1 as x, f.id as y) unpivot (v for k in (x, y))) as s from facts f order by id`,
  ],
  refused: ['select * from lists pivot (count(*) for id in (1))'],
  fail: [
    `select * from (select b, f, i from facts) pivot (max(f) for i in (7, 1)) pivot (max(_7) for b in (true as yes, false as nay)) order by 1`,
    `select * from ${source} pivot (i for b in (true))`,
    `select * from ${source} pivot (count(*), sum(i) for b in (true))`,
    `select * from ${source} pivot (count(*) for b in (id))`,
    `select * from ${source} pivot (count(*) for b in ('x'))`,
    `select * from ${source} pivot (count(*) over () for b in (true))`,
    `select * from ${source} pivot (count(*) for count(*) in (1))`,
    `select f.id from facts f pivot (count(*) for b in (true as yes))`,
    `select * from ${source} unpivot (v for k in (i, s))`,
    `select * from ${source} unpivot (v for k in (nope))`,
    `select * from ${source} unpivot ((v, w) for k in (i, id))`,
    `select * from ${source} unpivot (v for k in (i as 1, id as 'x'))`,
    `select i from ${source} unpivot (v for k in (i))`,
  ],
};
