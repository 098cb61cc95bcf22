/**
 * The kinds of SQL that self-hosted Supabase Studio sends to `logs.all`, in our own words: pages of logs with their counts and charts,
 * templates of the explorer, reports, the tool that agents call, and the page of all logs. Source of the kinds: Studio's public repository.
 */

import { unifiedQuestions } from './unified-questions.ts';

/** One request: SQL over the subsets of `logs.all`. */
export type Question = { readonly name: string; readonly sql: string };

const edge = `cross join unnest(metadata) as m
  cross join unnest(m.request) as request
  cross join unnest(m.response) as response`;
const postgres = `cross join unnest(metadata) as m
  cross join unnest(m.parsed) as parsed`;
const own = 'cross join unnest(metadata) as metadata';
const relay = `cross join unnest(metadata) as m
  cross join unnest(m.response) as response
  cross join unnest(m.request) as request`;

const authError = `IFNULL(metadata.level, '') IN ('error', 'fatal') OR IFNULL(SAFE_CAST(metadata.status AS INT64), 0) >= 500`;
const authWarning = `IFNULL(metadata.level, '') = 'warning' OR IFNULL(SAFE_CAST(metadata.status AS INT64), 0) BETWEEN 400 AND 499`;

/** A page of one kind of logs: its rows, the joins of its count and its chart, and what it calls errors and warnings. */
type Page = {
  readonly table: string;
  readonly columns: string;
  readonly joins: string;
  readonly error?: string;
  readonly warning?: string;
  /** Conditions that its filters add. */
  readonly filters: Readonly<Record<string, string>>;
};

const pages: readonly Page[] = [
  {
    table: 'edge_logs',
    columns: 'id, edge_logs.timestamp, event_message, request.method, request.path, request.search, response.status_code',
    joins: edge,
    error: 'response.status_code >= 500',
    warning: 'response.status_code >= 400 AND response.status_code < 500',
    filters: {
      'server errors': '(response.status_code between 500 and 599)',
      'errors of any kind': '(response.status_code between 500 and 599 or response.status_code between 400 and 499)',
      'database requests': "(request.path like '/rest/%' or request.path like '/graphql/%') and (request.method = 'POST' or request.method = 'PATCH')",
      'storage requests that succeed': "(request.path like '/storage/%') and (response.status_code between 200 and 299)",
      'a search': "(regexp_contains(event_message, 'Firefox'))",
    },
  },
  {
    table: 'postgres_logs',
    columns: 'postgres_logs.timestamp, id, event_message, parsed.error_severity, parsed.detail, parsed.hint',
    joins: postgres,
    error: "parsed.error_severity IN ('ERROR', 'FATAL', 'PANIC')",
    warning: "parsed.error_severity IN ('WARNING')",
    filters: {
      errors: "(parsed.error_severity in ('ERROR', 'FATAL', 'PANIC'))",
      'what is no error': "(parsed.error_severity not in ('ERROR', 'FATAL', 'PANIC') or parsed.error_severity = 'LOG')",
      'jobs of cron': "( parsed.application_name = 'pg_cron' or event_message::text LIKE '%cron job%' )",
    },
  },
  {
    table: 'auth_logs',
    columns: 'id, auth_logs.timestamp, event_message, metadata.level, metadata.status, metadata.path, metadata.msg as msg, metadata.error',
    joins: own,
    error: authError,
    warning: authWarning,
    filters: {
      errors: `(${authError})`,
      information: `(NOT (${authError}) AND NOT (${authWarning}))`,
      'client errors': '(cast(metadata.status as int64) between 400 and 499)',
      'signing in or up': '(REGEXP_CONTAINS(metadata.path, "/token|/authorize|/otp") or REGEXP_CONTAINS(metadata.path, "/signup|/invite|/verify"))',
    },
  },
  { table: 'postgrest_logs', columns: 'id, postgrest_logs.timestamp, event_message', joins: '', filters: { 'a search': "(regexp_contains(event_message, 'cache'))" } },
  { table: 'realtime_logs', columns: 'id, realtime_logs.timestamp, event_message', joins: '', filters: { 'a search': "(regexp_contains(event_message, 'Tenant'))" } },
  { table: 'storage_logs', columns: 'id, storage_logs.timestamp, event_message', joins: '', filters: {} },
  { table: 'pgbouncer_logs', columns: 'id, pgbouncer_logs.timestamp, event_message', joins: '', filters: {} },
  {
    table: 'function_edge_logs',
    columns: 'id, function_edge_logs.timestamp, event_message, response.status_code, request.method, request.pathname, m.function_id, m.execution_id, m.execution_time_ms, m.deployment_id, m.version',
    joins: relay,
    error: 'response.status_code >= 500',
    warning: 'response.status_code >= 400 AND response.status_code < 500',
    filters: { 'server errors': '(response.status_code between 500 and 599)' },
  },
  {
    table: 'function_logs',
    columns: 'id, function_logs.timestamp, event_message, metadata.event_type, metadata.function_id, metadata.execution_id, metadata.level',
    joins: own,
    error: "metadata.level IN ('error', 'fatal')",
    warning: "metadata.level IN ('warning')",
    filters: { errors: "(metadata.level = 'error')" },
  },
]; // biome-ignore format: a table

