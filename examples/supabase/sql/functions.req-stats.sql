/*
id: 5c8f3a10-9b7d-4c62-8e15-0a4d6b2c7f31
name: functions.req-stats
description: Requests to an edge function by time, with their outcomes and how long they took.
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
)
select
  bucket as timestamp, requests_count, success_count, redirect_count, client_err_count, server_err_count,
  avg_execution_time, max_execution_time
from requests
order by bucket
