import { quoteText } from '../duckdb/layout.ts';

/**
 * What sample rows look like: SQL expressions over the tick number `i`, the time `ts`, and the columns before them in the
 * same list. Everything is drawn from hashes of `i`, so a tick's row is the same on every machine.
 */
export type SampleSource = {
  /** Rows for each edge row. */
  readonly share: number;
  /** Names for expressions that several leaves share, each may use those before it. */
  readonly draws: Readonly<Record<string, string>>;
  /**
   * By dotted path: the value of a leaf. A record is there when a leaf below it is given; a condition under its path and
   * a `?` leaves it out of some rows.
   */
  readonly leaves: Readonly<Record<string, string>>;
};

/** References of the sample's projects, the busiest first. */
export const sampleProjects = [
  'xkqjzpwmtrnbvhsdlcfy',
  'awodrmhznqxyktvulpeb',
  'pfuyqbcmlgzstkvhnera',
  'rjtwnozekdplxyqiuhsc',
  'mbvgfhcalkyetxzdqnwo',
  'zuyipseroqjhlvkgbxtn',
] as const;

/** A number below `bound`. */
const below = (salt: string, bound: number) => `(hash(i, ${quoteText(salt)}) % ${bound})::INTEGER`;

/** True in `percent` of 100 rows. */
const chance = (salt: string, percent: number) => `${below(salt, 1000)} < ${percent * 10}`;

/** One of the expressions, each as likely as its weight. */
function weigh(salt: string, weights: readonly (readonly [sql: string, weight: number])[]): string {
  let upTo = 0;
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  const arms = weights.map(([sql, weight]) => {
    upTo += weight;
    return `WHEN ${below(salt, total)} < ${upTo} THEN ${sql}`;
  });
  return `CASE ${arms.join(' ')} END`;
}

/** One of the texts, all equally likely. */
const pick = (salt: string, texts: readonly string[]) =>
  `([${texts.map(quoteText).join(', ')}])[1 + ${below(salt, texts.length)}]`;

const text = (strings: Readonly<Record<string, number>>) =>
  Object.entries(strings).map(([value, weight]) => [quoteText(value), weight] as const);

const hex = (salt: string, digits: number) => `substr(md5(concat(i, ${quoteText(salt)})), 1, ${digits})`;

const uuid = (salt: string) =>
  `concat(${hex(`${salt}1`, 8)}, '-', ${hex(`${salt}2`, 4)}, '-4', ${hex(`${salt}3`, 3)}, '-a', ${hex(`${salt}4`, 3)}, '-', ${hex(`${salt}5`, 12)})`;

const ipv4 = (salt: string) =>
  `concat_ws('.', 1 + ${below(`${salt}a`, 223)}, ${below(`${salt}b`, 256)}, ${below(`${salt}c`, 256)}, 1 + ${below(`${salt}d`, 254)})`;

const ipv6 = (salt: string) =>
  `concat('2a02:', ${hex(`${salt}e`, 4)}, ':', ${hex(`${salt}f`, 4)}, '::', ${hex(`${salt}g`, 4)})`;

const project = weigh(
  'project',
  sampleProjects.map((ref, at) => [quoteText(ref), [40, 25, 15, 10, 6, 4][at]!] as const),
);

const tables = ['todos', 'profiles', 'messages', 'orders', 'products', 'events', 'rooms', 'invoices'];
const functionNames = ['send-email', 'stripe-webhook', 'resize', 'hello-world'];

const edgePath = `CASE area
  WHEN 'rest' THEN concat('/rest/v1/', ${pick('table', tables)})
  WHEN 'auth' THEN ${pick('auth', ['/auth/v1/token', '/auth/v1/user', '/auth/v1/signup', '/auth/v1/logout', '/auth/v1/otp'])}
  WHEN 'storage' THEN concat('/storage/v1/object/public/avatars/', ${hex('object', 8)}, ${pick('extension', ['.png', '.jpg', '.webp'])})
  WHEN 'realtime' THEN '/realtime/v1/websocket'
  WHEN 'functions' THEN concat('/functions/v1/', ${pick('function', functionNames)})
  ELSE ${pick('other', ['/', '/favicon.ico', '/graphql/v1', '/pg/health'])} END`;

const edgeStatus = `CASE WHEN area = 'realtime' THEN 101 ELSE ${weigh('status', [
  ['200', 780], ['201', 70], ['204', 40], ['304', 20], ['400', 25], ['401', 20], ['403', 8], ['404', 20], ['409', 5],
  ['429', 3], ['500', 5], ['502', 2], ['503', 2],
])} END`; // biome-ignore format: one list