const pageQuestions = pages.flatMap(({ table, columns, joins, error = 'false', warning = 'false', filters }) => {
  const row = (where: string) => `-- page of logs
select ${columns}
from ${table}
${joins}
${where}
order by timestamp desc
limit 100;
`;
  const chart = (where: string, unit: string) => `
SELECT
-- chart above a page
  timestamp_trunc(t.timestamp, ${unit}) as timestamp,
  count(CASE WHEN NOT (${error} OR ${warning}) THEN 1 END) as ok_count,
  count(CASE WHEN ${error} THEN 1 END) as error_count,
  count(CASE WHEN ${warning} THEN 1 END) as warning_count,
FROM
  ${table} t
  ${joins}
  ${where ? `${where} and` : 'where'} t.timestamp > '2026-01-10T09:00:00.000Z'
GROUP BY
timestamp
ORDER BY
  timestamp ASC
`;
  return [
    { name: `${table}: page`, sql: row('') },
    { name: `${table}: count`, sql: `SELECT count(*) as count FROM ${table} ${joins} ` },
    { name: `${table}: chart by minute`, sql: chart('', 'minute') },
    { name: `${table}: chart by hour`, sql: chart('', 'hour') },
    { name: `${table}: one entry`, sql: `select id, timestamp, event_message, metadata from ${table} where id = 'none' limit 1` },
    ...Object.entries(filters).flatMap(([name, condition]) => [
      { name: `${table}: ${name}`, sql: row(`where ${condition}`) },
      { name: `${table}: count of ${name}`, sql: `SELECT count(*) as count FROM ${table} ${joins} where ${condition}` },
      { name: `${table}: chart of ${name}`, sql: chart(`where ${condition}`, 'minute') },
    ]),
  ];
}); // biome-ignore format: SQL

