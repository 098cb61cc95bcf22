import type { CaseGroup } from './case-group.ts';

const entry = `parse_json('{"event":[{"parameter":[{"name":"mail","value":"a@b.c"},{"name":"ok","boolValue":true}]}]}')`;
const parameters = `unnest(json_query_array(${entry}.event[0].parameter)) as x`;

/** Forms that published queries over audit, flow and request logs take. */
export const logAnalyticsCases: CaseGroup = {
  same: [
    "select max(t) as last_seen, case when s like 'A%' then 'console' when s like 'b%' then 'cli' else 'other' end as channel, s from facts group by s having channel in ('console', 'cli') order by last_seen desc",
    'select * from (select *, avg(n) over (order by day rows between unbounded preceding and 1 preceding) as a, stddev(n) over (order by day rows between unbounded preceding and 1 preceding) as sd, count(*) over (range between unbounded preceding and unbounded following) as samples from (select extract(date from t) as day, array_agg(distinct s ignore nulls order by s) as names, count(*) as n from facts group by day)) where n > a + 2 * sd or n > 1 order by n desc, day',
    `select id, (select json_value(x.value) from ${parameters} where json_value(x.name) = 'mail') as mail from facts where exists (select * from ${parameters} where json_value(x.boolValue) = 'true') order by id`,
    'select k, any_value(names having max array_length(names)) as names, array_agg(struct(n, d) order by n desc, d) as days from (select b as k, d, array_agg(distinct s ignore nulls order by s) as names, count(*) as n from facts group by k, d) where n > 1 group by k order by k',
    String.raw`select timestamp_trunc(timestamp(regexp_replace(x, r'\.(\d{0,6})\d+(Z)?$', '.\\1\\2')), hour) as h, count(distinct y) as n from unnest([struct('2026-01-15T09:00:00.123456789Z' as x, 1 as y), ('2026-01-15T09:59:59.512345678Z', 2), (null, 3)]) group by h having n > 1 or h is null order by h`,
    "select ip, logical_or((o = 0 and r = 'SRC') or (o = 1 and r = 'DEST')) as inside, format('%.2f', sum(if(o = 0, cast(bytes as int64) / power(2, 20), 0))) as mb from (select 'SRC' as r, '123456789' as bytes, ['10.0.0.1', '10.0.0.2'] as pair) as p cross join unnest(p.pair) as ip with offset as o group by ip order by inside desc, ip",
    "select s, count(s) * 100 / (select count(*) from facts where s != '') as share from facts group by s order by share desc, s",
    "select if(min(t) >= timestamp_sub(timestamp '2026-01-15 12:00:00+00', interval 1 day), 1, 0) as is_new, coalesce(s, 'unknown') as s, array_agg(distinct i ignore nulls order by i) as seen, count(*) counter from facts group by s order by is_new desc, counter desc, s",
    'select distinct(b), count(*) as n from facts group by b order by b',
    "select split(s, ' ')[safe_offset(1)] as part, regexp_extract(s, '([a-z]+)') as word from facts order by id",
  ],
};
