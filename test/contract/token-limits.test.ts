import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { startRedisServer } from '../support/redis-server.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' })],
};
const now = '2026-01-15T12:00:00Z';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now });
  return gateway.close;
});

const counts = (project: string) => `/api/endpoints/query/usage.api-counts?interval=daily&project=${project}`;
const field = (project: string) => `usageApiCounts(project: "${project}", interval: DAILY) { timestamp }`;

describe('contract 8.7: requests beyond the limit', () => {
  test('get 429 and when to come back, hits too, and other tokens go on', async () => {
    const headers = {
      'x-api-key': await gateway.issue({ scopes: ['explain'], limits: { requestsPerSecond: 1, burst: 5 } }),
    };
    const statuses = [];
    for (let n = 0; n < 7; n++) statuses.push((await gateway.get(counts('ours'), headers)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const refused = await gateway.get(counts('ours'), headers);
    expect([refused.body.error.code, refused.headers.get('retry-after')]).toEqual(['too_many_requests', '1']);
    expect((await gateway.get(counts('ours'))).status).toBe(200);
    gateway.clock.advance(1000);
    expect((await gateway.get(counts('ours'), headers)).status).toBe(200);
    expect((await gateway.get(`${counts('ours')}&explain=true`, headers)).status).toBe(429);
  });

  test('are counted for each saved query that a GraphQL operation asks', async () => {
    const headers = { 'x-api-key': await gateway.issue({ limits: { requestsPerMinute: 3 } }) };
    const fields = ['a', 'b', 'c', 'd'].map(name => `${name}: ${field(name)}`).join(' ');
    const { status, body } = await gateway.graphql(`{ ${fields} }`, {}, headers);
    expect([status, body.data.d]).toEqual([200, null]);
    expect(body.errors.map((error: { extensions: object }) => error.extensions)).toMatchObject([
      { code: 'too_many_requests', status: 429, retryAfterSeconds: 20 },
    ]);
    const refused = await gateway.graphql(`{ ${field('a')} }`, {}, headers);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20']);
    expect(refused.body.errors[0].extensions.code).toBe('too_many_requests');
  });

  test('are counted where entries are invalidated, and where the schedule of warming is read', async () => {
    const limits = { requestsPerMinute: 2 };
    const headers = {
      'x-api-key': await gateway.issue({ scopes: ['invalidate', 'warm'], limits }),
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ endpoint: 'usage.api-counts' });
    const invalidate = async () =>
      (await gateway.send('/admin/invalidate', { method: 'POST', headers, body })).status;
    const readSchedule = async () => (await gateway.get('/admin/warm', headers)).status;
    expect([await invalidate(), await readSchedule(), await invalidate(), await readSchedule()]).toEqual([
      200, 200, 429, 429,
    ]);
  });

  test('are counted when an operation is repeated', async () => {
    const headers = { 'x-api-key': await gateway.issue({ limits: { requestsPerMinute: 8 } }) };
    const codes = [];
    for (let n = 0; n < 5; n++) {
      const { status } = await gateway.graphql(`{ x: ${field('a')} y: ${field('b')} }`, {}, headers);
      codes.push(status);
    }
    expect(codes).toEqual([200, 200, 200, 200, 429]);
  });
});

test('contract 8.7: beyond its bytes a token gets what is stored, without a query, and else 429', async () => {
  const headers = { 'x-api-key': await gateway.issue({ limits: { bytesPerDay: 1 } }) };
  const ask = async (path: string) => {
    const { status, headers: sent, body } = await gateway.get(path, headers);
    return [status, body.error?.code ?? sent.get('x-cache')];
  };
  const queries = () => gateway.events.filter(({ type }) => type === 'engine.query').length;
  expect(await ask(counts('first'))).toEqual([200, 'MISS']);
  await gateway.get(counts('second'));
  const before = queries();
  expect(await ask(counts('third'))).toEqual([429, 'quota_exceeded']);
  expect(await ask(counts('first'))).toEqual([200, 'HIT']);
  expect(await ask(counts('second'))).toEqual([200, 'HIT']);
  expect(await ask('/api/endpoints/query/logs.all?project=ours')).toEqual([429, 'quota_exceeded']);
  const { body } = await gateway.graphql(`{ a: ${field('first')} b: ${field('fourth')} }`, {}, headers);
  expect([body.data.a, body.data.b, body.errors[0].extensions.code]).toEqual([[], null, 'quota_exceeded']);
  gateway.clock.advance(901_000);
  expect(await ask(counts('first'))).toEqual([200, 'STALE']);
  gateway.clock.advance(120_000);
  expect((await ask(counts('second')))[0]).toBe(200);
  gateway.clock.advance(2 * 3_600_000);
  expect(await ask(counts('first'))).toEqual([429, 'quota_exceeded']);
  expect(queries()).toBe(before);
  const { headers: sent } = await gateway.get(counts('first'), headers);
  const tomorrowMs = Date.parse('2026-01-16T00:00:00Z');
  expect(Number(sent.get('retry-after'))).toBe(Math.ceil((tomorrowMs - gateway.clock.now()) / 1000));
  gateway.clock.advance(10 * 3_600_000);
  expect(await ask(counts('first'))).toEqual([200, 'MISS']);
});

test('contract 8.4, 8.7: over Redis, tokens and limits are those of all gateways, and a revoked token is refused at once', async () => {
  const redis = await startRedisServer();
  const environment = { REDIS_URL: redis.url, TOKENS_STORE: 'redis' };
  const fleet = [
    await openGateway({ rows, now, environment }),
    await openGateway({ rows, now, environment }),
  ];
  const [one, other] = fleet as [OpenGateway, OpenGateway]; // as many
  try {
    const token = await one.issue({ limits: { requestsPerMinute: 5 } });
    const status = async (asked: OpenGateway, presented = token) =>
      (await asked.get(counts('ours'), { 'x-api-key': presented })).status;
    for (let n = 0; n < 5; n++) expect(await status(one)).toBe(200);
    // Both hear of the token by a message, and of what was used in the background.
    await expect.poll(() => status(other)).toBe(429);
    const unlimited = await one.issue();
    await expect.poll(() => status(other, unlimited), { interval: 5 }).toBe(200);
    await one.revoke(unlimited);
    const statuses = () => Promise.all(fleet.map(each => status(each, unlimited)));
    await expect.poll(statuses, { interval: 5 }).toEqual([401, 401]);
  } finally {
    for (const each of fleet) await each.close();
    await redis.stop();
  }
});

test('a gateway whose Redis goes holds on to the tokens that it has read', async () => {
  const redis = await startRedisServer();
  const own = await openGateway({ rows, now, environment: { REDIS_URL: redis.url, TOKENS_STORE: 'redis' } });
  try {
    const token = await own.issue();
    const ask = async (presented: string) =>
      (await own.get(counts('ours'), { 'x-api-key': presented })).status;
    expect(await ask(token)).toBe(200);
    await redis.stop();
    expect([await ask(token), await ask('unknown')]).toEqual([200, 401]);
  } finally {
    await own.close();
  }
});
