/*
id: 2d6b8e04-1f57-4a93-9c38-e7a5d0f4b169
name: functions.combined-stats
description: Requests, messages and resources of an edge function by time.
parameters:
  project: { type: STRING, required: true, description: Reference of the project. }
  function_id: { type: STRING, required: true, description: Id of the function. }
  interval:
    type: STRING
    values: [15min, 1hr, 3hr, 1day]
    required: true
    description: Length of the window up to now; its buckets are minutes, those of a day hours.
columns:
  timestamp: { type: TIMESTAMP, required: true, description: Start of the bucket. }
  requests_count: { type: INT64, required: true, description: Requests. }
  success_count: { type: INT64, required: true, description: "Requests with a status of 200 to 299." }
  redirect_count: { type: INT64, required: true, description: "Requests with a status of 300 to 399." }
  client_err_count: { type: INT64, required: true, description: "Requests with a status of 400 to 499." }
  server_err_count: { type: INT64, required: true, description: "Requests with a status of 500 or more." }
  avg_execution_time: { type: FLOAT64, description: Mean milliseconds of a request. }
  max_execution_time: { type: INT64, description: Milliseconds of the slowest request. }
  log_count: { type: INT64, required: true, description: Messages. }
  log_info_count: { type: INT64, required: true, description: Messages of the level info. }
  log_warn_count: { type: INT64, required: true, description: Messages of the level warning. }
  log_error_count: { type: INT64, required: true, description: Messages of the level error. }
  avg_cpu_time_used: { type: FLOAT64, description: Mean milliseconds of processor time of a run. }
  max_cpu_time_used: { type: INT64, description: Most milliseconds of processor time of a run. }
  avg_memory_used: { type: FLOAT64, description: Mean megabytes of a run. }
  avg_heap_memory_used: { type: FLOAT64, description: Mean megabytes of a run's heap. }
  avg_external_memory_used: { type: FLOAT64, description: Mean megabytes of a run's memory outside its heap. }
maxRows: 1000
cacheSeconds: 60
*/
with
requests as (
  select
    if(@interval = '1day', timestamp_trunc(entry.timestamp, hour), timestamp_trunc(entry.timestamp, minute)) as bucket,
    count(*) as requests_count,
    countif(response.status_code between 200 and 299) as success_count,
    countif(response.status_code between 300 and 399) as redirect_count,
    countif(response.status_code between 400 and 499) as client_err_count,
    countif(response.status_code >= 500) as server_err_count,
    avg(m.execution_time_ms) as avg_execution_time,
    max(m.execution_time_ms) as max_execution_time
  from `deno-relay-logs` as entry
  cross join unnest(entry.metadata) as m
  cross join unnest(m.response) as response
  where entry.timestamp >= case @interval
      when '15min' then timestamp_sub(current_timestamp(), interval 15 minute)
      when '1hr' then timestamp_sub(current_timestamp(), interval 1 hour)
      when '3hr' then timestamp_sub(current_timestamp(), interval 3 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 1 day)
    end
    and m.project_ref = @project
    and m.function_id = @function_id
  group by bucket
),
messages as (
  select
    if(@interval = '1day', timestamp_trunc(entry.timestamp, hour), timestamp_trunc(entry.timestamp, minute)) as bucket,
    count(*) as log_count,
    countif(m.level = 'info') as log_info_count,
    countif(m.level in ('warn', 'warning')) as log_warn_count,
    countif(m.level = 'error') as log_error_count,
    avg(m.cpu_time_used) as avg_cpu_time_used,
    max(m.cpu_time_used) as max_cpu_time_used,
    avg((memory.heap + memory.external) / 1048576) as avg_memory_used,
    avg(memory.heap / 1048576) as avg_heap_memory_used,
    avg(memory.external / 1048576) as avg_external_memory_used
  from `deno-subhosting-events` as entry
  cross join unnest(entry.metadata) as m
  left join unnest(m.memory_used) as memory
  where entry.timestamp >= case @interval
      when '15min' then timestamp_sub(current_timestamp(), interval 15 minute)
      when '1hr' then timestamp_sub(current_timestamp(), interval 1 hour)
      when '3hr' then timestamp_sub(current_timestamp(), interval 3 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 1 day)
    end
    and m.project_ref = @project
    and m.function_id = @function_id
  group by bucket
)
select
  coalesce(requests.bucket, messages.bucket) as timestamp,
  ifnull(requests_count, 0) as requests_count,
  ifnull(success_count, 0) as success_count,
  ifnull(redirect_count, 0) as redirect_count,
  ifnull(client_err_count, 0) as client_err_count,
  ifnull(server_err_count, 0) as server_err_count,
  avg_execution_time,
  max_execution_time,
  ifnull(log_count, 0) as log_count,
  ifnull(log_info_count, 0) as log_info_count,
  ifnull(log_warn_count, 0) as log_warn_count,
  ifnull(log_error_count, 0) as log_error_count,
  avg_cpu_time_used,
  max_cpu_time_used,
  avg_memory_used,
  avg_heap_memory_used,
  avg_external_memory_used
from requests
full join messages on messages.bucket = requests.bucket
order by timestamp
