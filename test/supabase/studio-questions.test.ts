import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type VectorEvent, type VectorSource, vectorBatches } from '../../examples/supabase/vector-events.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { studioQuestions } from './studio-questions.ts';

const startMs = Date.parse('2026-01-15T10:00:00Z');
const endMs = startMs + 45 * 60_000;

/** What Vector sent, by source. */
const events = new Map<string, VectorEvent[]>();
for (const { source, events: own } of vectorBatches({ startMs, endMs, perSecond: 2 })) {
  events.set(source, [...(events.get(source) ?? []), ...own]);
}
const sent = (source: VectorSource) => events.get(source) ?? [];

const folder = 'examples/supabase/sql';
let gateway: OpenGateway;

beforeAll(async () => {
  const files = (await readdir(folder)).filter(file => file.endsWith('.sql'));
  const sqlFiles = await Promise.all(
    files.map(async file => [file, await readFile(`${folder}/${file}`, 'utf8')]),
  );
  gateway = await openGateway({
    now: new Date(endMs).toISOString(),
    sqlFiles: Object.fromEntries(sqlFiles),
    environment: { COMPAT: 'logflare' },
  });
  for (const [source, own] of events) {
    const { status } = await gateway.send(`/api/logs?source_name=${source}`, {
      method: 'POST',
      body: JSON.stringify(own),
    });
    expect([source, status]).toEqual([source, 200]);
  }
  const counts = () => Promise.all(pages.map(({ table }) => ask(`select count(*) as n from ${table}`)));
  const expected = pages.map(({ source }) => [{ n: source ? sent(source).length : 0 }]);
  await vi.waitFor(async () => expect(await counts()).toEqual(expected));
});
afterAll(() => gateway.close());

type Row = Record<string, unknown>;

/** The rows of SQL, asked as Studio's server does: by GET, with an end that is empty. */
async function ask(sql: string, name = 'logs.all'): Promise<Row[]> {
  const query = new URLSearchParams({ project: 'default', project_tier: 'ENTERPRISE', sql });
  query.set('iso_timestamp_start', '2026-01-15T09:00:00.000Z');
  query.set('iso_timestamp_end', '');
  const { status, body } = await gateway.get(`/api/endpoints/query/${name}?${query}`);
  if (status !== 200 || body.error) throw new Error(`${JSON.stringify(body.error)} for ${sql}`);
  return body.result;
}

const answers = new Map<string, Promise<Row[]>>();

/** The rows of a question; asked once, for several tests look at them. */
function answerOf(name: string): Promise<Row[]> {
  const found = answers.get(name) ?? ask(studioQuestions.find(question => question.name === name)!.sql);
  answers.set(name, found);
  return found;
}

test('every kind of SQL that Studio sends is answered on rows as Vector sends them', async () => {
  const failed: string[] = [];
  const empty: string[] = [];
  for (const { name } of studioQuestions) {
    const rows = await answerOf(name).catch((error: Error) => failed.push(`${name}: ${error.message}`));
    if (Array.isArray(rows) && rows.length === 0) empty.push(name);
  }
  expect(failed).toEqual([]);
  // What no Vector sends: answers' headers, times of answers, functions' requests and messages, the pooler, Postgres' users.
  const unsent =
    /^function_edge_logs: |^(function|pgbouncer)_logs:|one entry|of functions|of a function|^template: (addresses|slow answers|egress of storage|misses of the storage cache)|^report: (traffic|hits of the storage cache|authentication errors by)/;
  expect(empty.filter(name => !unsent.test(name))).toEqual([]);
  expect(empty.length).toBeGreaterThan(10);
});

type Metadata = Record<string, never> & {
  request: { method: string; path: string };
  response: { status_code: number };
  parsed: { error_severity: string };
  level: string;
  status: number;
  path: string;
};
const metadataOf = ({ metadata }: VectorEvent) => metadata as Metadata; // the test reads what its source has
const statusOf = (event: VectorEvent) => metadataOf(event).response.status_code;
const severityOf = (event: VectorEvent) => metadataOf(event).parsed.error_severity;
const authStatus = (event: VectorEvent) => metadataOf(event).status ?? 0;
const between = (from: number, value: number, to: number) => value >= from && value <= to;

