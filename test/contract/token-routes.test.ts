import { beforeAll, describe, expect, test } from 'vitest';
import { type Scope, scopes } from '../../src/auth/scopes.ts';
import type { TokenGrants } from '../../src/auth/token-record.ts';
import { type RouteName, routes as servedRoutes } from '../../src/http/routes.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const logs = '/api/endpoints/query/logs.all?project=ours';
const sql = 'select count(*) as n from edge_logs';

let gateway: OpenGateway;
beforeAll(async () => {
  const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' });
  gateway = await openGateway({
    rows: { 'cloudflare.logs.prod': [{ ...row, event_message: 'from 203.0.113.7' }] },
    now: '2026-01-15T12:00:00Z',
    environment: { METRICS_NEED_TOKEN: 'true', DOCUMENTS_NEED_TOKEN: 'true' },
  });
  return gateway.close;
});

type Asked = { readonly path: string; readonly init?: RequestInit };

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Asked => ({
  path,
  init: {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  },
});
const get = (path: string, headers: Record<string, string> = {}): Asked => ({ path, init: { headers } });
const graphql = (query: string, headers: Record<string, string> = {}) => post('/graphql', { query }, headers);
const mcp = (method: string, params?: object, headers: Record<string, string> = {}) => {
  const accept = 'application/json, text/event-stream';
  return post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, { accept, ...headers });
};
const tool = (name: string, given: object, headers: Record<string, string> = {}) =>
  mcp('tools/call', { name, arguments: given }, headers);

