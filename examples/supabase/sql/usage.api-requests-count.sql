/*
id: 90f4c7d1-6a28-4e5b-b3f9-1c7d8e2a5046
name: usage.api-requests-count
description: Requests of a project in the last day.
parameters:
  project: { type: STRING, required: true, description: Reference of the project. }
columns:
  count: { type: INT64, required: true, description: Requests at the gateway. }
cacheSeconds: 60
*/
select count(*) as count
from `cloudflare.logs.prod`
where project = @project and timestamp >= timestamp_sub(current_timestamp(), interval 1 day)
