-- usage.api-counts for many projects in one scan. Plain projects are looked for in the few long runs of letters and digits
-- that a URL has; other patterns, of which there are few, are tried one by one on the URLs that any of them matches.
with
requests as (
  select
    case @interval
      when 'minutely' then timestamp_trunc(entry.timestamp, minute)
      when 'hourly' then timestamp_trunc(entry.timestamp, hour)
      when 'daily' then timestamp_trunc(entry.timestamp, day)
    end as bucket,
    request.path as path,
    array_to_string(regexp_extract_all(request.url, '[a-zA-Z0-9]{12,}'), ' ') as runs,
    if(array_length(@projects_patterns) > 0 and regexp_contains(request.url, @projects_any), request.url, null) as url
  from `cloudflare.logs.prod` as entry
  cross join unnest(entry.metadata) as metadata
  cross join unnest(metadata.request) as request
  where entry.timestamp >= case @interval
      when 'minutely' then timestamp_sub(current_timestamp(), interval 60 minute)
      when 'hourly' then timestamp_sub(current_timestamp(), interval 1 hour)
      when 'daily' then timestamp_sub(current_timestamp(), interval 7 day)
    end
    and request.url is not null
),
counted as (
  select
    bucket,
    runs,
    url,
    countif(regexp_contains(path, '/rest')) as rest,
    countif(regexp_contains(path, '/storage')) as storage,
    countif(regexp_contains(path, '/auth')) as auth,
    countif(regexp_contains(path, '/realtime')) as realtime
  from requests
  where url is not null
    -- A run that holds a plain project is that project, or longer than the shortest.
    or runs in (select plain from unnest(@projects_plain) as plain)
    or length(runs) > cast(@projects_shortest as int64)
  group by bucket, runs, url
),
matches as (
  select found.project, counted.bucket, counted.rest, counted.storage, counted.auth, counted.realtime
  from counted
  join (
    select seen.runs, project
    from (select distinct runs from counted) as seen
    cross join unnest(@projects_plain) as project
    where strpos(seen.runs, project) > 0
  ) as found on found.runs = counted.runs
  union all
  select found.project, counted.bucket, counted.rest, counted.storage, counted.auth, counted.realtime
  from counted
  join (
    select seen.url, project
    from (select distinct url from counted where url is not null) as seen
    cross join unnest(@projects_patterns) as project
    where regexp_contains(seen.url, project)
  ) as found on found.url = counted.url
)
select
  project,
  cast(bucket as datetime) as timestamp,
  coalesce(sum(rest), 0) as total_rest_requests,
  coalesce(sum(storage), 0) as total_storage_requests,
  coalesce(sum(auth), 0) as total_auth_requests,
  coalesce(sum(realtime), 0) as total_realtime_requests
from matches
group by project, bucket
qualify row_number() over (partition by project order by bucket) <= 1000
order by project, bucket
