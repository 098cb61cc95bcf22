/*
id: 6f0a1d3e-5b1c-4d0f-9a57-2c8e4b7f9d10
name: logs.all
description: The newest 100 edge log rows of one project, optionally within a time range; SQL of the caller reads all nine log sources.
parameters:
  project:
    type: string
    required: true
    description: Reference of the project whose rows are returned.
  iso_timestamp_start:
    type: timestamp
    description: Exclusive lower bound of a row's timestamp; empty means no bound.
  iso_timestamp_end:
    type: timestamp
    description: Inclusive upper bound of a row's timestamp; empty means no bound.
columns:
  id:
    type: STRING
    required: true
    description: Identifier of the log entry.
  timestamp:
    type: TIMESTAMP
    required: true
    description: Time of the log entry, to the microsecond.
  event_message:
    type: STRING
    description: Message text of the log entry.
  metadata:
    type: STRUCT
    repeated: true
    description: Structured details of the log entry; every nested record is itself an array.
maxRows: 1000
cacheSeconds: 0
warmSeconds: 0
sandbox: true
redactPii: false
*/
with
edge_logs as (
  select timestamp, id, event_message, metadata
  from `cloudflare.logs.prod`
  where project = @project
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
postgres_logs as (
  select timestamp, id, event_message, metadata
  from `postgres.logs`
  where project = @project
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
function_edge_logs as (
  select timestamp, id, event_message, metadata
  from `deno-relay-logs`
  where exists (select 1 from unnest(metadata) as entry where entry.project_ref = @project)
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
function_logs as (
  select timestamp, id, event_message, metadata
  from `deno-subhosting-events`
  where exists (select 1 from unnest(metadata) as entry where entry.project_ref = @project)
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
auth_logs as (
  select timestamp, id, event_message, metadata
  from `gotrue.logs.prod`
  where project = @project
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
realtime_logs as (
  select timestamp, id, event_message, metadata
  from `realtime.logs.prod`
  where exists (select 1 from unnest(metadata) as entry where entry.project = @project)
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
storage_logs as (
  select timestamp, id, event_message, metadata
  from `storage.logs.prod.2`
  where exists (select 1 from unnest(metadata) as entry where entry.project = @project)
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
postgrest_logs as (
  select timestamp, id, event_message, metadata
  from `postgREST.logs.prod`
  where project = @project
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
),
pgbouncer_logs as (
  select timestamp, id, event_message, metadata
  from `pgbouncer.logs.prod`
  where project = @project
    and timestamp > coalesce(cast(nullif(@iso_timestamp_start, '') as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(nullif(@iso_timestamp_end, '') as timestamp), timestamp '9999-12-31 23:59:59.999999+00')
  order by timestamp desc
)
select id, timestamp, event_message, metadata
from edge_logs
order by timestamp desc, id
limit 100
