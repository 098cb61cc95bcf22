/**
 * Events as the Vector of a self-hosted Supabase sends them: the seven sources, the fields, the shares and the sizes of a small project.
 * The same seed gives the same events.
 */

/** One log line, as an element of the array that Vector's http sink posts. */
export type VectorEvent = Record<string, unknown> & { event_message: string; timestamp: string };

/** What one request of Vector holds: the lines that a source had within a second. */
export type VectorBatch = { source: VectorSource; atMs: number; events: VectorEvent[] };

export type EventOptions = {
  /** Default 1. */
  seed?: number;
  /** Time of the first event, in milliseconds since 1970. */
  startMs: number;
  /** Exclusive. */
  endMs: number;
  /** Events a second on average, all sources together. Default 10. */
  perSecond?: number;
  /** As many in each second, without bursts and whatever the hour. Default false. */
  isEven?: boolean;
  /** Every event gets an `id`, by which a test finds it again; Vector sends none. Default false. */
  withIds?: boolean;
};

/** Weight of each source, and the container that its lines come from. */
const sources = {
  'cloudflare.logs.prod': { weight: 45, write: writeAccess },
  'postgres.logs': { weight: 20, write: writePostgres },
  'gotrue.logs.prod': { weight: 12, write: writeAuth },
  'storage.logs.prod.2': { weight: 9, write: writeStorage },
  'realtime.logs.prod': { weight: 6, write: writeRealtime },
  'postgREST.logs.prod': { weight: 5, write: writeRest },
  'deno-relay-logs': { weight: 3, write: writeFunction },
} as const;

/** A `source_name` of the sinks. */
export type VectorSource = keyof typeof sources;

export const vectorSources = Object.keys(sources) as VectorSource[]; // the keys of the literal above

/** All requests between two times, in order of time; a source without lines in a second sends none. */
export function* vectorBatches(options: EventOptions): Generator<VectorBatch> {
  const { seed = 1, startMs, endMs, perSecond = 10, isEven = false, withIds = false } = options;
  const draw = createDraw(seed);
  const total = vectorSources.reduce((sum, source) => sum + sources[source].weight, 0);
  let burst = { leftSeconds: 0, factor: 1 };
  for (let atMs = startMs; atMs < endMs; atMs += 1000) {
    burst = nextBurst(burst, draw);
    const lengthMs = Math.min(1000, endMs - atMs);
    const factor = isEven ? 1 : burst.factor * dailyShare(atMs);
    const expected = (perSecond * factor * lengthMs) / 1000;
    for (const source of vectorSources) {
      const { weight, write } = sources[source];
      const events: VectorEvent[] = [];
      for (let count = draw.count((expected * weight) / total); count > 0; count--) {
        events.push(write(draw, atMs + draw.below(lengthMs)));
      }
      if (withIds) for (const event of events) event.id = draw.uuid();
      events.sort((one, other) => (one.timestamp < other.timestamp ? -1 : 1));
      if (events.length > 0) yield { source, atMs, events };
    }
  }
}

/** Half of the mean at night, one and a half of it at noon (UTC). */
function dailyShare(atMs: number): number {
  const hour = (atMs / 3_600_000) % 24;
  return 1 - 0.5 * Math.cos((hour / 24) * 2 * Math.PI);
}

type Burst = { leftSeconds: number; factor: number };

/** One second in 500 begins ten to forty seconds of up to twelve times as many events; the others have a little fewer for it. */
function nextBurst(burst: Burst, draw: Draw): Burst {
  if (burst.leftSeconds > 1) return { ...burst, leftSeconds: burst.leftSeconds - 1 };
  if (draw.below(500) === 0) return { leftSeconds: 10 + draw.below(31), factor: 4 + draw.below(9) };
  return { leftSeconds: 0, factor: 0.65 };
}

/** Draws from one sequence of pseudo-random numbers. */
type Draw = {
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
  chance(percent: number): boolean;
  /** A whole number with this mean. */
  count(mean: number): number;
  hex(digits: number): string;
  uuid(): string;
  address(): string;
};