type Rule = (event: VectorEvent) => boolean;
const never: Rule = () => false;
const authError: Rule = event =>
  ['error', 'fatal'].includes(metadataOf(event).level) || authStatus(event) >= 500;
const authWarning: Rule = event =>
  metadataOf(event).level === 'warning' || between(400, authStatus(event), 499);

/** What each page must show, found without SQL. */
const pages: {
  table: string;
  source?: VectorSource;
  /** Whether the joins of the page keep the event. */
  joined?: Rule;
  error?: Rule;
  warning?: Rule;
  filters?: Record<string, Rule>;
}[] = [
  {
    table: 'edge_logs',
    source: 'cloudflare.logs.prod',
    error: event => statusOf(event) >= 500,
    warning: event => between(400, statusOf(event), 499),
    filters: {
      'server errors': event => between(500, statusOf(event), 599),
      'errors of any kind': event => between(400, statusOf(event), 599),
      'database requests': event =>
        metadataOf(event).request.path.startsWith('/rest/') && /POST|PATCH/.test(metadataOf(event).request.method),
      'storage requests that succeed': event =>
        metadataOf(event).request.path.startsWith('/storage/') && between(200, statusOf(event), 299),
      'a search': event => event.event_message.includes('Firefox'),
    },
  },
  {
    table: 'postgres_logs',
    source: 'postgres.logs',
    error: event => /ERROR|FATAL|PANIC/.test(severityOf(event)),
    warning: event => severityOf(event) === 'WARNING',
    filters: {
      errors: event => /ERROR|FATAL|PANIC/.test(severityOf(event)),
      'what is no error': event => !/ERROR|FATAL|PANIC/.test(severityOf(event)),
      'jobs of cron': event => event.event_message.includes('cron job'),
    },
  },
  {
    table: 'auth_logs',
    source: 'gotrue.logs.prod',
    joined: ({ metadata }) => metadata !== undefined,
    error: authError,
    warning: authWarning,
    filters: {
      errors: authError,
      information: event => !authError(event) && !authWarning(event),
      'client errors': event => between(400, authStatus(event), 499),
      'signing in or up': event => /token|authorize|otp|signup|invite|verify/.test(metadataOf(event).path),
    },
  },
  { table: 'postgrest_logs', source: 'postgREST.logs.prod', filters: { 'a search': event => event.event_message.includes('cache') } },
  { table: 'realtime_logs', source: 'realtime.logs.prod', filters: { 'a search': event => event.event_message.includes('Tenant') } },
  { table: 'storage_logs', source: 'storage.logs.prod.2' },
  { table: 'pgbouncer_logs' },
  { table: 'function_edge_logs', source: 'deno-relay-logs', joined: never },
  { table: 'function_logs' },
]; // biome-ignore format: a table

const microsOf = (timestamp: string) =>
  BigInt(Date.parse(timestamp)) * 1000n + BigInt(/\.\d{3}(\d{3})/.exec(timestamp)?.[1] ?? 0);

test.each(pages)('$table: pages, counts and charts are right', async page => {
  const { table, source, joined = () => true, error = never, warning = never, filters = {} } = page;
  const all = source ? sent(source).filter(joined) : [];
  for (const [filter, rule] of [['', () => true] as const, ...Object.entries(filters)]) {
    const kept = all.filter(rule);
    const name = (kind: string) => `${table}: ${filter ? `${kind} of ${filter}` : kind}`;
    expect(await answerOf(name('count')), name('count')).toEqual([{ count: kept.length }]);

    const rows = await answerOf(filter ? `${table}: ${filter}` : `${table}: page`);
    const newest = kept.map(({ timestamp }) => microsOf(timestamp)).sort((one, other) => Number(other - one));
    expect(rows.map(({ timestamp }) => BigInt(String(timestamp))), name('page')).toEqual(newest.slice(0, 100));
    const messages = new Set(kept.map(({ event_message }) => event_message));
    expect(rows.filter(row => !messages.has(String(row.event_message)))).toEqual([]);

    const charts = [name(filter ? 'chart' : 'chart by minute'), ...(filter ? [] : [`${table}: chart by hour`])];
    for (const chart of charts) {
      const unit = chart.endsWith('hour') ? 3_600_000 : 60_000;
      const buckets = new Map<number, { ok_count: number; error_count: number; warning_count: number }>();
      for (const event of kept) {
        const bucket = Math.floor(Date.parse(event.timestamp) / unit) * unit * 1000;
        const counts = buckets.get(bucket) ?? { ok_count: 0, error_count: 0, warning_count: 0 };
        buckets.set(bucket, counts);
        if (error(event)) counts.error_count++;
        if (warning(event)) counts.warning_count++;
        if (!error(event) && !warning(event)) counts.ok_count++;
      }
      const expected = [...buckets].sort(([one], [other]) => one - other).map(([timestamp, counts]) => ({ timestamp, ...counts }));
      expect(await answerOf(chart), chart).toEqual(expected);
    }
  }
}); // biome-ignore format: short

