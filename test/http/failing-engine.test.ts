import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' })],
};

async function open(environment: Record<string, string> = {}): Promise<OpenGateway> {
  const gateway = await openGateway({ rows, now: '2026-01-15T12:00:00Z', environment });
  onTestFinished(gateway.close);
  return gateway;
}

/** Takes longer than any test waits, and can be interrupted between two vectors of rows. */
const endless = new URLSearchParams({
  project: 'ours',
  sql: `select count(*) as n from unnest(generate_array(1, 1000000)) a, unnest(generate_array(1, 1000000)) b where a + b = 7`,
});
const endlessPath = `/api/endpoints/query/logs.all?${endless}`;
const path = '/api/endpoints/query/logs.all?project=ours';
/** Takes a second or more. */
const seconds = `${path}&${new URLSearchParams({
  sql: 'select count(*) as n from unnest(generate_array(1, 1000000)) x, unnest(generate_array(1, 100)) y where x + y > 0',
})}`;

/** Starts a request and resolves once the gateway has it. */
async function startEndless(gateway: OpenGateway) {
  const request = httpRequest(gateway.origin + endlessPath, { headers: { 'x-api-key': testToken } });
  const answered = new Promise<number | string>(resolve => {
    request.on('response', response => resolve(response.resume().statusCode ?? 0));
    request.on('error', error => resolve(error.message));
  });
  const arrived = once(gateway.server, 'request');
  request.end();
  await arrived;
  return { request, answered };
}

test('contract 2.16: a query that does not finish in time answers 504, and the engine answers the next', async () => {
  const gateway = await open({ QUERY_TIMEOUT_MS: '3000' });
  const { status, body } = await gateway.get(endlessPath);
  expect([status, body.error.code, body.error.message]).toEqual([
    504,
    'deadline_exceeded',
    'The query did not finish within 3000 ms',
  ]);
  expect((await gateway.get(path)).body.result).toHaveLength(1);
});

test('contract 2.21: in drop-in mode the time-out is read out of a 200', async () => {
  const gateway = await open({ QUERY_TIMEOUT_MS: '300', COMPAT: 'logflare' });
  const { status, body } = await gateway.get(endlessPath);
  expect([status, body.error.code, body.error.status]).toEqual([200, 'deadline_exceeded', 504]);
});

test('a caller who goes away cancels its query and frees its place', async () => {
  const gateway = await open({ MAX_CONCURRENT_QUERIES: '1' });
  const { request, answered } = await startEndless(gateway);
  const next = gateway.get(path);
  request.destroy();
  expect(await answered).toBe('socket hang up');
  expect(await gateway.event('endpoint.failed')).toMatchObject({ endpoint: 'logs.all', code: 'cancelled' });
  expect((await next).body.result).toHaveLength(1);
});

test('a query whose engine process is killed is answered by another one', async () => {
  const gateway = await open();
  expect((await gateway.get(path)).status).toBe(200);
  const pid = gateway.enginePid();
  const arrived = once(gateway.server, 'request');
  const pending = gateway.get(seconds);
  await arrived;
  process.kill(pid, 'SIGKILL');
  expect((await pending).body.result).toEqual([{ n: 100_000_000 }]);
  expect(gateway.enginePid()).not.toBe(pid);
});

test('contract 2.19: a fault in the data of a query answers 400, without a word of the generated SQL', async () => {
  const gateway = await open();
  for (const [sql, message] of [
    ['select cast(id as int64) as n from edge_logs', /^Bad int64 value: a$/],
    ["select regexp_contains(id, concat('(', id)) as n from edge_logs", /regular expression: missing \)/],
    ['select 1 / 0 as n from edge_logs', /^division by zero/],
  ] as const) {
    const { status, body } = await gateway.get(`${path}&${new URLSearchParams({ sql })}`);
    expect([status, body.error.code, body.error.message]).toEqual([
      400,
      'invalid_query',
      expect.stringMatching(message),
    ]);
  }
});

test('contract 3.1: GraphQL says the same by code', async () => {
  const gateway = await open({ QUERY_TIMEOUT_MS: '300' });
  process.kill(gateway.enginePid(), 'SIGSTOP');
  const { status, body } = await gateway.graphql('{ logsAll(project: "ours") { id } }');
  expect([status, body.data, body.errors[0].extensions]).toEqual([
    200,
    { logsAll: null },
    { code: 'deadline_exceeded', status: 504 },
  ]);
});