const templates: readonly Question[] = [
  {
    name: 'template: commits by user',
    sql: `select p.user_name, count(*) as count from postgres_logs
left join unnest(metadata) as m on true
left join unnest(m.parsed) as p on true
where regexp_contains(event_message, 'COMMIT')
group by p.user_name`,
  },
  {
    name: 'template: addresses',
    sql: `select cast(timestamp as datetime) as timestamp, h.x_real_ip
from edge_logs
left join unnest(metadata) as m on true
left join unnest(m.request) as r on true
left join unnest(r.headers) as h on true
where h.x_real_ip is not null`,
  },
  {
    name: 'template: countries',
    sql: `select cf.country, count(*) as count from edge_logs
left join unnest(metadata) as m on true
left join unnest(m.request) as r on true
left join unnest(r.cf) as cf on true
group by cf.country
order by count desc`,
  },
  {
    name: 'template: slow answers',
    sql: `select cast(timestamp as datetime) as timestamp, event_message, r.origin_time
from edge_logs cross join unnest(metadata) as m cross join unnest(m.response) as r
where r.origin_time > 1000
order by timestamp desc limit 100`,
  },
  {
    name: 'template: statuses from 500',
    sql: `select cast(timestamp as datetime) as timestamp, event_message, r.status_code
from edge_logs cross join unnest(metadata) as m cross join unnest(m.response) as r
where r.status_code >= 500
order by timestamp desc limit 100`,
  },
  {
    name: 'template: top paths',
    sql: `select r.path as path, r.search as params, count(timestamp) as c
from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r
group by path, params
order by c desc limit 100`,
  },
  {
    name: 'template: REST requests',
    sql: `select cast(timestamp as datetime) as timestamp, event_message
from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r
where path like '%rest/v1%'
order by timestamp desc limit 100`,
  },
  {
    name: 'template: errors by user',
    sql: `select count(t.timestamp) as count, p.user_name, p.error_severity
from postgres_logs as t cross join unnest(metadata) as m cross join unnest(m.parsed) as p
where p.error_severity in ('ERROR', 'FATAL', 'PANIC')
group by p.user_name, p.error_severity
order by count desc limit 100`,
  },
  {
    name: 'template: authentication events',
    sql: `select t.timestamp, event_message from auth_logs as t
where regexp_contains(event_message,"level.{3}(info|warning||error|fatal)")
-- and regexp_contains(event_message,"path.{3}(/token|/otp)")
limit 100`,
  },
  {
    name: 'template: objects',
    sql: `select r.method as http_verb, r.path as filepath, count(*) as num_requests
from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) AS r cross join unnest(r.headers) AS h
where path like '%storage/v1/object/%'
group by r.path, r.method
order by num_requests desc limit 100`,
  },
  {
    name: 'template: misses of the storage cache',
    sql: `select r.path as path, r.search as search, count(id) as count
from edge_logs f
cross join unnest(f.metadata) as m cross join unnest(m.request) as r
cross join unnest(m.response) as res cross join unnest(res.headers) as h
where starts_with(r.path, '/storage/v1/object') and r.method = 'GET' and h.cf_cache_status in ('MISS', 'EXPIRED')
group by path, search
order by count desc limit 100;`,
  },
  {
    name: 'template: egress of storage',
    sql: `select request.method as http_verb, request.path as filepath,
  (answer_headers.cf_cache_status = 'HIT') as cached, count(*) as num_requests
from edge_logs
cross join unnest(metadata) as metadata
cross join unnest(metadata.request) as request
cross join unnest(metadata.response) as response
cross join unnest(response.headers) as answer_headers
where (path like '%storage/v1/object/%' or path like '%storage/v1/render/%') and request.method = 'GET'
group by 1, 2, 3
order by num_requests desc
limit 100;`,
  },
];

/** The joins of the reports on the gateway. */
const report = `cross join unnest(metadata) as m
  cross join unnest(m.response) as response
  cross join unnest(m.request) as request
  cross join unnest(request.headers) as headers`;
const hour = 'cast(timestamp_trunc(t.timestamp, hour) as datetime) as timestamp';
const routes = `request.path as path, request.method as method, request.search as search, response.status_code as status_code, count(t.id) as count`;
const byRoute = 'group by request.path, request.method, request.search, response.status_code';