test('reports and templates are right', async () => {
  const edge = sent('cloudflare.logs.prod');
  const errors = edge.filter(event => statusOf(event) >= 400);
  const hour = '2026-01-15T10:00:00';
  expect(await answerOf('report: requests')).toEqual([{ timestamp: hour, count: edge.length }]);
  expect(await answerOf('report: errors')).toEqual([{ timestamp: hour, count: errors.length }]);
  expect(await answerOf('report: speed')).toEqual([{ timestamp: hour, avg: null }]);
  expect(await answerOf('template: countries')).toEqual([{ country: null, count: edge.length }]);

  const routes = new Map<string, number>();
  for (const event of edge) {
    const { path, method } = metadataOf(event).request;
    const key = JSON.stringify([path, method, statusOf(event)]);
    routes.set(key, (routes.get(key) ?? 0) + 1);
  }
  const found = await answerOf('report: routes');
  for (const { path, method, search, status_code, count } of found) {
    expect([search, count]).toEqual([null, routes.get(JSON.stringify([path, method, status_code]))]);
  }
  const most = [...routes.values()].sort((one, other) => other - one).slice(0, 10);
  expect(found.map(({ count }) => count)).toEqual(most);

  const logins = sent('gotrue.logs.prod')
    .map(({ metadata }) => metadata as { action?: string; user_id?: string } | undefined)
    .filter(metadata => metadata?.action === 'login');
  const use = await answerOf('report: use of authentication');
  const metric = (name: string) => use.filter(row => row.metric === name).map(({ count }) => Number(count));
  expect(metric('ActiveUsers')).toEqual([new Set(logins.map(login => login?.user_id)).size]);
  expect(metric('SignIns').reduce((sum, count) => sum + count, 0)).toBe(logins.length);

  const functions = await answerOf('tool: functions');
  expect(functions).toHaveLength(Math.min(100, sent('deno-relay-logs').length));

  const postgres = sent('postgres.logs').filter(event => /ERROR|FATAL/.test(severityOf(event)));
  const byUser = await answerOf('template: errors by user');
  expect(byUser.map(({ user_name }) => user_name)).toEqual([null, null]);
  expect(byUser.reduce((sum, { count }) => sum + Number(count), 0)).toBe(postgres.length);
});

test('the page of all logs counts what its parts count', async () => {
  const edge = sent('cloudflare.logs.prod');
  const postgres = sent('postgres.logs');
  const rest = edge.filter(event => metadataOf(event).request.path.includes('/rest/'));
  const failed = [
    ...rest.filter(event => statusOf(event) >= 500),
    ...postgres.filter(event => /ERROR|FATAL/.test(severityOf(event))),
  ];
  const facets = await answerOf('all logs: facets');
  const count = (dimension: string, value: string) =>
    facets.find(row => row.dimension === dimension && row.value === value)?.count;
  expect(count('total', 'all')).toBe(rest.length + postgres.length);
  expect(count('log_type', 'postgrest')).toBe(rest.length);
  expect(count('log_type', 'edge')).toBe(0);
  expect(count('level', 'error')).toBe(failed.length);
  expect(count('method', 'POST')).toBe(
    rest.filter(event => metadataOf(event).request.method === 'POST').length,
  );

  const [bucket] = await answerOf('all logs: chart');
  expect(bucket).toMatchObject({ error: failed.length, total_per_bucket: rest.length + postgres.length });

  // Of the requests of authentication none has the header by which it would be found again; each is one row without its request.
  const auth = sent('gotrue.logs.prod').filter(({ metadata }) => metadata !== undefined);
  const every = await answerOf('all logs: facets of every kind');
  expect(every.find(row => row.value === 'auth')?.count).toBe(auth.length);
  expect(every[0]).toEqual({
    dimension: 'total',
    value: 'all',
    count: edge.length + postgres.length + auth.length,
  });
});

