-- usage.api-counts for many projects in one scan. A plain project stands at the start of the host, behind https://, or else the
-- URL has another run of letters and digits as long as the shortest project: then all of it is searched. Other patterns, of
-- which there are few, are tried one by one on the URLs that any of them matches.
with
requests as (
  select
    entry.timestamp as timestamp,
    request.path as path,
    if(
      starts_with(coalesce(request.url, entry.project), 'https://')
        and not regexp_contains(substr(coalesce(request.url, entry.project), 9 + cast(@projects_shortest as int64)), @projects_elsewhere),
      substr(coalesce(request.url, entry.project), 9, cast(@projects_shortest as int64)),
      coalesce(request.url, entry.project)
    ) as place,
    if(array_length(@projects_patterns) > 0 and regexp_contains(coalesce(request.url, entry.project), @projects_any), coalesce(request.url, entry.project), null) as url
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
),
counted as (
  select
    case
      when @interval in ('minutely', '15min', '30min', '3hr') then timestamp_trunc(requests.timestamp, minute)
      when @interval in ('hourly', '1day', '3day') then timestamp_trunc(requests.timestamp, hour)
      when @interval = 'daily' then timestamp_trunc(requests.timestamp, day)
    end as bucket,
    place,
    url,
    countif(regexp_contains(path, '/rest')) as rest,
    countif(regexp_contains(path, '/storage')) as storage,
    countif(regexp_contains(path, '/auth')) as auth,
    countif(regexp_contains(path, '/realtime')) as realtime
  from requests
  where url is not null
    or place in (select plain from unnest(@projects_plain) as plain)
    or length(place) > cast(@projects_shortest as int64)
  group by bucket, place, url
),
matches as (
  select found.project, counted.bucket, counted.rest, counted.storage, counted.auth, counted.realtime
  from counted
  join (
    select distinct seen.place, project
    from (select distinct place from counted) as seen
    cross join unnest(generate_array(1, 1 + length(seen.place) - cast(@projects_shortest as int64))) as start
    join unnest(@projects_plain) as project
      on substr(project, 1, cast(@projects_shortest as int64)) = substr(seen.place, start, cast(@projects_shortest as int64))
    where strpos(seen.place, project) > 0
  ) as found on found.place = counted.place
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
qualify row_number() over (partition by project order by bucket) <= 1001
order by project, bucket
