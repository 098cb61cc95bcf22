/*
id: 7e1d9b52-3c4a-4f86-a0d7-5b8e2f6c9a14
name: functions.resource-usage
description: Processor time and memory of an edge function by time, from the events that its runs end with.
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
  avg_cpu_time_used: { type: FLOAT64, description: Mean milliseconds of processor time of a run. }
  max_cpu_time_used: { type: INT64, description: Most milliseconds of processor time of a run. }
  avg_heap_memory_used: { type: FLOAT64, description: Mean bytes of a run's heap. }
  avg_external_memory_used: { type: FLOAT64, description: Mean bytes of a run's memory outside its heap. }
maxRows: 1000
cacheSeconds: 60
*/
with
runs as (
  select
    if(@interval = '1day', timestamp_trunc(entry.timestamp, hour), timestamp_trunc(entry.timestamp, minute)) as bucket,
    avg(m.cpu_time_used) as avg_cpu_time_used,
    max(m.cpu_time_used) as max_cpu_time_used,
    avg(memory.heap) as avg_heap_memory_used,
    avg(memory.external) as avg_external_memory_used
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
  having avg_cpu_time_used is not null or avg_heap_memory_used is not null
)
select bucket as timestamp, avg_cpu_time_used, max_cpu_time_used, avg_heap_memory_used, avg_external_memory_used
from runs
order by bucket
