import { below, chance, hex, ipv4, numbers, pick, text, uuid, weigh } from './draws.ts';
import { edge } from './sample-edge.ts';
import type { SampleSource } from './sample-source.ts';
import { functionNames, project, tables, userAgents } from './vocabulary.ts';

const postgres: SampleSource = {
  share: 0.6,
  draws: {
    project,
    kind: weigh('kind', text({ LOG: 90, WARNING: 3, ERROR: 6, FATAL: 1 })),
    user_name: pick('user', [
      'authenticator',
      'supabase_admin',
      'postgres',
      'supabase_auth_admin',
      'supabase_storage_admin',
    ]),
    table_name: pick('table', tables),
    event_message: `CASE kind
      WHEN 'LOG' THEN CASE WHEN ${chance('connection', 50)} THEN concat('connection received: host=', ${ipv4('host')}, ' port=', 1024 + ${below('port', 60_000)}) ELSE concat('connection authorized: user=', user_name, ' database=postgres') END
      WHEN 'WARNING' THEN 'there is already a transaction in progress'
      WHEN 'ERROR' THEN CASE WHEN ${chance('missing', 40)} THEN concat('relation "public.', table_name, '" does not exist') ELSE concat('duplicate key value violates unique constraint "', table_name, '_pkey"') END
      ELSE concat('password authentication failed for user "', user_name, '"') END`,
  },
  leaves: {
    project: 'project',
    event_message: 'event_message',
    'metadata.host': `concat('db-', project)`,
    'metadata.parsed.error_severity': 'kind',
    'metadata.parsed.user_name': 'user_name',
    'metadata.parsed.database_name': `'postgres'`,
    'metadata.parsed.backend_type': `'client backend'`,
    'metadata.parsed.command_tag': pick('tag', ['SELECT', 'INSERT', 'UPDATE', 'authentication', 'idle']),
    'metadata.parsed.connection_from': `concat(${ipv4('from')}, ':', 1024 + ${below('from', 60_000)})`,
    'metadata.parsed.process_id': `100 + ${below('process', 900_000)}`,
    'metadata.parsed.session_id': `concat(${hex('session', 8)}, '.', ${hex('session end', 5)})`,
    'metadata.parsed.session_line_num': `1 + ${below('line', 90)}`,
    'metadata.parsed.session_start_time': `strftime(ts, '%Y-%m-%d %H:%M:%S UTC')`,
    'metadata.parsed.timestamp': `strftime(ts, '%Y-%m-%d %H:%M:%S.%g UTC')`,
    'metadata.parsed.sql_state_code': `CASE kind WHEN 'ERROR' THEN '23505' WHEN 'FATAL' THEN '28P01' ELSE '00000' END`,
    'metadata.parsed.query': `CASE WHEN kind = 'ERROR' THEN concat('insert into ', table_name, ' (id) values (', ${below('id', 5000)}, ')') END`,
    'metadata.parsed.detail': `CASE WHEN kind = 'ERROR' THEN concat('Key (id)=(', ${below('id', 5000)}, ') already exists.') END`,
    'metadata.parsed.transaction_id': '0',
    'metadata.parsed.query_id': `(hash(i, 'query') >> 2)::BIGINT`,
  },
};

const authLine = `component: 'api', duration: duration, level: level, method: 'POST', msg: msg, path: path, remote_addr: ip, status: status::INTEGER, time: strftime(ts, '%Y-%m-%dT%H:%M:%SZ')`;

