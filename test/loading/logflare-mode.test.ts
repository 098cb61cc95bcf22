import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/composition/config.ts';
import { welcome } from '../../src/composition/welcome.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

/** What the compose file of a self-hosted Supabase sets for its Logflare. */
const environment = {
  COMPAT: 'logflare',
  LOGFLARE_PUBLIC_ACCESS_TOKEN: 'the-public-token',
  LOGFLARE_PRIVATE_ACCESS_TOKEN: 'the-private-token',
  LOGFLARE_NODE_HOST: '127.0.0.1',
  LOGFLARE_SINGLE_TENANT: 'true',
  LOGFLARE_SUPABASE_MODE: 'true',
  LOGFLARE_FEATURE_FLAG_OVERRIDE: 'multibackend=true',
  LOGFLARE_MIN_CLUSTER_SIZE: '1',
  DB_USERNAME: 'supabase_admin',
  DB_DATABASE: '_supabase',
  DB_HOSTNAME: 'db',
  DB_PORT: '5432',
  DB_PASSWORD: 'secret',
  DB_SCHEMA: '_analytics',
  POSTGRES_BACKEND_URL: 'postgresql://supabase_admin:secret@db:5432/_supabase',
  POSTGRES_BACKEND_SCHEMA: '_analytics',
};

let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await openGateway({ environment });
});

afterAll(() => gateway.close());

const event = JSON.stringify({ event_message: 'hello', metadata: { host: 'db' } });

const send = (token: string, query = 'source_name=postgres.logs') =>
  gateway.send(`/api/logs?${query}`, { method: 'POST', body: event, headers: { 'x-api-key': token } });

const ask = (token: string, path = '/api/endpoints/query/logs.all?project=default') =>
  gateway.get(path, { 'x-api-key': token });

test('the public token sends events and asks nothing', async () => {
  expect(await send('the-public-token')).toMatchObject({ status: 200, body: { message: 'Logged!' } });
  for (const path of ['/api/endpoints/query/logs.all?project=default', '/admin/warm']) {
    expect(await ask('the-public-token', path)).toMatchObject({
      status: 401,
      body: { error: 'Unauthorized' },
    });
  }
  const { body } = await gateway.graphql(
    '{ logsAll(project: "default") { id } }',
    {},
    { 'x-api-key': 'the-public-token' },
  );
  expect(body.errors).toHaveLength(1);
});

test('the private token asks, and sends as well', async () => {
  expect((await ask('the-private-token')).body).toEqual({ result: [] });
  expect((await send('the-private-token')).status).toBe(200);
  expect((await ask('the-private-token', '/admin/warm')).status).toBe(200);
});

test.each([
  ['another token', 'no-such-token', undefined, 401],
  ['an unknown source', 'the-public-token', 'source_name=nothing', 401],
  ['no source: a 200 would mean that the event is kept', 'the-public-token', '', 400],
])('%s sends nothing', async (_what, token, query, status) => {
  expect((await send(token, query)).status).toBe(status);
});

test('the empty subsets have their columns', async () => {
  const sql = 'select t.id, t.timestamp, t.event_message, m.level from function_logs t, unnest(t.metadata) m';
  const { status, body } = await ask(
    'the-private-token',
    `/api/endpoints/query/logs.all?project=default&iso_timestamp_end=&sql=${encodeURIComponent(sql)}`,
  );
  expect([status, body]).toEqual([200, { result: [] }]);
});

test('/health answers without a token', async () => {
  expect((await ask('', '/health')).status).toBe(200);
});

test('the mode has no sample data, and says what it stands in for and what it lacks', () => {
  const config = readConfig(environment);
  expect([config.PORT, config.SAMPLE_ROWS, config.REDIS_URL]).toEqual([4000, 0, undefined]);
  expect([config.RETENTION_MB, config.RETENTION_DAYS]).toEqual([1024, undefined]);
  expect(readConfig({ COMPAT: 'logflare', SAMPLE_ROWS: '10' }).SAMPLE_ROWS).toBe(10);
  const started = {
    origin: 'http://127.0.0.1:4000',
    token: undefined,
    project: 'x',
    endpoints: ['orders.by-day'],
    brokenFiles: ['a.sql', 'b.yaml'],
  };
  const text = welcome(config, started);
  expect(text).toMatch(/Stands in for the Logflare of a self-hosted Supabase/);
  expect(text).not.toMatch(/missing|the-p/);
  const lacking = welcome(readConfig({ COMPAT: 'logflare', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'x' }), started);
  expect(lacking).toMatch(/missing {2}LOGFLARE_PUBLIC_ACCESS_TOKEN/);
  const own = welcome(readConfig({}), started);
  expect(own).not.toMatch(/Logflare|logs\.all/);
  expect(own).toContain('WRONG    2 left out: a.sql, b.yaml; npm run endpoint -- lint');
  expect(welcome(readConfig({}), { ...started, brokenFiles: [] })).not.toContain('WRONG');
  expect(own).toContain('  API      ');
  expect(welcome(readConfig({ PAGES: 'false' }), started)).not.toMatch(/^ {2}(page|API) /m);
  expect(own).toContain("'http://127.0.0.1:4000/api/endpoints/query/orders.by-day'");
});

test('a disk that takes nothing refuses events, serves queries, and recovers by itself', async () => {
  const folder = join(gateway.directory, 'rows');
  // Nothing can be written into what is no folder.
  await rename(folder, `${folder}.away`);
  await writeFile(folder, '');
  const refused = await send('the-public-token');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
  expect((await ask('the-private-token')).status).toBe(200);
  await rm(folder);
  await rename(`${folder}.away`, folder);
  expect((await send('the-public-token')).status).toBe(200);
});