/** Mulberry32: 32 bits of state are enough for sample events. */
function createDraw(seed: number): Draw {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (bound: number) => Math.floor((next() / 2 ** 32) * bound);
  const hex = (digits: number) => {
    let text = '';
    while (text.length < digits) text += next().toString(16).padStart(8, '0');
    return text.slice(0, digits);
  };
  return {
    below,
    pick: list => list[below(list.length)]!,
    chance: percent => below(1000) < percent * 10,
    count: mean => Math.floor(mean) + (next() / 2 ** 32 < mean % 1 ? 1 : 0),
    hex,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    address: () => `${1 + below(223)}.${below(256)}.${below(256)}.${1 + below(254)}`,
  };
}

const tables = ['todos', 'profiles', 'messages', 'orders', 'rooms', 'invoices'];
const functionNames = ['send-mail', 'charge-card', 'resize', 'hello'];
const agents = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'node',
  'Dart/3.8 (dart:io)',
  'curl/8.14.1',
];

/** What Vector's `docker_logs` source adds to a line: the time to the nanosecond, and the name of the container. */
function dockerLine(draw: Draw, atMs: number, appname: string, event_message: string) {
  const timestamp = `${iso(atMs).slice(0, -1)}${String(draw.below(1_000_000)).padStart(6, '0')}Z`;
  return { appname, event_message, project: 'default', timestamp };
}

const iso = (atMs: number) => new Date(atMs).toISOString();

/** Whole seconds, as nginx's own time has them. */
const isoSecond = (atMs: number) => `${iso(atMs).slice(0, 19)}Z`;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `15/Jan/2026:10:00:00 +0000`. */
function commonLogTime(atMs: number): string {
  const text = iso(atMs);
  const month = months[Number(text.slice(5, 7)) - 1];
  return `${text.slice(8, 10)}/${month}/${text.slice(0, 4)}:${text.slice(11, 19)} +0000`;
}