const auth: SampleSource = {
  share: 0.12,
  draws: {
    project,
    path: pick('path', ['/token', '/user', '/signup', '/logout', '/otp', '/authorize']),
    status: weigh('status', text({ 200: 85, 400: 8, 401: 3, 422: 3, 500: 1 })),
    level: `CASE WHEN status IN ('200') THEN 'info' WHEN status = '500' THEN 'error' ELSE 'warning' END`,
    email: `concat(${pick('name', ['ada', 'grace', 'linus', 'edsger', 'barbara'])}, ${below('name', 900)}, '@example.com')`,
    ip: ipv4('ip'),
    msg: `CASE WHEN status = '200' THEN 'request completed' WHEN status = '500' THEN 'Unhandled server error' ELSE '400: Invalid login credentials' END`,
    action: `CASE WHEN status = '200' THEN CASE path WHEN '/token' THEN 'login' WHEN '/signup' THEN 'user_signedup' END END`,
    actor: uuid('user'),
    duration: `100000 + ${below('duration', 90_000_000)}`,
    event_message: `CASE WHEN ${chance('plain', 3)} THEN 'GoTrue API started on: 0.0.0.0:9999' WHEN action IS NULL THEN to_json({${authLine}})::VARCHAR ELSE to_json({auth_event: {action: action, actor_id: actor, actor_username: email}, ${authLine}, login_method: 'password', metering: true, provider: 'email', user_id: actor})::VARCHAR END`,
  },
  leaves: {
    project: 'project',
    event_message: 'event_message',
    'metadata.project': 'project',
    'metadata.component': `'api'`,
    'metadata.level': 'level',
    'metadata.method': `'POST'`,
    'metadata.msg': 'msg',
    'metadata.path': 'path',
    'metadata.status': 'status',
    'metadata.host': `concat(project, '.supabase.co')`,
    'metadata.duration': 'duration::VARCHAR',
    'metadata.remote_addr': 'ip',
    'metadata.request_id': uuid('request'),
    'metadata.user_id': `CASE WHEN status = '200' THEN actor END`,
    'metadata.error': `CASE WHEN status <> '200' THEN msg END`,
    'metadata.time': `strftime(ts, '%Y-%m-%dT%H:%M:%SZ')`,
    'metadata.timestamp': `strftime(ts, '%Y-%m-%dT%H:%M:%SZ')`,
    'metadata.auth_event?': 'action IS NOT NULL',
    'metadata.auth_event.action': 'action',
    'metadata.auth_event.actor_id': 'actor',
    'metadata.auth_event.actor_username': 'email',
    'metadata.auth_event.actor_via_sso': 'false',
    'metadata.auth_event.log_type': `'account'`,
    'metadata.auth_event.traits.provider': `'email'`,
  },
};

const functionEdge: SampleSource = {
  share: 0.05,
  draws: {
    project,
    name: pick('function', functionNames),
    status: weigh('status', numbers({ 200: 90, 401: 3, 500: 6, 546: 1 })),
    method: weigh('method', text({ POST: 85, OPTIONS: 10, GET: 5 })),
    url: `concat('https://', project, '.supabase.co/functions/v1/', name)`,
  },
  leaves: {
    event_message: `concat_ws(' | ', method, status, url)`,
    'metadata.project_ref': 'project',
    'metadata.function_id': `concat('5f0e', substr(md5(concat(project, name)), 1, 12))`,
    'metadata.deployment_id': `concat(project, '_', substr(md5(concat(project, name)), 1, 8), '_11')`,
    'metadata.version': `'11'`,
    'metadata.execution_time_ms': `5 + ${below('execution', 2000)}`,
    'metadata.request.method': 'method',
    'metadata.request.pathname': `concat('/', name)`,
    'metadata.request.host': `'edge-runtime.supabase.com'`,
    'metadata.request.protocol': `'https:'`,
    'metadata.request.url': 'url',
    'metadata.request.headers.user_agent': pick('agent', userAgents),
    'metadata.request.headers.host': `'edge-runtime.supabase.com'`,
    'metadata.response.status_code': 'status',
    'metadata.response.headers.content_type': `'application/json'`,
    'metadata.response.headers.date': `strftime(ts, '%a, %d %b %Y %H:%M:%S GMT')`,
  },
};

const functionEvents: SampleSource = {
  share: 0.06,
  draws: {
    project,
    level: weigh('level', text({ log: 40, info: 40, warning: 8, error: 12 })),
    event_type: weigh('event', text({ Log: 70, Boot: 15, Shutdown: 15 })),
  },
  leaves: {
    event_message: `CASE WHEN event_type = 'Boot' THEN concat('booted (time: ', 20 + ${below('boot', 90)}, 'ms)') WHEN event_type = 'Shutdown' THEN 'shutdown' WHEN level = 'error' THEN concat('TypeError: Cannot read properties of undefined (reading ''id'')\\n    at handler (file:///src/index.ts:', ${below('line', 90)}, ':17)') ELSE concat('handled request ', ${uuid('execution')}) END`,
    'metadata.project_ref': 'project',
    'metadata.function_id': `concat('5f0e', substr(md5(concat(project, ${below('function', 4)})), 1, 12))`,
    'metadata.execution_id': uuid('execution'),
    'metadata.event_type': 'event_type',
    'metadata.level': 'level',
    'metadata.region': pick('region', ['eu-central-1', 'us-east-1', 'ap-southeast-1']),
    'metadata.version': `'11'`,
    'metadata.timestamp': `strftime(ts, '%Y-%m-%dT%H:%M:%S.%fZ')`,
  },
};

