import type { CaseGroup } from './case-group.ts';

/** Subqueries in branches that are not taken. */
export const guardCases: CaseGroup = {
  same: [
    'select struct(if(false, 7, a.id) as a, ifnull(1e3, (select v.x from (select a.id / 1 as x) v)) as b) as k, count(*) as n, any_value(if(false, 7, a.id)) as x from facts a group by k',
    'select if(a.id > 5, (select 1 / a.id), 2.0) as k, count(*) as n from facts a group by k',
    'select if(a.id > 5, (select 1 / a.id), 2.0) + 1 as k, if(a.id > 0, (select 1 / a.id), 0.5) as v from facts a group by a.id',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT IF((SELECT COUNT(*) FROM T) > 0, 1, (SELECT 1/a FROM T ORDER BY a LIMIT 1))',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT CASE WHEN (SELECT COUNT(*) FROM T) > 0 THEN 1 ELSE (SELECT a/(a-1) FROM T ORDER BY a LIMIT 1) END',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT IF((SELECT COUNT(*) FROM T WHERE a < outerT.b) > 0, 1, (SELECT 1/a FROM T WHERE a < outerT.b ORDER BY a LIMIT 1)) FROM T outerT',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT CASE WHEN (SELECT COUNT(*) FROM T WHERE a < outerT.b) > 0 THEN 1 ELSE (SELECT a/(a-1) FROM T WHERE a < outerT.b ORDER BY a LIMIT 1) END FROM T outerT',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT IF (a >= 0, a, (SELECT SUM(1/a) FROM T)) FROM T GROUP BY a',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT IF (a >= 0, a, (SELECT SUM(1/a) FROM T AS t2 WHERE t2.b < 20 )) FROM T GROUP BY a',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT a, IF (a >= 0, count(*), (SELECT SUM(1/a) FROM T AS t2 WHERE t2.b < T.a )) FROM T GROUP BY a',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(exists(select 1 from T t2 where t2.a = T.a), 5, (select 1/0)) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(T.a in (select a from T), 5, (select sum(t3.a) from T t3 where t3.a = T.a)) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(T.a > 5, (select 1/a from T t3 union all select 1/0), 7) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(T.a > 5, (select 1/a from T t3 union all (select 1/0 union distinct select 2) order by 1 limit 1), 7) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(T.a > 5, (select 1/a from T t3 where t3.a = T.a intersect distinct select 1/0), 7) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT coalesce((select max(a) from T), (select 1/0))',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT ifnull((select max(a) from T t2 where t2.a <= T.a), (select 1/T.a)) from T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(T.a >= 0, 3, (select 1/t.a from unnest([1,0]) x limit 1)) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if(exists(select 1 from T t2 where t2.a > T.a), (select 1/(t3.a + 1) from T t3 where t3.a = T.a), (select t3.a/1 from T t3 where t3.b = T.b)) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if((select max(b) from T t2 where t2.a = T.a) > 2, array(select 1/(t3.a + 1) from T t3 where t3.a <= T.a order by 1), [5.0]) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if((select max(b) from T t2 where t2.a = T.a) > 2, T.a in (select cast(1/(t3.a + 1) as int64) from T t3 where t3.a <= T.a), false) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT if((select max(b) from T t2 where t2.a = T.a) > 2, exists(select 1 from T t3 where 1/(t3.a + 1) > 0.4 and t3.a <= T.a), false) FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) SELECT case when exists(select 1 from unnest([T.a]) x where x > 0) then (select 10/T.a) when (select T.a) = 0 then (select 5/(T.a+1)) else 9 end FROM T',
    'with T as (select 0 as a, 10 as b union all select 1, 0 union all select 2, 3) select b from T where if((select count(*) from T t2 where t2.a < T.a) > 0, (select 1/T.a) > 0.4, true)',
    'with T as (select [1,2] as xs union all select [0]) select if((select min(x) from unnest(xs) x) > 0, (select sum(1/x) from unnest(xs) x), -1) from T',
  ],
};