async function ask({ path, init = {} }: Asked, token: string | undefined) {
  const headers = { ...init.headers, ...(token !== undefined && { 'x-api-key': token }) };
  const response = await fetch(gateway.origin + path, { ...init, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** One request to each route; `open` where nobody needs a token. A new route is an error of types here until it has its row. */
const routes: Record<RouteName, 'open' | Asked> = {
  rest: get(logs),
  catalogue: get('/api/endpoints'),
  rows: post('/api/sources/postgres.logs/rows', '{}'),
  logs: post('/api/logs?source_name=postgres.logs', [{ message: 'm' }]),
  check: post('/api/endpoints/logs.all/check', { sql }),
  graphql: graphql('{ __typename }'),
  mcp: mcp('tools/list'),
  openapi: get('/openapi.json'),
  llms: get('/llms.txt'),
  metrics: get('/metrics'),
  invalidate: post('/admin/invalidate', { endpoint: 'logs.all' }),
  warm: get('/admin/warm'),
  // What orchestrators ask.
  health: 'open',
  livez: 'open',
  readyz: 'open',
  // Pages and what they are made of: they hold no data, and ask with their reader's token. `sample` has a guard of its own.
  home: 'open',
  docs: 'open',
  asset: 'open',
  dialect: 'open',
  sample: 'open',
};

const closed = Object.entries(routes).flatMap(([name, asked]) =>
  asked === 'open' ? [] : [[name, asked] as const],
);

describe('contract 8.4: the route', () => {
  let revoked: string;
  let expired: string;
  beforeAll(async () => {
    const all = { scopes: scopes.filter(scope => scope !== 'force-redact') };
    revoked = await gateway.issue(all);
    expired = await gateway.issue({ ...all, expiresAt: '2026-01-15T12:00:01Z' });
    // Both were good once, at each route: what is remembered of them must not help.
    for (const [, asked] of closed) {
      for (const token of [revoked, expired]) expect((await ask(asked, token)).status).toBeLessThan(401);
    }
    await gateway.revoke(revoked);
    await gateway.issue();
    gateway.clock.advance(1000);
  });

  test.each(closed)(
    '%s is closed to no token, an unknown, a revoked and an expired one',
    async (_name, asked) => {
      for (const token of [undefined, '', 'unknown', revoked, expired]) {
        expect((await ask(asked, token)).status).toBe(401);
      }
    },
  );

  test('each route is one of these', () => {
    expect(Object.keys(routes).toSorted()).toEqual(Object.keys(servedRoutes).toSorted());
  });
});

/** Everything but one right: what is refused is refused for the lack of that one. */
const without = (scope: Scope): TokenGrants => ({
  scopes: scopes.filter(each => each !== scope && each !== 'force-redact' && each !== 'admin'),
  ...((scope === 'sandbox' || scope === 'introspect') && { without: [scope] }),
});

/** Each right, on each route that it opens. */
const rights: Partial<Record<Scope, Record<string, Asked>>> = {
  sandbox: {
    'REST, query string': get(`${logs}&sql=${encodeURIComponent(sql)}`),
    'REST, body': post(logs, { sql }),
    'REST, older spelling': get(`/endpoints/query/logs.all?project=ours&sql=${encodeURIComponent(sql)}`),
    'an export': get(`${logs}&format=csv&sql=${encodeURIComponent(sql)}`),
    explain: get(`${logs}&explain=true&sql=${encodeURIComponent(sql)}`),
    check: post('/api/endpoints/logs.all/check', { sql }),
    GraphQL: graphql(`{ logsAllSql(project: "ours", sql: "${sql}") { rows } }`),
    MCP: tool('logs_all_sql', { project: 'ours', sql }),
  },
  introspect: {
    GraphQL: graphql('{ __schema { types { name } } }'),
    'GraphQL, by GET in a fragment': get('/graphql?query={...f}fragment+f+on+Query{x:__type(name:"Query"){name}}'),
    'the OpenAPI document': get('/openapi.json'),
    'the page for language models': get('/llms.txt'),
  },
  explain: {
    REST: get(`${logs}&explain=true`),
    'REST, by UUID and in a body': post('/api/endpoints/query/usage.api-counts?explain=true', { project: 'x', interval: 'daily' }),
  },
  warm: { REST: get('/admin/warm') },
  invalidate: { REST: post('/admin/invalidate', { endpoint: 'usage.api-counts' }) },
  write: {
    'loading rows': post('/api/sources/postgres.logs/rows', '{}'),
    'taking events': post('/api/logs?source_name=postgres.logs', [{ message: 'm' }]),
    'taking events, older spelling': post('/logs?source_name=postgres.logs', [{ message: 'm' }]),
  },
  metrics: { metrics: get('/metrics') },
}; // biome-ignore format: a table

describe.each(Object.entries(rights))('contract 8.6: without %s is refused', (scope, asks) => {
  test.each(Object.entries(asks))('%s', async (name, asked) => {
    const refused = await ask(asked, await gateway.issue(without(scope as Scope)));
    // MCP has no such tool for such a token.
    expect(refused.text).toMatch(/"code":"forbidden"|No tool has the name/);
    // To explain is a right of its own.
    const also: Scope[] = name === 'explain' ? ['explain'] : [];
    const allowed = await ask(asked, await gateway.issue({ scopes: [scope as Scope, ...also] }));
    expect(allowed.text).not.toMatch(/"code":"forbidden"|No tool has the name/);
    expect(allowed.status).toBeLessThan(401);
  });
});

describe('contract 8.6: a token for one saved query', () => {
  const other = { project: 'ours', interval: 'daily' };
  const usage = '/api/endpoints/query/usage.api-counts';
  const asks: Record<string, Asked> = {
    REST: get(`${usage}?project=ours&interval=daily`),
    'an export': get(`${usage}?project=ours&interval=daily&format=csv`),
    explain: get(`${usage}?project=ours&interval=daily&explain=true`),
    catalogue: get('/api/endpoints/usage.api-counts'),
    check: post('/api/endpoints/usage.api-counts/check', { sql: 'select 1 as n' }),
    GraphQL: graphql('{ usageApiCounts(project: "ours", interval: DAILY) { timestamp } }'),
    MCP: tool('usage_api-counts', other),
    invalidation: post('/admin/invalidate', { endpoint: 'usage.api-counts' }),
  };

  test.each(Object.entries(asks))('is refused another one: %s', async (_name, asked) => {
    const grants: TokenGrants = { scopes: ['explain', 'admin'] };
    const { text } = await ask(asked, await gateway.issue({ ...grants, endpoints: ['logs.all'] }));
    expect(text).toMatch(/"code":"forbidden"|No tool has the name/);
    const allowed = await ask(asked, await gateway.issue({ ...grants, endpoints: ['usage.*'] }));
    expect(allowed.text).not.toMatch(/"code":"forbidden"|No tool has the name/);
  });

  test('is shown no other one in what lists them', async () => {
    const token = await gateway.issue({ scopes: ['warm'], endpoints: ['logs.all'] });
    await ask(asks.REST!, await gateway.issue());
    for (const asked of [
      get('/api/endpoints'),
      mcp('tools/list'),
      mcp('resources/list'),
      get('/admin/warm'),
    ]) {
      const { status, text } = await ask(asked, token);
      expect([status, text.includes('usage')]).toEqual([200, false]);
    }
  });
});

test.each<[string, (token: Record<string, string>) => Asked]>([
  ['REST', headers => get(logs, headers)],
  ['an export', headers => get(`${logs}&format=csv`, headers)],
  ['SQL of its own', headers => get(`${logs}&sql=select+event_message+from+edge_logs`, headers)],
  ['GraphQL', headers => graphql('{ logsAll(project: "ours") { eventMessage } }', headers)],
  ['MCP', headers => tool('logs_all', { project: 'ours' }, headers)],
  [
    'an error',
    headers => get(`${logs}&sql=select+cast(event_message+as+int64)+as+n+from+edge_logs`, headers),
  ],
])('contract 9.1: a token with force-redact gets no personal data: %s', async (_name, asked) => {
  const unredacted = { 'lf-endpoint-redact-pii': 'false' };
  const forced = await ask(asked(unredacted), await gateway.issue({ scopes: ['force-redact'] }));
  expect(forced.text).not.toContain('203.0.113.7');
  expect((await ask(asked(unredacted), await gateway.issue())).text).toContain('203.0.113.7');
});

test.each<[string, Asked, (answer: Awaited<ReturnType<typeof ask>>) => unknown]>([
  ['REST', get('/api/endpoints/query/usage.api-counts?project=n&interval=daily', { 'cache-control': 'no-cache' }), ({ headers }) => headers.get('x-cache')],
  ['an export', get('/api/endpoints/query/usage.api-counts?project=n&interval=daily&format=csv', { 'cache-control': 'no-cache' }), ({ headers }) => headers.get('x-cache')],
  ['GraphQL', graphql('{ usageApiCounts(project: "n", interval: DAILY) { timestamp } }', { 'cache-control': 'no-cache' }), ({ text }) => /"state":"(\w+)"/.exec(text)?.[1]?.toUpperCase()],
])('contract 8.6: only a token with no-cache runs the query again: %s', async (_name, asked, stateOf) => {
  const [plain, may] = [await gateway.issue(), await gateway.issue({ scopes: ['no-cache'] })];
  const ran = () => gateway.events.filter(({ type }) => type === 'engine.query').length;
  await ask(asked, plain);
  const before = ran();
  expect([stateOf(await ask(asked, plain)), ran() - before]).toEqual(['HIT', 0]);
  expect([stateOf(await ask(asked, may)), ran() - before]).toEqual(['MISS', 1]);
}); // biome-ignore format: a table

test('each scope is held by a test above', () => {
  const held = [...Object.keys(rights), 'force-redact', 'no-cache', 'admin'];
  expect(held.toSorted()).toEqual([...scopes].toSorted());
});