const places = "{colo: 'FRA', city: 'Frankfurt am Main', country: 'DE', continent: 'EU', region: 'Hesse', code: 'HE', timezone: 'Europe/Berlin', postal: '60313', latitude: '50.11552', longitude: '8.68417', eu: '1'},"
  + "{colo: 'IAD', city: 'Ashburn', country: 'US', continent: 'NA', region: 'Virginia', code: 'VA', timezone: 'America/New_York', postal: '20147', latitude: '39.04372', longitude: '-77.48749', eu: NULL},"
  + "{colo: 'SIN', city: 'Singapore', country: 'SG', continent: 'AS', region: NULL, code: NULL, timezone: 'Asia/Singapore', postal: '018989', latitude: '1.28967', longitude: '103.85007', eu: NULL},"
  + "{colo: 'GRU', city: 'São Paulo', country: 'BR', continent: 'SA', region: 'São Paulo', code: 'SP', timezone: 'America/Sao_Paulo', postal: '01000', latitude: '-23.54750', longitude: '-46.63611', eu: NULL},"
  + "{colo: 'LHR', city: 'London', country: 'GB', continent: 'EU', region: 'England', code: 'ENG', timezone: 'Europe/London', postal: 'EC4N', latitude: '51.50853', longitude: '-0.12574', eu: NULL}"; // biome-ignore format: a table

const userAgents = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'node', 'Dart/3.4 (dart:io)', 'okhttp/4.12.0', 'curl/8.7.1', 'python-httpx/0.27.0',
]; // biome-ignore format: a list

