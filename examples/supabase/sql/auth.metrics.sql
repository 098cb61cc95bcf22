/*
id: 4a7c2e95-8d10-4b6f-a5c3-9e1f0d7b8264
name: auth.metrics
description: Figures of the authentication service in the last interval and in the one before.
parameters:
  project: { type: STRING, required: true, description: Reference of the project. }
  interval:
    type: STRING
    values: [1hr, 1day, 7day]
    default: 1day
    description: Length of the two windows, of which the later one ends now.
columns:
  period: { type: STRING, required: true, description: current or previous. }
  active_users: { type: INT64, required: true, description: Users who did something. }
  sign_up_count: { type: INT64, required: true, description: Users who signed up. }
  password_reset_requests: { type: INT64, required: true, description: Requests to recover an account. }
  auth_total_requests: { type: INT64, required: true, description: Requests that the service answered. }
  auth_total_errors: { type: INT64, required: true, description: Those with a status of 400 to 599. }
  api_total_requests: { type: INT64, required: true, description: Requests to the service at the gateway. }
  api_error_requests: { type: INT64, required: true, description: Those with a status of 400 to 599. }
maxRows: 2
cacheSeconds: 60
*/
with
service as (
  select
    if(entry.timestamp > case @interval
      when '1hr' then timestamp_sub(current_timestamp(), interval 1 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 1 day)
      when '7day' then timestamp_sub(current_timestamp(), interval 7 day)
    end, 'current', 'previous') as period,
    count(distinct if(
      coalesce(event.action, m.action) in (
        'login', 'user_signedup', 'token_refreshed', 'user_modified', 'user_recovery_requested', 'user_reauthenticate_requested'
      ),
      coalesce(event.actor_id, m.user_id),
      null
    )) as active_users,
    countif(coalesce(event.action, m.action) = 'user_signedup') as sign_up_count,
    countif(coalesce(event.action, m.action) = 'user_recovery_requested') as password_reset_requests,
    countif(m.status is not null) as auth_total_requests,
    countif(safe_cast(m.status as int64) between 400 and 599) as auth_total_errors
  from `gotrue.logs.prod` as entry
  cross join unnest(entry.metadata) as m
  left join unnest(m.auth_event) as event
  where entry.project = @project
    and entry.timestamp > case @interval
      when '1hr' then timestamp_sub(current_timestamp(), interval 2 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 2 day)
      when '7day' then timestamp_sub(current_timestamp(), interval 14 day)
    end
    and entry.timestamp <= current_timestamp()
  group by period
),
gateway as (
  select
    if(entry.timestamp > case @interval
      when '1hr' then timestamp_sub(current_timestamp(), interval 1 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 1 day)
      when '7day' then timestamp_sub(current_timestamp(), interval 7 day)
    end, 'current', 'previous') as period,
    count(*) as api_total_requests,
    countif(response.status_code between 400 and 599) as api_error_requests
  from `cloudflare.logs.prod` as entry
  cross join unnest(entry.metadata) as m
  cross join unnest(m.request) as request
  cross join unnest(m.response) as response
  where entry.project = @project
    and entry.timestamp > case @interval
      when '1hr' then timestamp_sub(current_timestamp(), interval 2 hour)
      when '1day' then timestamp_sub(current_timestamp(), interval 2 day)
      when '7day' then timestamp_sub(current_timestamp(), interval 14 day)
    end
    and entry.timestamp <= current_timestamp()
    and request.path like '%auth/v1%'
  group by period
)
select
  either as period,
  ifnull(active_users, 0) as active_users,
  ifnull(sign_up_count, 0) as sign_up_count,
  ifnull(password_reset_requests, 0) as password_reset_requests,
  ifnull(auth_total_requests, 0) as auth_total_requests,
  ifnull(auth_total_errors, 0) as auth_total_errors,
  ifnull(api_total_requests, 0) as api_total_requests,
  ifnull(api_error_requests, 0) as api_error_requests
from unnest(['current', 'previous']) as either
left join service on service.period = either
left join gateway on gateway.period = either
order by period
