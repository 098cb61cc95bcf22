/*
id: b83e5d71-2c94-4fa6-8d07-6f1a9c3e0b52
name: project.metrics
description: Outcomes of a project's services by time, in a window and in the one of the same length before it.
parameters:
  project: { type: STRING, required: true, description: Reference of the project. }
  iso_timestamp_start: { type: TIMESTAMP, description: Exclusive lower bound of the window. }
  iso_timestamp_end: { type: TIMESTAMP, description: Inclusive upper bound of the window. }
  interval:
    type: STRING
    values: [1hr, 1day, 7day]
    default: 1hr
    description: "The buckets are minutes for 1hr, hours for 1day, days for 7day."
columns:
  timestamp: { type: TIMESTAMP, required: true, description: Start of the bucket. }
  service: { type: STRING, required: true, description: "auth, db, functions, realtime or storage." }
  time_window: { type: STRING, required: true, description: current or previous. }
  ok_count: { type: INT64, required: true, description: Log entries that are neither a warning nor an error. }
  warning_count: { type: INT64, required: true, description: "Warnings; statuses of 400 to 499." }
  error_count: { type: INT64, required: true, description: "Errors; statuses of 500 or more." }
maxRows: 5000
cacheSeconds: 60
window: { start: iso_timestamp_start, end: iso_timestamp_end, default: 1h, max: 31d }
*/
with
entries as (
  select 'db' as service, entry.timestamp as timestamp, case when parsed.error_severity in ('ERROR', 'FATAL', 'PANIC') then 'error' when parsed.error_severity = 'WARNING' then 'warning' else 'ok' end as outcome
  from `postgres.logs` as entry
  left join unnest(entry.metadata) as m
  left join unnest(m.parsed) as parsed
  where entry.project = @project and entry.timestamp > timestamp_sub(@iso_timestamp_start, interval timestamp_diff(@iso_timestamp_end, @iso_timestamp_start, microsecond) microsecond) and entry.timestamp <= @iso_timestamp_end
  union all
  select 'auth', entry.timestamp, case
      when m.level in ('error', 'fatal') or safe_cast(m.status as int64) >= 500 then 'error'
      when m.level = 'warning' or safe_cast(m.status as int64) >= 400 then 'warning'
      else 'ok'
    end
  from `gotrue.logs.prod` as entry
  left join unnest(entry.metadata) as m
  where entry.project = @project and entry.timestamp > timestamp_sub(@iso_timestamp_start, interval timestamp_diff(@iso_timestamp_end, @iso_timestamp_start, microsecond) microsecond) and entry.timestamp <= @iso_timestamp_end
  union all
  select 'functions', entry.timestamp, case when response.status_code >= 500 then 'error' when response.status_code >= 400 then 'warning' else 'ok' end
  from `deno-relay-logs` as entry
  cross join unnest(entry.metadata) as m
  left join unnest(m.response) as response
  where m.project_ref = @project and entry.timestamp > timestamp_sub(@iso_timestamp_start, interval timestamp_diff(@iso_timestamp_end, @iso_timestamp_start, microsecond) microsecond) and entry.timestamp <= @iso_timestamp_end
  union all
  select 'storage', entry.timestamp, case when m.level in ('50', '60', 'error', 'fatal', 'critical') then 'error' when m.level in ('40', 'warn', 'warning') then 'warning' else 'ok' end
  from `storage.logs.prod.2` as entry
  cross join unnest(entry.metadata) as m
  where m.project = @project and entry.timestamp > timestamp_sub(@iso_timestamp_start, interval timestamp_diff(@iso_timestamp_end, @iso_timestamp_start, microsecond) microsecond) and entry.timestamp <= @iso_timestamp_end
  union all
  select 'realtime', entry.timestamp, case when level in ('error', 'fatal', 'critical') then 'error' when level in ('warn', 'warning') then 'warning' else 'ok' end
  from `realtime.logs.prod` as entry
  cross join unnest(entry.metadata) as m
  -- Vector finds no level where the line names its tenant before it, and leaves the line whole.
  cross join unnest([coalesce(m.level, regexp_extract(entry.event_message, r'^[0-9:.]+ (?:\w+=\S+ )+\[(\w+)\]'))]) as level
  where m.project = @project and entry.timestamp > timestamp_sub(@iso_timestamp_start, interval timestamp_diff(@iso_timestamp_end, @iso_timestamp_start, microsecond) microsecond) and entry.timestamp <= @iso_timestamp_end
)
select
  case @interval
    when '1hr' then timestamp_trunc(entries.timestamp, minute)
    when '1day' then timestamp_trunc(entries.timestamp, hour)
    when '7day' then timestamp_trunc(entries.timestamp, day)
  end as timestamp,
  service,
  if(entries.timestamp > @iso_timestamp_start, 'current', 'previous') as time_window,
  countif(outcome = 'ok') as ok_count,
  countif(outcome = 'warning') as warning_count,
  countif(outcome = 'error') as error_count
from entries
group by timestamp, service, time_window
order by timestamp, service, time_window
