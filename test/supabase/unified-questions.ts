/**
 * What Studio's page of all logs asks, in our own words: the rows of several tables in one list, the counts of its facets, its chart. Each is one
 * statement over a union, in which a kind of logs has NULL where it lacks a column.
 */

/** The first columns of each part; the others follow in its own SELECT. */
const head = (type: string, table: string) =>
  `select id, null as source_id, ${table}.timestamp as timestamp, '${type}' as log_type,`;
const outcome = (response: string) => `cast(${response}.status_code as string) as status,
  case
    when ${response}.status_code between 200 and 299 then 'success'
    when ${response}.status_code between 400 and 499 then 'warning'
    when ${response}.status_code >= 500 then 'error'
    else 'success'
  end as level,`;

const edge = (type: string, where: string) => `
${head(type, 'e')}
  ${outcome('answer')}
  asked.path as pathname, null as event_message, asked.method as method, null as log_count, null as logs
from edge_logs as e
cross join unnest(metadata) as m
cross join unnest(m.request) as asked
cross join unnest(m.response) as answer
-- of these only
WHERE ${where}`;

const parts = {
  edge: edge('edge', "asked.path NOT LIKE '%/rest/%' AND asked.path NOT LIKE '%/storage/%'"),
  postgrest: edge('postgrest', "asked.path LIKE '%/rest/%'"),
  storage: edge('storage', "asked.path LIKE '%/storage/%'"),
  postgres: `
${head('postgres', 'p')}
  cast(parsed.sql_state_code as string) as status,
  case when parsed.error_severity = 'LOG' then 'success' when parsed.error_severity = 'WARNING' then 'warning'
    when parsed.error_severity = 'FATAL' then 'error' when parsed.error_severity = 'ERROR' then 'error' else null end as level,
  null as pathname, event_message as event_message, null as method, null as log_count, null as logs
from postgres_logs as p
cross join unnest(p.metadata) as m
cross join unnest(m.parsed) as parsed`,
  functions: `
${head('edge function', 'f')}
  ${outcome('answer')}
  asked.pathname as pathname, coalesce(said.last_event_message, '') as event_message, asked.method as method,
  said.function_log_count as log_count, null as logs
from function_edge_logs as f
cross join unnest(metadata) as m
cross join unnest(m.response) as answer
cross join unnest(m.request) as asked
left join (
  select own.request_id, count(l.id) as function_log_count, any_value(l.event_message) as last_event_message
  from function_logs as l cross join unnest(l.metadata) as own
  where own.request_id is not null
  group by own.request_id
) as said on m.request_id = said.request_id`,
  auth: `
select e.id as id, a.id as source_id, e.timestamp as timestamp, 'auth' as log_type,
  ${outcome('answer')}
  asked.path as pathname, null as event_message, asked.method as method, null as log_count, null as logs
from auth_logs as a
cross join unnest(metadata) as own
left join (
  edge_logs as e
    cross join unnest (metadata) as m
    cross join unnest (m.response) as answer
    cross join unnest (answer.headers) as headers
    cross join unnest (m.request) as asked
) on own.request_id = headers.cf_ray
WHERE own.request_id is not null`,
};

const union = (...names: (keyof typeof parts)[]) => `
WITH unified_logs AS (${names.map(name => parts[name]).join(' union all ')}
)`;
const few = union('postgres', 'postgrest');
const all = union('edge', 'postgrest', 'storage', 'postgres', 'functions', 'auth');

const list = (logs: string, where = '') => `${logs}
SELECT id, source_id, timestamp, log_type, status, level, pathname, event_message, method, log_count, logs
FROM unified_logs
${where} ORDER BY timestamp DESC, id DESC LIMIT 50`;

const facet = (column: string) => `${column}_count AS (
  SELECT '${column}' as dimension, ${column} as value, COUNT(*) as count
  FROM unified_logs
  WHERE ${column} IS NOT NULL
  GROUP BY ${column}
  LIMIT 20
)`;

const types = ['edge', 'postgrest', 'storage', 'postgres', 'edge function', 'auth'];
const levels = ['success', 'warning', 'error'];
const countsOf = (column: string, values: string[]) =>
  values.map(value => `COUNTIF(${column} = '${value}') AS ${value.replace(' ', '_')}_count`).join(', ');
const rowsOf = (column: string, values: string[]) =>
  values
    .map(
      value =>
        `UNION ALL SELECT '${column}', '${value}', ${value.replace(' ', '_')}_count FROM ${column}_counts`,
    )
    .join('\n');
const facets = (logs: string) => `${logs},

-- one pass each
log_type_counts AS (SELECT COUNT(*) AS total, ${countsOf('log_type', types)} FROM unified_logs WHERE log_type IS NOT NULL),
level_counts AS (SELECT ${countsOf('level', levels)} FROM unified_logs WHERE level IS NOT NULL),
${facet('method')},
${facet('status')},
${facet('pathname')}

SELECT 'total' AS dimension, 'all' AS value, total AS count FROM log_type_counts
${rowsOf('log_type', types)}
${rowsOf('level', levels)}
UNION ALL SELECT dimension, value, count FROM method_count
UNION ALL SELECT dimension, value, count FROM status_count
UNION ALL SELECT dimension, value, count FROM pathname_count`;

const chart = (logs: string) => `${logs}
SELECT TIMESTAMP_TRUNC(timestamp, HOUR) as time_bucket, COUNTIF(level = 'success') as success, COUNTIF(level = 'warning') as warning,
  COUNTIF(level = 'error') as error, COUNT(*) as total_per_bucket
FROM unified_logs
GROUP BY time_bucket
ORDER BY time_bucket ASC`;

export const unifiedQuestions: readonly { readonly name: string; readonly sql: string }[] = [
  { name: 'all logs: first page', sql: list(few) },
  { name: 'all logs: every kind', sql: list(all) },
  { name: 'all logs: errors with a search', sql: list(few, `WHERE level IN ('error','warning') AND (LOWER(event_message) LIKE LOWER('%Relation%'))`) },
  { name: 'all logs: other methods', sql: list(all, `WHERE (pathname LIKE '%/rest%' OR pathname LIKE '%/auth%') AND method NOT IN ('GET')`) },
  { name: 'all logs: facets', sql: facets(few) },
  { name: 'all logs: facets of every kind', sql: facets(all) },
  { name: 'all logs: chart', sql: chart(few) },
  { name: 'all logs: chart of every kind', sql: chart(all) },
  {
    name: 'all logs: one entry of postgres',
    sql: `select p.id as id, p.timestamp as timestamp, parsed.sql_state_code as status, parsed.database_name, parsed.user_name,
  parsed.connection_from, m.host as database_host, parsed.command_tag, parsed.backend_type, parsed.query_id, parsed.session_id,
  parsed.process_id, parsed.virtual_transaction_id, parsed.transaction_id, parsed.session_start_time, parsed.session_line_num,
  parsed.error_severity, p.event_message as event_message, parsed.timestamp as operation_timestamp, p as raw_log_data
from postgres_logs as p
cross join unnest(p.metadata) as m
cross join unnest(m.parsed) as parsed
WHERE p.id = 'none'`,
  },
]; // biome-ignore format: SQL
