/*
id: e16a0c48-7b3d-4592-9f8e-d2c5b7a1304f
name: service-health
description: Outcomes of all services of a project by time.
parameters:
  project: { type: STRING, required: true, description: Reference of the project. }
  iso_timestamp_start: { type: TIMESTAMP, description: Exclusive lower bound. }
  iso_timestamp_end: { type: TIMESTAMP, description: Inclusive upper bound. }
  granularity: { type: STRING, values: [minute, hour, day], default: hour, description: Length of a bucket. }
columns:
  timestamp: { type: DATETIME, required: true, description: "Start of the bucket, in UTC." }
  postgres_logs: { type: STRUCT, required: true, description: 'Entries of postgres_logs: ok, warning, error and total.' }
  auth_logs: { type: STRUCT, required: true, description: 'Entries of auth_logs: ok, warning, error and total.' }
  function_edge_logs: { type: STRUCT, required: true, description: 'Entries of function_edge_logs: ok, warning, error and total.' }
  storage_logs: { type: STRUCT, required: true, description: 'Entries of storage_logs: ok, warning, error and total.' }
  realtime_logs: { type: STRUCT, required: true, description: 'Entries of realtime_logs: ok, warning, error and total.' }
  postgrest_logs: { type: STRUCT, required: true, description: 'Entries of postgrest_logs: ok, warning, error and total.' }
  edge_logs: { type: STRUCT, required: true, description: 'Entries of edge_logs: ok, warning, error and total.' }
  supavisor_logs: { type: STRUCT, required: true, description: 'All 0: no source has them.' }
  function_logs: { type: STRUCT, required: true, description: 'Entries of function_logs: ok, warning, error and total.' }
  etl_replication_logs: { type: STRUCT, required: true, description: 'All 0: no source has them.' }
maxRows: 5000
cacheSeconds: 60
window: { start: iso_timestamp_start, end: iso_timestamp_end, default: 1h, max: 31d }
*/
with
entries as (
  select 'postgres_logs' as log, entry.timestamp as timestamp, case when parsed.error_severity in ('ERROR', 'FATAL', 'PANIC') then 'error' when parsed.error_severity = 'WARNING' then 'warning' else 'ok' end as outcome
  from `postgres.logs` as entry
  left join unnest(entry.metadata) as m
  left join unnest(m.parsed) as parsed
  where entry.project = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'auth_logs', entry.timestamp, case
      when m.level in ('error', 'fatal') or safe_cast(m.status as int64) >= 500 then 'error'
      when m.level = 'warning' or safe_cast(m.status as int64) >= 400 then 'warning'
      else 'ok'
    end
  from `gotrue.logs.prod` as entry
  left join unnest(entry.metadata) as m
  where entry.project = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'function_edge_logs', entry.timestamp, case when response.status_code >= 500 then 'error' when response.status_code >= 400 then 'warning' else 'ok' end
  from `deno-relay-logs` as entry
  cross join unnest(entry.metadata) as m
  left join unnest(m.response) as response
  where m.project_ref = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'storage_logs', entry.timestamp, case when m.level in ('50', '60', 'error', 'fatal', 'critical') then 'error' when m.level in ('40', 'warn', 'warning') then 'warning' else 'ok' end
  from `storage.logs.prod.2` as entry
  cross join unnest(entry.metadata) as m
  where m.project = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'realtime_logs', entry.timestamp, case when level in ('error', 'fatal', 'critical') then 'error' when level in ('warn', 'warning') then 'warning' else 'ok' end
  from `realtime.logs.prod` as entry
  cross join unnest(entry.metadata) as m
  -- Vector finds no level where the line names its tenant before it, and leaves the line whole.
  cross join unnest([coalesce(m.level, regexp_extract(entry.event_message, r'^[0-9:.]+ (?:\w+=\S+ )+\[(\w+)\]'))]) as level
  where m.project = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'postgrest_logs', entry.timestamp, 'ok'
  from `postgREST.logs.prod` as entry
  where entry.project = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'edge_logs', entry.timestamp, case when response.status_code >= 500 then 'error' when response.status_code >= 400 then 'warning' else 'ok' end
  from `cloudflare.logs.prod` as entry
  left join unnest(entry.metadata) as m
  left join unnest(m.response) as response
  where entry.project = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
  union all
  select 'function_logs', entry.timestamp, case when m.level in ('error', 'fatal', 'critical') then 'error' when m.level in ('warn', 'warning') then 'warning' else 'ok' end
  from `deno-subhosting-events` as entry
  cross join unnest(entry.metadata) as m
  where m.project_ref = @project and entry.timestamp > @iso_timestamp_start and entry.timestamp <= @iso_timestamp_end
)
select
  cast(
    case @granularity
      when 'minute' then timestamp_trunc(entries.timestamp, minute)
      when 'hour' then timestamp_trunc(entries.timestamp, hour)
      when 'day' then timestamp_trunc(entries.timestamp, day)
    end as datetime
  ) as timestamp,
  struct(
    countif(log = 'postgres_logs' and outcome = 'ok') as ok,
    countif(log = 'postgres_logs' and outcome = 'warning') as warning,
    countif(log = 'postgres_logs' and outcome = 'error') as error,
    countif(log = 'postgres_logs') as total
  ) as postgres_logs,
  struct(
    countif(log = 'auth_logs' and outcome = 'ok') as ok,
    countif(log = 'auth_logs' and outcome = 'warning') as warning,
    countif(log = 'auth_logs' and outcome = 'error') as error,
    countif(log = 'auth_logs') as total
  ) as auth_logs,
  struct(
    countif(log = 'function_edge_logs' and outcome = 'ok') as ok,
    countif(log = 'function_edge_logs' and outcome = 'warning') as warning,
    countif(log = 'function_edge_logs' and outcome = 'error') as error,
    countif(log = 'function_edge_logs') as total
  ) as function_edge_logs,
  struct(
    countif(log = 'storage_logs' and outcome = 'ok') as ok,
    countif(log = 'storage_logs' and outcome = 'warning') as warning,
    countif(log = 'storage_logs' and outcome = 'error') as error,
    countif(log = 'storage_logs') as total
  ) as storage_logs,
  struct(
    countif(log = 'realtime_logs' and outcome = 'ok') as ok,
    countif(log = 'realtime_logs' and outcome = 'warning') as warning,
    countif(log = 'realtime_logs' and outcome = 'error') as error,
    countif(log = 'realtime_logs') as total
  ) as realtime_logs,
  struct(
    countif(log = 'postgrest_logs' and outcome = 'ok') as ok,
    countif(log = 'postgrest_logs' and outcome = 'warning') as warning,
    countif(log = 'postgrest_logs' and outcome = 'error') as error,
    countif(log = 'postgrest_logs') as total
  ) as postgrest_logs,
  struct(
    countif(log = 'edge_logs' and outcome = 'ok') as ok,
    countif(log = 'edge_logs' and outcome = 'warning') as warning,
    countif(log = 'edge_logs' and outcome = 'error') as error,
    countif(log = 'edge_logs') as total
  ) as edge_logs,
  struct(0 as ok, 0 as warning, 0 as error, 0 as total) as supavisor_logs,
  struct(
    countif(log = 'function_logs' and outcome = 'ok') as ok,
    countif(log = 'function_logs' and outcome = 'warning') as warning,
    countif(log = 'function_logs' and outcome = 'error') as error,
    countif(log = 'function_logs') as total
  ) as function_logs,
  struct(0 as ok, 0 as warning, 0 as error, 0 as total) as etl_replication_logs
from entries
group by timestamp
order by timestamp
