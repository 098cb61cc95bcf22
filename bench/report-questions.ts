/** A question of `benchDialect`: a caller's SQL over `logs.all`, and the same as somebody would write it for DuckDB. */
export type Question = { readonly name: string; readonly callerSql: string; readonly byHand: string };

const edge = `edge_logs t cross join unnest(metadata) as m cross join unnest(m.request) as request
  cross join unnest(m.response) as response`;

/** The same rows: those with the records that are unnested. */
const edgeByHand = `"cloudflare.logs.prod" WHERE project = $p1 AND metadata.request._p AND metadata.response._p`;

const functions = `function_edge_logs t cross join unnest(metadata) as m cross join unnest(m.response) as response
  cross join unnest(response.headers) as h`;

const functionsByHand = `"deno-relay-logs" WHERE metadata.project_ref = $p1 AND metadata.response.headers._p`;

const weekAgo = new Date(Date.now() - 7 * 86_400_000).toISOString();
const now = new Date().toISOString();

const latencyNames = [
  'processing_time_ms',
  'duration_ms',
  'processing_time_us',
  'duration_us',
  'processing_time_ns',
  'duration_ns',
  'duration',
];
const perMs = (name: string) =>
  name.endsWith('_ms') ? '' : name.endsWith('_us') ? ' / 1000.0' : ' / 1000000.0';
const latencyPaths = latencyNames.flatMap(name => [`$.${name}`, `$.auth_event.${name}`]);