const edge: SampleSource = {
  share: 1,
  draws: {
    project,
    area: weigh('area', text({ rest: 55, auth: 14, storage: 16, realtime: 7, functions: 5, other: 3 })),
    path: edgePath,
    status: edgeStatus,
    method: `CASE WHEN area IN ('realtime', 'storage', 'other') THEN 'GET' WHEN area = 'functions' THEN 'POST' ELSE ${weigh('method', text({ GET: 70, POST: 18, PATCH: 6, DELETE: 2, OPTIONS: 4 }))} END`,
    search: `CASE WHEN area = 'rest' THEN concat('?select=*&id=eq.', ${below('id', 5000)}) WHEN path = '/auth/v1/token' THEN '?grant_type=password' END`,
    host: `concat(project, '.supabase.co')`,
    ip: weigh('ip', [
      [ipv4('ip'), 88],
      [ipv6('ip'), 12],
    ]),
    agent: pick('agent', userAgents),
    place: `([${places}])[1 + ${below('place', 5)}]`,
    ray: `concat(${hex('ray', 16)}, '-', struct_extract(place, 'colo'))`,
    milliseconds: `4 + ${below('fast', 60)} + CASE WHEN ${chance('slow', 5)} THEN ${below('slower', 4000)} ELSE 0 END`,
    event_message: `concat_ws(' | ', method, status, ip, ray, concat('https://', host, path, search), agent)`,
  },
  leaves: {
    project: 'project',
    event_message: 'event_message',
    'metadata.logflare_worker.worker_id': hex('worker', 6),
    'metadata.request.method': 'method',
    'metadata.request.path': 'path',
    'metadata.request.host': 'host',
    'metadata.request.protocol': `'https:'`,
    'metadata.request.search': 'search',
    'metadata.request.url': `concat('https://', host, path, search)`,
    'metadata.request.cf?': `NOT ${chance('no cf', 2)}`,
    'metadata.request.cf.asn': pick('asn', ['13335', '16509', '3320', '7018', '15169', '8881']),
    'metadata.request.cf.asOrganization': pick('asn', [
      'Cloudflare',
      'Amazon.com',
      'Deutsche Telekom',
      'AT&T',
      'Google',
      '1&1 Versatel',
    ]),
    'metadata.request.cf.botManagement.score': `1 + ${below('score', 99)}`,
    'metadata.request.cf.botManagement.verifiedBot': chance('bot', 3),
    'metadata.request.cf.botManagement.corporateProxy': 'false',
    'metadata.request.cf.botManagement.staticResource': `area = 'storage'`,
    'metadata.request.cf.botManagement.detectionIds': `CASE WHEN ${chance('detected', 4)} THEN [33554817, ${below('detection', 9999)}] ELSE [] END`,
    'metadata.request.cf.botManagement.ja3Hash': hex('ja3', 32),
    'metadata.request.cf.city': 'place.city',
    'metadata.request.cf.colo': 'place.colo',
    'metadata.request.cf.continent': 'place.continent',
    'metadata.request.cf.country': 'place.country',
    'metadata.request.cf.region': 'place.region',
    'metadata.request.cf.regionCode': 'place.code',
    'metadata.request.cf.timezone': 'place.timezone',
    'metadata.request.cf.postalCode': 'place.postal',
    'metadata.request.cf.latitude': 'place.latitude',
    'metadata.request.cf.longitude': 'place.longitude',
    'metadata.request.cf.isEUCountry': 'place.eu',
    'metadata.request.cf.clientTcpRtt': below('rtt', 180),
    'metadata.request.cf.clientAcceptEncoding': `'gzip, deflate, br'`,
    'metadata.request.cf.httpProtocol': pick('protocol', ['HTTP/1.1', 'HTTP/2', 'HTTP/3']),
    'metadata.request.cf.tlsVersion': `'TLSv1.3'`,
    'metadata.request.cf.tlsCipher': `'AEAD-AES128-GCM-SHA256'`,
    'metadata.request.cf.tlsClientAuth.certPresented': `'0'`,
    'metadata.request.cf.tlsClientAuth.certVerified': `'NONE'`,
    'metadata.request.headers.accept': `'*/*'`,
    'metadata.request.headers.cf_connecting_ip': 'ip',
    'metadata.request.headers.x_real_ip': 'ip',
    'metadata.request.headers.cf_ipcountry': 'place.country',
    'metadata.request.headers.cf_ray': 'ray',
    'metadata.request.headers.host': 'host',
    'metadata.request.headers.user_agent': 'agent',
    'metadata.request.headers.x_client_info': pick('client', [
      'supabase-js-web/2.44.2',
      'supabase-js-node/2.43.4',
      'supabase-flutter/2.5.6',
    ]),
    'metadata.request.headers.x_forwarded_proto': `'https'`,
    'metadata.response.origin_time': 'milliseconds',
    'metadata.response.status_code': 'status',
    'metadata.response.headers.cf_cache_status': `CASE WHEN area = 'storage' THEN ${pick('cache', ['HIT', 'MISS', 'EXPIRED'])} ELSE 'DYNAMIC' END`,
    'metadata.response.headers.cf_ray': 'ray',
    'metadata.response.headers.content_type': `CASE WHEN area = 'storage' THEN 'image/png' ELSE 'application/json; charset=utf-8' END`,
    'metadata.response.headers.content_length': `CASE WHEN status NOT IN (101, 204, 304) THEN (2 + ${below('length', 40_000)})::VARCHAR END`,
    'metadata.response.headers.date': `strftime(ts, '%a, %d %b %Y %H:%M:%S GMT')`,
    'metadata.response.headers.sb_gateway_version': `'1'`,
  },
};

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
    event_message: `CASE WHEN ${chance('plain', 3)} THEN 'GoTrue API started on: 0.0.0.0:9999' ELSE to_json({component: 'api', level: level, method: 'POST', msg: msg, path: path, remote_addr: ip, status: status::INTEGER, time: strftime(ts, '%Y-%m-%dT%H:%M:%SZ')})::VARCHAR END`,
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
    'metadata.duration': `(100000 + ${below('duration', 90_000_000)})::VARCHAR`,
    'metadata.remote_addr': 'ip',
    'metadata.request_id': uuid('request'),
    'metadata.user_id': `CASE WHEN status = '200' THEN ${uuid('user')} END`,
    'metadata.error': `CASE WHEN status <> '200' THEN msg END`,
    'metadata.time': `strftime(ts, '%Y-%m-%dT%H:%M:%SZ')`,
    'metadata.timestamp': `strftime(ts, '%Y-%m-%dT%H:%M:%SZ')`,
    'metadata.auth_event?': `path = '/token' AND status = '200'`,
    'metadata.auth_event.action': `'login'`,
    'metadata.auth_event.actor_id': uuid('user'),
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
    status: weigh('status', [
      ['200', 90],
      ['401', 3],
      ['500', 6],
      ['546', 1],
    ]),
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
    status: weigh('status', [
      ['200', 90],
      ['400', 5],
      ['404', 4],
      ['500', 1],
    ]),
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

/** The samples of the sources of `schema/sources.json`; a source that is not here stays empty. */
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
