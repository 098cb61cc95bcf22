/*
id: c2b9e7a4-83d6-4f5e-b1a0-7d94e60f3b25
name: usage.api-counts
description: Requests of a project per time bucket, split into the four API areas rest, storage, auth and realtime.
parameters:
  interval:
    type: enum
    values: [minutely, hourly, daily]
    aliases: { 15min: 15min, 30min: 30min, 1hr: minutely, 3hr: 3hr, 1day: 1day, 3day: 3day, 7day: daily }
    typeName: UsageInterval
    required: true
    description: "Window and bucket: minutely is the last 60 minutes by minute, hourly the last hour by hour, daily the last 7 days by day."
  project:
    type: regexp
    required: true
    description: RE2 pattern that a request's URL must contain a match of, or its project where the gateway logs no URL.
columns:
  timestamp:
    type: DATETIME
    required: true
    description: Start of the bucket, in UTC.
  total_rest_requests:
    type: INT64
    required: true
    description: Requests whose path contains /rest.
  total_storage_requests:
    type: INT64
    required: true
    description: Requests whose path contains /storage.
  total_auth_requests:
    type: INT64
    required: true
    description: Requests whose path contains /auth.
  total_realtime_requests:
    type: INT64
    required: true
    description: Requests whose path contains /realtime.
maxRows: 1000
cacheSeconds: 900
warmSeconds: 300
sandbox: true
redactPii: false
batch:
  parameter: project
  key: project
*/
with
requests as (
  select
    case
      when @interval in ('minutely', '15min', '30min', '3hr') then timestamp_trunc(entry.timestamp, minute)
      when @interval in ('hourly', '1day', '3day') then timestamp_trunc(entry.timestamp, hour)
      when @interval = 'daily' then timestamp_trunc(entry.timestamp, day)
    end as bucket,
    request.path as path
  from `cloudflare.logs.prod` as entry
  cross join unnest(entry.metadata) as metadata
  cross join unnest(metadata.request) as request
  where entry.timestamp >= case @interval
      when 'minutely' then timestamp_sub(current_timestamp(), interval 60 minute)
      when 'hourly' then timestamp_sub(current_timestamp(), interval 1 hour)
      when 'daily' then timestamp_sub(current_timestamp(), interval 7 day)
      when '15min' then timestamp_sub(current_timestamp(), interval 15 minute)
      when '30min' then timestamp_sub(current_timestamp(), interval 30 minute)
      when '3hr' then timestamp_sub(current_timestamp(), interval 3 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 1 day)
      when '3day' then timestamp_sub(current_timestamp(), interval 3 day)
    end
    and regexp_contains(coalesce(request.url, entry.project), @project)
)
select
  cast(bucket as datetime) as timestamp,
  coalesce(countif(regexp_contains(path, '/rest')), 0) as total_rest_requests,
  coalesce(countif(regexp_contains(path, '/storage')), 0) as total_storage_requests,
  coalesce(countif(regexp_contains(path, '/auth')), 0) as total_auth_requests,
  coalesce(countif(regexp_contains(path, '/realtime')), 0) as total_realtime_requests
from requests
group by bucket
order by bucket