const realtime: SampleSource = {
  share: 0.08,
  draws: { project, level: weigh('level', text({ info: 92, error: 5, warning: 3 })) },
  leaves: {
    event_message: `CASE WHEN level = 'error' THEN 'UnableToConnectToTenantDatabase: tcp connect: connection refused' ELSE ${pick('message', ['Connected to tenant database', 'Tenant is active', 'Billing metrics: [:realtime, :connections]'])} END`,
    'metadata.project': 'project',
    'metadata.external_id': 'project',
    'metadata.level': 'level',
    'metadata.context?': `level = 'error'`,
    'metadata.context.application': `'realtime'`,
    'metadata.context.module': `'Elixir.Realtime.Tenants.Connect'`,
    'metadata.context.line': `10 + ${below('line', 300)}`,
    'metadata.context.pid': `concat('<0.', ${below('pid', 90_000)}, '.0>')`,
    'metadata.context.mfa': `['Realtime.Tenants.Connect', 'init', '1']`,
    'metadata.context.time': 'epoch_us(ts)',
    'metadata.context.vm.node': `'realtime@127.0.0.1'`,
    'metadata.measurements?': `level = 'info'`,
    'metadata.measurements.connected': below('connected', 200),
    'metadata.measurements.limit': '200',
  },
};

const storage: SampleSource = {
  share: 0.12,
  draws: {
    project,
    method: weigh('method', text({ GET: 80, POST: 14, DELETE: 4, HEAD: 2 })),
    status: weigh('status', numbers({ 200: 90, 400: 5, 404: 4, 500: 1 })),
    url: `concat('/object/public/avatars/', ${hex('object', 8)}, '.png')`,
    ip: ipv4('ip'),
  },
  leaves: {
    event_message: `concat_ws(' | ', project, method, status, ip, url)`,
    'metadata.project': 'project',
    'metadata.tenantId': 'project',
    'metadata.level': `CASE WHEN status < 400 THEN 'info' WHEN status < 500 THEN 'warn' ELSE 'error' END`,
    'metadata.reqId': `concat('req-', ${hex('request', 6)})`,
    'metadata.rawError': `CASE WHEN status >= 400 THEN '{"statusCode":"404","error":"not_found","message":"Object not found"}' END`,
    'metadata.responseTime': `2 + ${below('time', 900)}`,
    'metadata.req.method': 'method',
    'metadata.req.url': 'url',
    'metadata.req.hostname': `concat(project, '.supabase.co')`,
    'metadata.req.remoteAddress': 'ip',
    'metadata.req.remotePort': `1024 + ${below('port', 60_000)}`,
    'metadata.req.headers.user_agent': pick('agent', userAgents),
    'metadata.req.headers.cf_connecting_ip': 'ip',
    'metadata.res.statusCode': 'status',
    'metadata.res.headers.content_length': below('length', 400_000),
    'metadata.res.headers.content_type': `'image/png'`,
    'metadata.context.host': `'storage-1'`,
    'metadata.context.pid': below('pid', 4000),
  },
};

const plain = (messages: string): SampleSource => ({
  share: 0.04,
  draws: { project },
  leaves: { project: 'project', event_message: messages, 'metadata.host': `concat('db-', project)` },
});

/** The samples of the sources in `schema/sources/`; a source without one stays empty. */
export const sampleSources: Readonly<Record<string, SampleSource>> = {
  'cloudflare.logs.prod': edge,
  'postgres.logs': postgres,
  'gotrue.logs.prod': auth,
  'deno-relay-logs': functionEdge,
  'deno-subhosting-events': functionEvents,
  'realtime.logs.prod': realtime,
  'storage.logs.prod.2': storage,
  'postgREST.logs.prod': plain(pick('message', ['Config reloaded', 'Schema cache loaded', 'Attempting to connect to the database...', 'Listening for notifications on the pgrst channel'])),
  'pgbouncer.logs.prod': plain(`concat('stats: ', ${below('xacts', 90)}, ' xacts/s, ', ${below('queries', 200)}, ' queries/s, in ', ${below('in', 90_000)}, ' B/s')`),
}; // biome-ignore format: a table
