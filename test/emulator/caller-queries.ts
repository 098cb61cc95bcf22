/** Queries over the saved query `logs.all`, construct by construct as callers send them. Each has one right order of rows. */
export const callerQueries: readonly string[] = [
  // What a log explorer asks: columns, counts per time, filters over records, the newest first.
  'select id, timestamp, event_message, metadata from edge_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from postgres_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from function_edge_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from function_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from auth_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from storage_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from postgrest_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, metadata from pgbouncer_logs order by timestamp desc, id limit 5',
  'select id, timestamp, event_message, project, external_id, m.level from realtime_logs cross join unnest(metadata) as m order by timestamp desc, id limit 5',
  'select count(*) as count from edge_logs;',
  'select count(*) from edge_logs',
  'SELECT COUNT(ID) AS Total, MAX(TIMESTAMP) AS Last FROM Edge_Logs',
  `select edge_logs.timestamp, event_message, request.method, request.path, response.status_code
   from edge_logs cross join unnest(metadata) as metadata cross join unnest(metadata.request) as request
     cross join unnest(metadata.response) as response
   order by edge_logs.timestamp desc, edge_logs.id limit 20`,
  `select path, status_code, count(*) as n from edge_logs
     cross join unnest(metadata) as metadata cross join unnest(request) as request cross join unnest(response) as response
   where status_code >= 200 group by path, status_code order by n desc, path, status_code limit 20;`,
  `select timestamp_trunc(t.timestamp, minute) as timestamp, count(t.timestamp) as count,
   from edge_logs t where t.timestamp > timestamp_sub(current_timestamp(), interval 3 hour)
   group by timestamp order by timestamp asc`,
  'select TIMESTAMP_TRUNC(timestamp, HOUR) as timestamp, count(id) as n from edge_logs group by timestamp order by timestamp desc',
  'select timestamp_trunc(timestamp, Day) as timestamp, count(*) as n from postgres_logs group by timestamp order by timestamp',
  'select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp, count(*) as count from postgres_logs as t group by timestamp order by timestamp',
  `select cast(timestamp_trunc(t.timestamp, day) as datetime) as timestamp,
     countif(regexp_contains(request.path, '/rest')) as total_rest, countif(regexp_contains(request.path, '/auth')) as total_auth,
     countif(request.path like '/storage%') as total_storage, countif(starts_with(request.path, '/realtime')) as total_realtime
   from edge_logs t cross join unnest(metadata) as m cross join unnest(m.request) as request
   group by timestamp order by timestamp`,
  `select timestamp_trunc(t.timestamp, hour) as timestamp,
     count(case when response.status_code between 400 and 499 then 1 end) as warning_count,
     count(case when response.status_code >= 500 then 1 end) as error_count,
     count(case when response.status_code < 400 then 1 end) as ok_count
   from edge_logs t cross join unnest(metadata) as m cross join unnest(m.response) as response
   group by timestamp order by timestamp desc limit 30`,
  `select t.id, p.error_severity, p.user_name, p.query_id from postgres_logs t cross join unnest(metadata) as m cross join unnest(m.parsed) as p
   where p.error_severity in ('ERROR', 'FATAL', "PANIC") order by t.id`,
  `select parsed.error_severity, count(*) as n from postgres_logs cross join unnest(metadata) as m cross join unnest(m.parsed) as parsed
   where parsed.error_severity is not null group by parsed.error_severity order by error_severity`,
  `select id, event_message from postgres_logs
   where regexp_contains(event_message, 'duplicate|violates') and not (event_message like '%orders%') order by id`,
  String.raw`select id from postgres_logs where regexp_contains(event_message, r'port=\d{4}\b') order by id`,
  "select id from edge_logs where regexp_contains(event_message, '(?i)get.*REST') order by id",
  `select id, request.cf[safe_offset(0)].country as country, request.cf[safe_offset(0)].asn as asn
   from edge_logs, unnest(metadata) as m, unnest(m.request) as request order by id`,
  `select cf.country, count(*) as n, avg(response.origin_time) as mean from edge_logs, unnest(metadata) as m,
     unnest(m.request) as request, unnest(request.cf) as cf, unnest(m.response) as response
   group by cf.country order by n desc, country`,
  `select id, h.host, h.user_agent from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r
     left join unnest(r.headers) as h on true order by id`,
  'select id, path from edge_logs left join unnest(metadata) as m on true left join unnest(m.request) as r on true order by id',
  'select id, array_length(metadata) as n from edge_logs where array_length(metadata) = 0 order by id',
  'select id, bot.score, bot.detectionIds from edge_logs, unnest(metadata) m, unnest(m.request) r, unnest(r.cf) c, unnest(c.botManagement) bot order by id limit 10',
  `select auth_event.action, count(*) as n from auth_logs cross join unnest(metadata) as m left join unnest(m.auth_event) as auth_event on true
   group by 1 order by 1`,
  'select id, m.level, m.msg, m.status from auth_logs, unnest(metadata) m where m.level is not null order by id',
  'select t.id, m.event_type, m.level from function_logs t cross join unnest(metadata) as m order by t.timestamp desc, id',
  `select id, m.execution_time_ms, r.status_code, q.method from function_edge_logs cross join unnest(metadata) as m
     cross join unnest(m.response) as r cross join unnest(m.request) as q where m.execution_time_ms >= 0 order by id`,
  'select id, m.req[safe_offset(0)].method as method, m.res[safe_offset(0)].statusCode as status from storage_logs, unnest(metadata) m order by id',
  'select `edge_logs`.`id` from `edge_logs` order by `id` limit 1 -- the last line',
  'select id /* a comment */ from edge_logs # another\n order by id limit 2',

  // Unions with bare NULLs, WITH, joins, subqueries.
  `select id, null as method, event_message from postgres_logs where event_message like '%error%'
   union all select id, null, event_message from auth_logs order by id limit 10`,
  `with edge as (select id, timestamp, 'edge' as kind from edge_logs), pg as (select id, timestamp, 'postgres' as kind from postgres_logs)
   select * from edge union all select * from pg order by timestamp desc, id limit 12`,
  'with edge_logs as (select id from auth_logs) select count(*) as n from edge_logs',
  `select a.id, b.n from edge_logs a left join (select id, count(*) as n from edge_logs, unnest(metadata) group by id) b on a.id = b.id
   order by a.id`,
  'select a.id, m.level from auth_logs a left join (auth_logs b cross join unnest(b.metadata) m) on a.id = b.id order by a.id',
  `select p.day, p.n as postgres, e.n as edge from
     (select date(timestamp) as day, count(*) as n from postgres_logs group by day) p
     full join (select date(timestamp) as day, count(*) as n from edge_logs group by day) e on p.day = e.day order by p.day, e.n`,
  `select count(*) as n from edge_logs a join postgres_logs b on timestamp_trunc(a.timestamp, hour) = timestamp_trunc(b.timestamp, hour)`,
  'select id from edge_logs where id in (select distinct id from edge_logs, unnest(metadata) m, unnest(m.response) r where r.status_code >= 400) order by id',
  'select id from postgres_logs where id not in (select id from auth_logs) order by id limit 3',
  `select id from edge_logs e where exists (select 1 from unnest(e.metadata) m, unnest(m.request) r where r.method = 'POST') order by id`,
  'select id, (select count(*) from unnest(e.metadata) m, unnest(m.request)) as n from edge_logs e order by id',
  'select id, array(select r.path from unnest(e.metadata) m, unnest(m.request) r) as paths from edge_logs e order by id',
  'select id from edge_logs intersect distinct select id from edge_logs order by id limit 3',
  'select id from edge_logs except distinct select id from edge_logs where timestamp > timestamp_sub(current_timestamp(), interval 1 day) order by id',
  'select distinct m.level from realtime_logs cross join unnest(metadata) m order by level',
  'select * except (metadata) from edge_logs order by timestamp desc, id limit 3',
  'select * except (metadata) replace (upper(id) as id) from auth_logs order by id limit 3',
  'select (select max(timestamp) from edge_logs) > (select max(timestamp) from auth_logs) as later',

  // Aggregates and windows.
  'select countif(r.status_code >= 500) as bad, countif(null) as none, round(avg(r.origin_time), 2) as mean, sum(r.origin_time) as s from edge_logs, unnest(metadata) m, unnest(m.response) r',
  'select max(r.origin_time) as most, min(r.origin_time) as least from edge_logs, unnest(metadata) m, unnest(m.response) r where r.origin_time is not null',
  'select any_value(project) as p, count(distinct project) as n from realtime_logs, unnest(metadata) m',
  'select array_agg(struct(id as i, timestamp as t) order by timestamp desc, id limit 3) as newest from edge_logs',
  "select string_agg(x, '-' order by x desc) as texts from unnest(['b', 'a', 'c']) as x",
  'select method, array_agg(distinct status_code ignore nulls order by status_code) as codes from edge_logs, unnest(metadata) m, unnest(m.request) r, unnest(m.response) s group by method order by method',
  'select method, count(*) as n from edge_logs, unnest(metadata) m, unnest(m.request) r group by method having count(*) > 1 order by n desc, method',
  'select m.request[safe_offset(0)].method as method, count(*) as n from edge_logs, unnest(metadata) m group by 1 order by 1',
  'select logical_or(status_code > 500) as any_bad, logical_and(status_code > 99) as all_fine from edge_logs, unnest(metadata), unnest(response)',
  'select safe_divide(sum(r.status_code), count(*)) as mean, safe_divide(1, 0) as none from edge_logs, unnest(metadata) m, unnest(m.response) r',
  'select max(id) as last, count(*) as n from edge_logs where false',
  'select id, row_number() over (partition by r.method order by timestamp desc, id) as rn from edge_logs, unnest(metadata) m, unnest(m.request) r qualify rn = 1 order by id',
  'select id, lag(id) over (order by timestamp, id) as before, lead(id) over (order by timestamp, id) as after from auth_logs order by timestamp, id',
  'select id, sum(length(id)) over (order by timestamp, id rows between 1 preceding and current row) as s from auth_logs order by timestamp, id',
  'select id, rank() over w as r, dense_rank() over w as d from auth_logs window w as (order by timestamp_trunc(timestamp, day)) order by id',
  'select id, first_value(id) over (order by timestamp, id) as f, ntile(3) over (order by timestamp, id) as t from auth_logs order by id',

  // Time.
  "select id from edge_logs where timestamp > '2020-01-01' and timestamp <= '2999-01-01T00:00:00.000Z' order by id limit 3",
  "select id from edge_logs where timestamp between '2020-01-01 00:00:00' and '2999-01-01T00:00:00Z' order by id limit 3",
  "select id from edge_logs where edge_logs.timestamp > cast('2020-01-01' as timestamp) order by id limit 3",
  'select id, extract(hour from timestamp) as h, extract(dayofweek from timestamp) as w, date(timestamp) as d from edge_logs order by id',
  'select id, unix_micros(timestamp) as us, unix_millis(timestamp) as ms, unix_seconds(timestamp) as s from edge_logs order by id',
  "select format_timestamp('%Y-%m-%d %H:%M:%S', timestamp) as f from edge_logs order by timestamp desc, id limit 3",
  'select timestamp_diff(max(timestamp), min(timestamp), minute) as m from edge_logs',
  `select t, count(l.id) as n from unnest(generate_timestamp_array(timestamp_trunc(timestamp_sub(current_timestamp(), interval 3 day), day),
     timestamp_trunc(current_timestamp(), day), interval 1 day)) t left join edge_logs l on timestamp_trunc(l.timestamp, day) = t
   group by t order by t`,
  "select parse_timestamp('%Y-%m-%d', '2026-01-15') as t, timestamp '2026-01-15 10:00:00.000001+00' as u, date '2026-01-15' as d",
  "select timestamp_add(timestamp '2026-01-15 10:00:00', interval 90 minute) as t, date_sub(date '2026-03-01', interval 1 month) as d, datetime '2026-01-15 10:00:00' as dt, time '10:00:00' as tm",
  'select timestamp_seconds(1768471200) as s, timestamp_millis(1768471200123) as m, timestamp_micros(1768471200123456) as u',
  'select count(*) as n from edge_logs where timestamp > timestamp_sub(current_timestamp(), interval 1 hour)',

  // Texts, patterns, numbers, conditions.
  "select id, coalesce(event_message, 'none') as m, ifnull(event_message, 'none') as i, nullif(event_message, '') as e from edge_logs order by id",
  "select id, lower(event_message) as l, upper(event_message) as u, length(event_message) as n, strpos(event_message, '|') as p from edge_logs order by id",
  String.raw`select id, split(r.path, '/')[safe_offset(1)] as area, regexp_extract(r.path, r'^/(\w+)/') as e, regexp_replace(r.path, r'v(\d)', r'<\1>') as x
   from edge_logs, unnest(metadata) m, unnest(m.request) r order by id`,
  "select id, concat(id, '-', project) as c, id || '!' as d, substr(id, 1, 4) as s, trim('  x ') as t from auth_logs, unnest(metadata) order by id",
  "select id, starts_with(r.path, '/rest') as rest, ends_with(r.path, 'todos') as todos, replace(r.path, '/', '.') as dots from edge_logs, unnest(metadata) m, unnest(m.request) r order by id",
  "select id, if(event_message is null, 'none', 'some') as c, case when event_message = '' then 'empty' when event_message like 'GET%' then 'get' else 'other' end as k from edge_logs order by id",
  'select id, case r.status_code when 200 then "ok" when 503 then "away" end as word from edge_logs, unnest(metadata) m, unnest(m.response) r order by id',
  'select id, div(cast(origin_time as int64), 10) as d, mod(origin_time, 7) as m, origin_time / 4 as q, round(origin_time / 3, 1) as r from edge_logs, unnest(metadata) m, unnest(m.response) order by id',
  'select cast(2.5 as int64) as a, cast(-2.5 as int64) as b, safe_cast("x" as int64) as c, cast("12" as int64) as d, cast(1 as string) as e, cast("1.5" as float64) as f, cast(true as string) as g',
  'select safe_cast("2026-13-01" as timestamp) as t, safe_cast("yes" as bool) as b, safe_cast("1e3" as float64) as f',
  'select 9007199254740993 as big, -9223372036854775808 as least, 0.1 + 0.2 as f',
  'select abs(-3) as a, ceil(1.2) as c, floor(-1.2) as f, greatest(1, 3, 2) as g, least(1, 3, 2) as l, power(2, 10) as p, sqrt(16) as s',
  'select "double" as d, \'single\' as s, r"raw\\d" as r, """triple "quoted" """ as t, "tab\\tü💾" as u',
  'select [1, 2, 3] as numbers, ["a", "b"][offset(1)] as b, [1][safe_offset(9)] as none, array_length([1, 2]) as n, array_to_string(["x", "y"], "-") as j',
  'select struct(1 as a, "x" as b) as s, [struct(1 as a), struct(2)] as l, struct(struct(true as deep) as inner_one) as n',
  'select 1 in (1, 2) as i, 3 not in (1, 2) as n, "b" in unnest(["a", "b"]) as u, null is null as z, 1 between 0 and 2 as w',
  'select to_base64(b"abc") as b, to_hex(md5("x")) as h, to_hex(sha256("x")) as s',
  'select x, o from unnest(["c", "a", "b"]) as x with offset as o order by o',
  'select n from unnest(generate_array(1, 10, 3)) as n order by n desc limit 2 offset 1',
  'select json_value(\'{"a": {"b": [1, "two"]}}\', \'$.a.b[1]\') as v, json_query(\'{"a": {"b": 1}}\', \'$.a\') as q, json_value(\'{"a": null}\', \'$.a\') as n',
  "select id, json_value(event_message, '$.level') as level, json_value(event_message, '$.deep.list[1]') as two from edge_logs where starts_with(event_message, '{') order by id",
  "select id, if(regexp_contains(coalesce(event_message, ''), r'error'), 1, 0) as e from edge_logs order by e desc, id limit 4",
];