const reports: readonly Question[] = [
  { name: 'report: requests', sql: `-- report\nselect ${hour}, count(t.id) as count FROM edge_logs t ${report} GROUP BY timestamp ORDER BY timestamp ASC` },
  { name: 'report: routes', sql: `select ${routes} from edge_logs t ${report} ${byRoute} order by count desc limit 10` },
  { name: 'report: errors', sql: `select ${hour}, count(t.id) as count FROM edge_logs t ${report} WHERE response.status_code >= 400 GROUP BY timestamp ORDER BY timestamp ASC` },
  { name: 'report: routes with errors', sql: `select ${routes} from edge_logs t ${report} where response.status_code >= 400 AND REGEXP_CONTAINS(request.path, '/rest') ${byRoute} order by count desc limit 10` },
  { name: 'report: speed', sql: `select ${hour}, avg(response.origin_time) as avg FROM edge_logs t ${report} GROUP BY timestamp ORDER BY timestamp ASC` },
  { name: 'report: slow routes', sql: `select ${routes}, avg(response.origin_time) as avg from edge_logs t ${report} WHERE request.method = 'GET' AND response.status_code != 500 ${byRoute} order by avg desc limit 10` },
  {
    name: 'report: traffic',
    sql: `select ${hour},
  coalesce(safe_divide(sum(cast(coalesce(headers.content_length, "0") as int64)), 1000000), 0) as ingress_mb,
  coalesce(safe_divide(sum(cast(coalesce(answer.content_length, "0") as int64)), 1000000), 0) as egress_mb,
FROM edge_logs t ${report} cross join unnest(response.headers) as answer
GROUP BY timestamp ORDER BY timestamp ASC`,
  },
  {
    name: 'report: hits of the storage cache',
    sql: `SELECT timestamp_trunc(timestamp, hour) as timestamp,
  countif( h.cf_cache_status in ('HIT', 'STALE', 'REVALIDATED', 'UPDATING') ) as hit_count,
  countif( h.cf_cache_status in ('MISS', 'NONE/UNKNOWN', 'EXPIRED', 'BYPASS', 'DYNAMIC') ) as miss_count
from edge_logs f
  cross join unnest(f.metadata) as m
  cross join unnest(m.request) as r
  cross join unnest(m.response) as res
  cross join unnest(res.headers) as h
where starts_with(r.path, '/storage/v1/object') and r.method = 'GET'
group by timestamp order by timestamp desc`,
  },
  {
    name: 'report: authentication errors by status',
    sql: `select timestamp_trunc(timestamp, hour) as timestamp, count(*) as count, response.status_code
from edge_logs ${edge} cross join unnest(response.headers) as h
where path like '%auth/v1%' and response.status_code >= 400 and response.status_code <= 599
group by timestamp, status_code order by timestamp desc`,
  },
  {
    name: 'report: authentication errors by code',
    sql: `select timestamp_trunc(timestamp, minute) as timestamp, count(*) as count, h.x_sb_error_code as error_code
from edge_logs ${edge} cross join unnest(response.headers) as h
where path like '%auth/v1%' and response.status_code between 400 and 599 and h.x_sb_error_code is not null
group by timestamp, error_code order by timestamp desc`,
  },
  {
    name: 'report: authentication requests that fail',
    sql: `select request.method as method, request.path as path, response.status_code as status_code, count(*) as count
from edge_logs ${edge}
where path like '%auth/v1%' and response.status_code between 400 and 599
group by method, path, status_code order by count desc limit 10`,
  },
  {
    name: 'report: use of authentication',
    sql: `-- one scan
WITH
params AS (
  SELECT
    COALESCE(PARSE_TIMESTAMP('%Y-%m-%dT%H:%M:%E*S%Ez', '2026-01-15T10:00:00.000Z'), TIMESTAMP('2026-01-15T10:00:00.000Z')) AS start_ts,
    COALESCE(PARSE_TIMESTAMP('%Y-%m-%dT%H:%M:%E*S%Ez', '2026-01-15T11:00:00+00:00'), TIMESTAMP('2026-01-15T11:00:00+00:00')) AS end_ts
),
base AS (
  SELECT
    TIMESTAMP_TRUNC(timestamp, hour) AS ts,
    COALESCE(JSON_VALUE(event_message, '$.auth_event.action'), JSON_VALUE(event_message, '$.action')) AS action,
    COALESCE(JSON_VALUE(event_message, '$.auth_event.actor_id'), JSON_VALUE(event_message, '$.user_id')) AS actor_id,
    COALESCE(JSON_VALUE(event_message, '$.provider'), 'unknown') AS provider,
    JSON_VALUE(event_message, '$.login_method') AS login_method,
    CASE
      WHEN JSON_VALUE(event_message, '$.metering') IS NOT NULL THEN LOWER(JSON_VALUE(event_message, '$.metering'))
      WHEN JSON_QUERY(event_message, '$.metering') = 'true' THEN 'true'
      ELSE ''
    END AS metering
  FROM auth_logs, params
  WHERE timestamp >= start_ts AND timestamp < end_ts
),
users AS (
  SELECT ts,
    COUNT(DISTINCT IF(action IN ('login', 'user_signedup', 'token_refreshed'), actor_id, NULL)) AS active_users,
    COUNTIF(action = 'user_signedup') AS signups
  FROM base GROUP BY ts
),
logins AS (
  SELECT ts,
    CASE WHEN COALESCE(provider, '') != '' THEN CONCAT(login_method, ' (', provider, ')') ELSE login_method END AS login_type,
    COUNTIF(action = 'login' AND metering = 'true') AS count
  FROM base GROUP BY ts, login_type
)
SELECT ts AS timestamp, 'ActiveUsers' AS metric, active_users AS count, CAST(NULL AS STRING) AS provider, CAST(NULL AS STRING) AS login_type FROM users
UNION ALL SELECT ts, 'SignUps', signups, CAST(NULL AS STRING), CAST(NULL AS STRING) FROM users
UNION ALL SELECT ts, 'SignIns', count, CAST(NULL AS STRING), login_type FROM logins
ORDER BY timestamp DESC`,
  },
  {
    name: 'report: time of authentication',
    sql: `WITH params AS (
  SELECT TIMESTAMP('2026-01-15T10:00:00.000Z') AS start_ts, TIMESTAMP('2026-01-15T11:00:00.000Z') AS end_ts
),
base AS (
  SELECT
    TIMESTAMP_TRUNC(timestamp, hour) AS ts,
    CASE COALESCE(JSON_VALUE(event_message, '$.auth_event.action'), JSON_VALUE(event_message, '$.action'))
      WHEN 'login' THEN 'SignIn' WHEN 'user_signedup' THEN 'SignUp' ELSE NULL END AS metric,
    COALESCE(
      SAFE_CAST(JSON_VALUE(event_message, '$.processing_time_ms') AS FLOAT64),
      SAFE_CAST(JSON_VALUE(event_message, '$.auth_event.duration_us') AS FLOAT64) / 1000.0,
      SAFE_CAST(JSON_VALUE(event_message, '$.duration') AS FLOAT64) / 1000000.0
    ) AS latency_ms
  FROM auth_logs, params
  WHERE timestamp >= start_ts AND timestamp < end_ts
),
filtered AS (SELECT ts, metric, latency_ms FROM base WHERE metric IS NOT NULL),
basic AS (SELECT ts, metric, MIN(latency_ms) AS min, AVG(latency_ms) AS avg, MAX(latency_ms) AS max FROM filtered GROUP BY ts, metric),
pct AS (SELECT ts, metric, APPROX_QUANTILES(latency_ms, 100) AS q FROM filtered GROUP BY ts, metric)
SELECT b.ts AS timestamp, b.metric, b.min AS min_ms, b.avg AS avg_ms, b.max AS max_ms, q[OFFSET(50)] AS p50_ms, q[OFFSET(95)] AS p95_ms
FROM basic b
JOIN pct USING (ts, metric)
ORDER BY timestamp DESC, metric`,
  },
    {
      name: 'report: calls of functions',
      sql: `select timestamp_trunc(timestamp, minute) as timestamp, function_id, count(*) as count
from function_edge_logs CROSS JOIN UNNEST(metadata) AS m CROSS JOIN UNNEST(m.request) AS request
  CROSS JOIN UNNEST(m.response) AS response CROSS JOIN UNNEST(response.headers) AS h
WHERE function_id IN ('a','b') AND h.x_sb_edge_region IN ('eu') AND m.execution_time_ms >= 5
group by timestamp, function_id order by timestamp desc;`,
    },
    {
      name: 'report: regions of functions',
      sql: `select timestamp_trunc(timestamp, hour) as timestamp, h.x_sb_edge_region as region, count(*) as count
from function_edge_logs cross join unnest(metadata) as m cross join unnest(m.response) as r cross join unnest(r.headers) as h
WHERE h.x_sb_edge_region is not null
group by timestamp, region order by timestamp desc`,
    },
    {
      name: 'report: routes of functions',
      sql: `select ${routes}, avg(response.origin_time) as avg from function_edge_logs t ${report} ${byRoute} order by count desc limit 10`,
    },
    {
      name: 'report: outcomes of a function',
      sql: `select timestamp_trunc(fel.timestamp, minute) as timestamp, count(fel.id) as requests_count,
  countif(response.status_code between 200 and 299) as success_count, avg(m.execution_time_ms) as avg_execution_time, 0 as log_count
from function_edge_logs as fel cross join unnest(fel.metadata) as m cross join unnest(m.response) as response
where function_id = 'abc'
group by timestamp order by timestamp asc`,
    },
]; // biome-ignore format: SQL

const tools: readonly Question[] = [
  {
    name: 'tool: gateway',
    sql: `select el.id, el.timestamp, el.event_message, request.method as method, request.path as path, request.search as search,
  response.status_code as status_code
from edge_logs as el
cross join unnest(el.metadata) as m
cross join unnest(m.request) as request
cross join unnest(m.response) as response
order by timestamp desc
limit 100;`,
  },
  {
    name: 'tool: authentication',
    sql: `select al.id, al.timestamp, al.event_message, m.level as level, m.status as status, m.path as path, m.msg as msg, m.error as error
from auth_logs as al
cross join unnest(al.metadata) as m
order by timestamp desc
limit 100;`,
  },
  {
    name: 'tool: functions',
    sql: '\nselect id, function_edge_logs.timestamp, event_message\nfrom function_edge_logs\norder by timestamp desc\nlimit 100\n',
  },
  { name: 'tool: storage', sql: 'select id, timestamp, event_message\nfrom storage_logs\norder by timestamp desc\nlimit 100;' },
]; // biome-ignore format: SQL

export const studioQuestions: readonly Question[] = [
  ...pageQuestions,
  ...templates,
  ...reports,
  ...tools,
  ...unifiedQuestions,
];