/** A path with its query, as a request line has it. */
function drawTarget(draw: Draw): { method: string; path: string } {
  const at = draw.below(100);
  if (at < 55) {
    const search = `select=*&id=eq.${draw.below(5000)}${draw.chance(30) ? '&order=inserted_at.desc&limit=20' : ''}`;
    const method = draw.pick(['GET', 'GET', 'GET', 'GET', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);
    return { method, path: `/rest/v1/${draw.pick(tables)}${method === 'POST' ? '' : `?${search}`}` };
  }
  if (at < 72) {
    const [method = '', path = ''] = draw
      .pick(['POST /auth/v1/token?grant_type=password', 'GET /auth/v1/user', 'POST /auth/v1/signup'])
      .split(' ');
    return { method, path };
  }
  if (at < 88) return { method: 'GET', path: `/storage/v1/object/public/avatars/${draw.hex(8)}.png` };
  if (at < 94) return { method: 'GET', path: '/realtime/v1/websocket?apikey=anon&vsn=1.0.0' };
  return { method: 'POST', path: `/functions/v1/${draw.pick(functionNames)}` };
}

const statuses = [
  ...Array(80).fill(200),
  ...Array(9).fill(201),
  204,
  204,
  304,
  400,
  401,
  401,
  404,
  404,
  409,
  500,
  503,
];

/** The gateway: an access line of nginx, or one in fifty times a line of its error log. */
function writeAccess(draw: Draw, atMs: number): VectorEvent {
  const { method, path } = drawTarget(draw);
  const client = draw.address();
  if (draw.chance(2)) return writeGatewayError(draw, atMs, { client, method, path });
  const status: number = path.startsWith('/realtime') ? 101 : draw.pick(statuses);
  const referer = draw.chance(60) ? 'https://app.example.com/' : '-';
  const user_agent = draw.pick(agents);
  const line =
    `${client} - - [${commonLogTime(atMs)}] "${method} ${path} HTTP/1.1" ${status} ${draw.below(40_000)} ` +
    `"${referer}" "${user_agent}"`;
  return {
    ...dockerLine(draw, atMs, 'supabase-kong', line),
    timestamp: isoSecond(atMs),
    metadata: {
      request: {
        headers: { cf_connecting_ip: client, referer, user_agent },
        method,
        path,
        protocol: 'HTTP/1.1',
      },
      response: { status_code: status },
    },
  };
}

function writeGatewayError(
  draw: Draw,
  atMs: number,
  request: { client: string; method: string; path: string },
): VectorEvent {
  const { client, method, path } = request;
  const time = iso(atMs).slice(0, 19).replaceAll('-', '/').replace('T', ' ');
  const line =
    `${time} [error] 1${draw.below(1000)}#0: *${draw.below(1_000_000)} connect() failed (111: Connection refused) while connecting to ` +
    `upstream, client: ${client}, server: kong, request: "${method} ${path} HTTP/1.1", ` +
    `upstream: "http://172.18.0.${2 + draw.below(12)}:3000${path}", host: "api.example.com"`;
  return {
    ...dockerLine(draw, atMs, 'supabase-kong', line),
    timestamp: isoSecond(atMs),
    severity: 'error',
    metadata: {
      request: {
        headers: { cf_connecting_ip: client },
        host: 'api.example.com',
        method,
        path,
        protocol: 'HTTP/1.1',
      },
      // The error line names no status; the configuration says 200.
      response: { status_code: 200 },
    },
  };
}

/** The authentication service writes JSON, which becomes the metadata; its numbers stay numbers. */
function writeAuth(draw: Draw, atMs: number): VectorEvent {
  if (draw.chance(1))
    return dockerLine(
      draw,
      atMs,
      'supabase-auth',
      'applying connection limits to db using the "fixed" strategy',
    );
  const path = draw.pick([
    '/token',
    '/token',
    '/token',
    '/user',
    '/user',
    '/signup',
    '/logout',
    '/otp',
    '/verify',
    '/admin/users',
  ]);
  const status = draw.pick([200, 200, 200, 200, 200, 200, 200, 204, 302, 400, 403, 422, 429, 500]);
  const time = isoSecond(atMs);
  const request_id = draw.uuid();
  const line: Record<string, unknown> = {
    component: 'api',
    duration: 900_000 + draw.below(90_000_000),
    level: status >= 500 ? 'error' : 'info',
    method: path === '/user' ? 'GET' : 'POST',
    msg: 'request completed',
    path,
    referer: 'https://app.example.com',
    remote_addr: draw.address(),
    request_id,
    status,
    time,
  };
  if (status >= 400) {
    const code = status === 422 ? 'user_already_exists' : 'invalid_credentials';
    Object.assign(line, { error: `${status}: ${code}`, error_code: code });
  } else if (path === '/token' && draw.chance(70)) {
    const actor_id = draw.uuid();
    const provider = draw.pick(['email', 'email', 'google', 'github']);
    line.action = 'login';
    line.login_method = provider === 'email' ? 'password' : 'oauth';
    line.metering = true;
    line.msg = 'Login';
    line.provider = provider;
    line.user_id = actor_id;
    line.auth_event = {
      action: 'login',
      actor_id,
      actor_username: `user${draw.below(2000)}@example.com`,
      actor_via_sso: false,
      log_type: 'account',
      traits: { provider },
    };
  }
  return {
    ...dockerLine(draw, atMs, 'supabase-auth', JSON.stringify(line)),
    metadata: { timestamp: time, ...line },
  };
}

/**
 * Lines of its own have a time, which is taken. Access lines have none that the configuration finds. Where a second `: ` follows, what the
 * configuration takes for the time is longer than that and cannot be read, so Vector sends the line as it came.
 */
function writeRest(draw: Draw, atMs: number): VectorEvent {
  const time = commonLogTime(atMs);
  if (draw.chance(5)) {
    const text =
      'Failed listening for database notifications on the "pgrst" channel. connection failed: Connection refused';
    return dockerLine(draw, atMs, 'supabase-rest', `${time}: ${text}`);
  }
  if (draw.chance(40)) {
    const text = draw.pick([
      'Schema cache queried in 21.4 milliseconds',
      'Listening for database notifications on the "pgrst" channel',
      'Config reloaded',
    ]);
    return {
      ...dockerLine(draw, atMs, 'supabase-rest', text),
      timestamp: isoSecond(atMs),
      metadata: { host: 'default' },
    };
  }
  const line =
    `172.18.0.${2 + draw.below(12)} - anon [${time}] "GET /${draw.pick(tables)}?select=*&id=eq.${draw.below(5000)} HTTP/1.1" ` +
    `${draw.pick([200, 200, 200, 206, 401, 404])} - "" "${draw.pick(agents)}"`;
  return dockerLine(draw, atMs, 'supabase-rest', line);
}

function writeRealtime(draw: Draw, atMs: number): VectorEvent {
  const level = draw.pick(['info', 'info', 'info', 'info', 'debug', 'warning', 'error']);
  const text =
    level === 'error'
      ? `UnableToConnectToTenantDatabase: connection refused, channel realtime:room-${draw.below(400)}`
      : `Billing metrics: [:realtime, :connections] connected=${draw.below(300)} limit=200 room=${draw.below(400)}`;
  const { project, ...line } = dockerLine(draw, atMs, 'realtime-dev.supabase-realtime', text);
  const metadata = { external_id: project, project };
  if (draw.chance(55)) return { ...line, metadata: { ...metadata, level } };
  // The configuration finds no level where the line names its tenant before it, nor in a stack trace: such lines stay whole.
  const event_message = draw.chance(10)
    ? `    (elixir 1.18.4) lib/gen_server.ex:${draw.below(2000)}: :gen_server.loop/7`
    : `${iso(atMs).slice(11, 23)} project=realtime-dev external_id=realtime-dev [${level}] ${text}`;
  return { ...line, event_message, metadata };
}

/** Its levels are numbers: 30 for information, 40 for a warning, 50 for an error. What is no JSON stays as it came. */
function writeStorage(draw: Draw, atMs: number): VectorEvent {
  const status = draw.pick([200, 200, 200, 200, 206, 304, 400, 404, 500]);
  const path = `/object/public/avatars/${draw.hex(8)}.png`;
  const text = `GET | ${status} | ${draw.address()} | ${draw.uuid()} | ${path} | ${draw.pick(agents)}`;
  const { project, ...line } = dockerLine(draw, atMs, 'supabase-storage', text);
  const metadata = { project, tenantId: project };
  if (draw.chance(1)) {
    const event_message =
      '(node:1) Warning: Setting the NODE_TLS_REJECT_UNAUTHORIZED environment variable to 0';
    return { ...line, event_message, metadata };
  }
  const level = status >= 500 ? 50 : status >= 400 ? 40 : 30;
  const context = [{ host: '6f1c2a9be0d7', pid: 1 }];
  return { ...line, metadata: { context, level, ...metadata, timestamp: iso(atMs) } };
}

function writePostgres(draw: Draw, atMs: number): VectorEvent {
  const time = `${iso(atMs).slice(0, -1).replace('T', ' ')} UTC`;
  const begin = `172.18.0.${2 + draw.below(12)} ${time} [${100 + draw.below(9000)}] authenticator@postgres `;
  const [level, text] = draw.pick([
    ['LOG', 'LOG:  connection authorized: user=authenticator database=postgres application_name=postgrest'],
    [
      'LOG',
      'LOG:  disconnection: session time: 0:00:01.204 user=authenticator database=postgres host=172.18.0.7',
    ],
    ['LOG', 'LOG:  checkpoint complete: wrote 62 buffers (0.4%); 0 WAL file(s) added, 0 removed, 1 recycled'],
    ['LOG', 'LOG:  cron job 3 starting: select public.refresh_totals()'],
    ['LOG', 'LOG:  cron job 3 COMMIT: 1 row'],
    ['ERROR', 'ERROR:  duplicate key value violates unique constraint "profiles_pkey"'],
    ['ERROR', 'ERROR:  relation "public.todo" does not exist at character 15'],
    ['FATAL', 'FATAL:  password authentication failed for user "postgres"'],
    ['WARNING', 'WARNING:  there is no transaction in progress'],
    // The further lines of a message are events of their own, without a level; the configuration calls them LOG.
    ['LOG', 'DETAIL:  Key (id)=(4f1c) already exists.'],
  ] as const);
  const line = dockerLine(draw, atMs, 'supabase-db', text.startsWith('DETAIL') ? text : begin + text);
  return {
    ...line,
    metadata: { host: 'db-default', parsed: { error_severity: level, timestamp: line.timestamp } },
  };
}

/** Edge functions write text to stderr. */
function writeFunction(draw: Draw, atMs: number): VectorEvent {
  const name = draw.pick(functionNames);
  const text = draw.pick([
    `serving the request with /home/deno/functions/${name}`,
    `booted ${name} (time: ${20 + draw.below(80)}ms)`,
    `[Error] ${name}: upstream answered ${draw.pick([429, 500, 503])}`,
  ]);
  const { project, ...line } = dockerLine(draw, atMs, 'supabase-edge-functions', text);
  return { ...line, metadata: { project_ref: project } };
}