/** Reports as a real client draws them: requests, errors and speed by hour, top lists, caches, functions, sign-ins. */
export const reportQuestions: readonly Question[] = [
  {
    name: 'requests by hour',
    callerSql: `select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp, count(t.id) as count
      from ${edge} group by timestamp order by timestamp asc`,
    byHand: `SELECT date_trunc('hour', timestamp AT TIME ZONE 'UTC') AS at, count(id) FROM ${edgeByHand} GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'errors by hour',
    callerSql: `select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp, count(t.id) as count
      from ${edge} where response.status_code >= 400 group by timestamp order by timestamp asc`,
    byHand: `SELECT date_trunc('hour', timestamp AT TIME ZONE 'UTC') AS at, count(id) FROM ${edgeByHand}
      AND metadata.response.status_code >= 400 GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'speed by hour',
    callerSql: `select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp, avg(response.origin_time) as avg
      from ${edge} group by timestamp order by timestamp asc`,
    byHand: `SELECT date_trunc('hour', timestamp AT TIME ZONE 'UTC') AS at, avg(metadata.response.origin_time) FROM ${edgeByHand}
      GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'slowest routes',
    callerSql: `select request.path as path, request.method as method, request.search as search, response.status_code as status_code,
      count(t.id) as count, avg(response.origin_time) as avg from ${edge}
      group by request.path, request.method, request.search, response.status_code order by avg desc limit 10`,
    byHand: `SELECT metadata.request.path AS path, metadata.request.method AS method, metadata.request.search AS search,
      metadata.response.status_code AS status_code, count(id) AS count, avg(metadata.response.origin_time) AS avg FROM ${edgeByHand}
      GROUP BY 1, 2, 3, 4 ORDER BY avg DESC LIMIT 10`,
  },
  {
    name: 'traffic by hour',
    callerSql: `select cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp,
      coalesce(safe_divide(sum(cast(coalesce(sent.content_length, '0') as int64)), 1000000), 0) as egress_mb
      from ${edge} cross join unnest(response.headers) as sent group by timestamp order by timestamp asc`,
    byHand: `SELECT date_trunc('hour', timestamp AT TIME ZONE 'UTC') AS at,
      coalesce(sum(coalesce(metadata.response.headers.content_length, '0')::BIGINT) / 1000000, 0) AS egress_mb
      FROM ${edgeByHand} AND metadata.response.headers._p GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'cache hits by hour',
    callerSql: `select timestamp_trunc(t.timestamp, hour) as timestamp, countif(h.cf_cache_status in ('HIT', 'STALE', 'UPDATING')) as hits,
      countif(h.cf_cache_status in ('MISS', 'EXPIRED', 'BYPASS', 'DYNAMIC')) as misses
      from ${edge} cross join unnest(response.headers) as h
      where starts_with(request.path, '/storage/v1/object') and request.method = 'GET' group by timestamp order by timestamp desc`,
    byHand: `SELECT date_trunc('hour', timestamp) AS at, count_if(metadata.response.headers.cf_cache_status IN ('HIT', 'STALE', 'UPDATING')),
      count_if(metadata.response.headers.cf_cache_status IN ('MISS', 'EXPIRED', 'BYPASS', 'DYNAMIC')) FROM ${edgeByHand}
      AND metadata.response.headers._p AND starts_with(metadata.request.path, '/storage/v1/object') AND metadata.request.method = 'GET'
      GROUP BY 1 ORDER BY 1 DESC`,
  },
  {
    name: 'functions by status',
    callerSql: `select timestamp_trunc(t.timestamp, hour) as timestamp, response.status_code as status_code, count(response.status_code) as count
      from ${functions} group by timestamp, status_code order by timestamp desc`,
    byHand: `SELECT date_trunc('hour', timestamp) AS at, metadata.response.status_code AS status_code, count(metadata.response.status_code)
      FROM ${functionsByHand} GROUP BY 1, 2 ORDER BY 1 DESC`,
  },
  {
    name: 'function time',
    callerSql: `select timestamp_trunc(t.timestamp, hour) as timestamp, m.function_id as function_id, avg(m.execution_time_ms) as ms
      from ${functions} where m.execution_time_ms > 10 group by timestamp, function_id order by timestamp desc`,
    byHand: `SELECT date_trunc('hour', timestamp) AS at, metadata.function_id AS function_id, avg(metadata.execution_time_ms)
      FROM ${functionsByHand} AND metadata.execution_time_ms > 10 GROUP BY 1, 2 ORDER BY 1 DESC`,
  },
  {
    name: 'auth errors',
    callerSql: `select timestamp_trunc(t.timestamp, hour) as timestamp, count(*) as count, response.status_code from ${edge}
      where request.path like '%auth/v1%' and response.status_code >= 400 and response.status_code <= 599
      group by timestamp, status_code order by timestamp desc`,
    byHand: `SELECT date_trunc('hour', timestamp) AS at, count(*), metadata.response.status_code AS status_code FROM ${edgeByHand}
      AND metadata.request.path LIKE '%auth/v1%' AND metadata.response.status_code BETWEEN 400 AND 599 GROUP BY 1, 3 ORDER BY 1 DESC`,
  },
  {
    name: 'log level in JSON',
    callerSql: `select json_value(event_message, '$.level') as level, count(*) as count from auth_logs group by level order by level`,
    byHand: `SELECT CASE WHEN json_valid(event_message) THEN event_message ->> '$.level' END AS level, count(*)
      FROM "gotrue.logs.prod" WHERE project = $p1 GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'auth usage',
    callerSql: `with base as (
        select timestamp_trunc(timestamp, hour) as ts,
          coalesce(json_value(event_message, '$.auth_event.action'), json_value(event_message, '$.action')) as action,
          coalesce(json_value(event_message, '$.auth_event.actor_id'), json_value(event_message, '$.user_id')) as actor,
          coalesce(json_value(event_message, '$.provider'), 'unknown') as provider,
          json_value(event_message, '$.login_method') as login_method,
          lower(coalesce(json_value(event_message, '$.metering'), '')) as metering
        from auth_logs),
      used as (
        select ts, count(distinct if(action in ('login', 'user_signedup'), actor, null)) as active, countif(action = 'user_signedup') as signups
        from base group by ts),
      signed_in as (
        select ts, concat(login_method, ' (', provider, ')') as method, countif(action = 'login' and metering = 'true') as logins
        from base group by ts, method)
      select ts as timestamp, 'active' as metric, active as count, cast(null as string) as method from used
      union all select ts, 'signups', signups, cast(null as string) from used
      union all select ts, 'logins', logins, method from signed_in order by timestamp desc`,
    byHand: `WITH texts AS (SELECT timestamp, CASE WHEN json_valid(event_message) THEN event_message END AS j FROM "gotrue.logs.prod" WHERE project = $p1),
      base AS (
        SELECT date_trunc('hour', timestamp) AS ts, coalesce(j ->> '$.auth_event.action', j ->> '$.action') AS action,
          coalesce(j ->> '$.auth_event.actor_id', j ->> '$.user_id') AS actor, coalesce(j ->> '$.provider', 'unknown') AS provider,
          j ->> '$.login_method' AS login_method, lower(coalesce(j ->> '$.metering', '')) AS metering
        FROM texts),
      used AS (
        SELECT ts, count(DISTINCT CASE WHEN action IN ('login', 'user_signedup') THEN actor END) AS active, count_if(action = 'user_signedup') AS signups
        FROM base GROUP BY 1),
      signed_in AS (
        SELECT ts, login_method || ' (' || provider || ')' AS method, count_if(action = 'login' AND metering = 'true') AS logins FROM base GROUP BY 1, 2)
      SELECT ts AS timestamp, 'active' AS metric, active AS count, NULL::VARCHAR AS method FROM used
      UNION ALL SELECT ts, 'signups', signups, NULL FROM used UNION ALL SELECT ts, 'logins', logins, method FROM signed_in ORDER BY timestamp DESC`,
  },
  {
    name: 'auth latency',
    callerSql: `with params as (
        select coalesce(safe.parse_timestamp('%Y-%m-%dT%H:%M:%E*S%Ez', '${weekAgo}'), timestamp('${weekAgo}')) as start_ts,
          coalesce(safe.parse_timestamp('%Y-%m-%dT%H:%M:%E*S%Ez', '${now}'), timestamp('${now}')) as end_ts),
      base as (
        select timestamp_trunc(timestamp, hour) as ts,
          case coalesce(json_value(event_message, '$.auth_event.action'), json_value(event_message, '$.action'))
            when 'login' then 'sign in' when 'user_signedup' then 'sign up' end as metric,
          coalesce(${latencyPaths.map(path => `safe_cast(json_value(event_message, '${path}') as float64)${perMs(path)}`).join(', ')}) as ms
        from auth_logs, params where timestamp >= start_ts and timestamp < end_ts),
      filtered as (select * from base where metric is not null),
      basic as (select ts, metric, min(ms) as min, avg(ms) as avg, max(ms) as max from filtered group by ts, metric),
      pct as (select ts, metric, approx_quantiles(ms, 100) as q from filtered group by ts, metric)
      select b.ts as timestamp, b.metric, b.min, b.avg, b.max, q[offset(50)] as p50, q[offset(95)] as p95, q[offset(99)] as p99
      from basic b join pct using (ts, metric) order by timestamp desc, metric`,
    byHand: `WITH texts AS (
        SELECT timestamp, CASE WHEN json_valid(event_message) THEN event_message END AS j FROM "gotrue.logs.prod"
        WHERE project = $p1 AND timestamp >= TIMESTAMPTZ '${weekAgo}' AND timestamp < TIMESTAMPTZ '${now}'),
      base AS (
        SELECT date_trunc('hour', timestamp) AS ts,
          CASE coalesce(j ->> '$.auth_event.action', j ->> '$.action') WHEN 'login' THEN 'sign in' WHEN 'user_signedup' THEN 'sign up' END AS metric,
          coalesce(${latencyPaths.map(path => `try_cast(j ->> '${path}' AS DOUBLE)${perMs(path)}`).join(', ')}) AS ms
        FROM texts),
      filtered AS (SELECT * FROM base WHERE metric IS NOT NULL),
      basic AS (SELECT ts, metric, min(ms) AS min, avg(ms) AS avg, max(ms) AS max FROM filtered GROUP BY ALL),
      pct AS (SELECT ts, metric, quantile_disc(ms, [0.5, 0.95, 0.99]) AS q FROM filtered GROUP BY ALL)
      SELECT b.ts AS timestamp, b.metric, b.min, b.avg, b.max, q[1] AS p50, q[2] AS p95, q[3] AS p99
      FROM basic b JOIN pct USING (ts, metric) ORDER BY timestamp DESC, metric`,
  },
];