test('the other endpoints count the same events', async () => {
  const endpoint = async (name: string, query: Record<string, string> = {}) => {
    const { status, body } = await gateway.get(
      `/api/endpoints/query/${name}?${new URLSearchParams({ project: 'default', ...query })}`,
    );
    expect([name, status, body.error]).toEqual([name, 200, undefined]);
    return body.result;
  };
  const edge = sent('cloudflare.logs.prod');
  const auth = sent('gotrue.logs.prod').filter(({ metadata }) => metadata !== undefined);
  expect(await endpoint('usage.api-requests-count')).toEqual([{ count: edge.length }]);

  const [counts] = await endpoint('usage.api-counts', { interval: '7day' });
  const inArea = (area: string) => edge.filter(event => metadataOf(event).request.path.includes(area)).length;
  expect(counts).toEqual({
    timestamp: '2026-01-15T00:00:00',
    total_rest_requests: inArea('/rest'),
    total_storage_requests: inArea('/storage'),
    total_auth_requests: inArea('/auth'),
    total_realtime_requests: inArea('/realtime'),
  });

  const [current] = await endpoint('auth.metrics', { interval: '1day' });
  expect(current).toMatchObject({
    auth_total_requests: auth.length,
    auth_total_errors: auth.filter(event => between(400, authStatus(event), 599)).length,
    api_total_requests: inArea('/auth/v1'),
  });

  const window = {
    iso_timestamp_start: new Date(startMs - 1).toISOString(),
    iso_timestamp_end: new Date(endMs).toISOString(),
  };
  const [health] = await endpoint('service-health', { ...window, granularity: 'hour' });
  const storage = sent('storage.logs.prod.2');
  const realtime = sent('realtime.logs.prod');
  const realtimeLevel = (event: VectorEvent) =>
    metadataOf(event).level ?? /^[\d:.]+ .*\[(\w+)\]/.exec(event.event_message)?.[1];
  const total = (source: VectorSource) => expect.objectContaining({ total: sent(source).length });
  expect(health).toMatchObject({
    timestamp: '2026-01-15T10:00:00',
    edge_logs: {
      total: edge.length,
      error: edge.filter(event => statusOf(event) >= 500).length,
      warning: edge.filter(event => between(400, statusOf(event), 499)).length,
    },
    postgres_logs: total('postgres.logs'),
    auth_logs: total('gotrue.logs.prod'),
    storage_logs: {
      total: storage.length,
      error: storage.filter(event => Number(metadataOf(event).level) >= 50).length,
      warning: storage.filter(event => Number(metadataOf(event).level) === 40).length,
    },
    realtime_logs: {
      total: realtime.length,
      error: realtime.filter(event => realtimeLevel(event) === 'error').length,
      warning: realtime.filter(event => realtimeLevel(event) === 'warning').length,
    },
    postgrest_logs: total('postgREST.logs.prod'),
    function_edge_logs: total('deno-relay-logs'),
    function_logs: { ok: 0, warning: 0, error: 0, total: 0 },
  });

  const metrics: Row[] = await endpoint('project.metrics', { ...window, interval: '1day' });
  expect(metrics.map(({ service }) => service)).toEqual(['auth', 'db', 'functions', 'realtime', 'storage']);
  const sums = metrics.map(row => Number(row.ok_count) + Number(row.warning_count) + Number(row.error_count));
  expect(sums).toEqual(
    (
      [
        'gotrue.logs.prod',
        'postgres.logs',
        'deno-relay-logs',
        'realtime.logs.prod',
        'storage.logs.prod.2',
      ] as const
    ).map(source => sent(source).length),
  );
  for (const name of ['functions.combined-stats', 'functions.req-stats', 'functions.resource-usage']) {
    expect(await endpoint(name, { function_id: 'f', interval: '1hr' })).toEqual([]);
  }
});
