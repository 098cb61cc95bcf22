import { cp } from 'node:fs/promises';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { complete, openWarehouse } from '../bigquery/scripted-warehouse.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

const now = '2026-01-15T12:00:00Z';
const rows = {
  'cloudflare.logs.prod': [
    {
      ...edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' }),
      event_message: 'from 203.0.113.7',
    },
  ],
};

let redis: RedisServer;
let one: OpenGateway;
let two: OpenGateway;
beforeAll(async () => {
  redis = await startRedisServer();
  const environment = { REDIS_URL: redis.url };
  one = await openGateway({ rows, now, environment });
  const fill = (directory: string) => cp(one.directory, directory, { recursive: true });
  two = await openGateway({ fill, now, environment });
  return async () => {
    await Promise.all([one.close(), two.close()]);
    await redis.stop();
  };
});

let project = 0;
beforeEach(() => {
  project++;
});

const ask = async (gateway: OpenGateway, interval = 'minutely') => {
  const { status, headers, text } = await gateway.get(
    `/api/endpoints/query/usage.api-counts?interval=${interval}&project=ours|never${project}`,
  );
  expect(status).toBe(200);
  return { state: headers.get('x-cache'), text };
};

describe('contract 5.5: with REDIS_URL, two gateways share their entries', () => {
  test('what one stored, the other hits; the bodies are the same bytes', async () => {
    const miss = await ask(one);
    const hit = await ask(two);
    expect([miss.state, hit.state]).toEqual(['MISS', 'HIT']);
    expect(hit.text).toBe(miss.text);
  });

  test('other values, another entry', async () => {
    expect((await ask(one, 'hourly')).state).toBe('MISS');
    expect((await ask(two, 'daily')).state).toBe('MISS');
  });

  test('contract 5.13, 5.15: a frozen Redis fails no request, and is used again when it thaws', async () => {
    process.kill(redis.pid, 'SIGSTOP');
    try {
      expect((await ask(one)).state).toBe('MISS');
      await one.event('store.down');
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    one.events.length = 0;
    // Asks on until Redis answers: recovery takes the time that the client's reconnect takes.
    while (!one.events.some(({ type }) => type === 'store.up')) await ask(one);
    project++;
    expect((await ask(one)).state).toBe('MISS');
    expect((await ask(two)).state).toBe('HIT');
  });
});

describe("contract 5.1: over one Redis, what is made of other rows is nobody else's", () => {
  const open = async (options: Omit<Parameters<typeof openGateway>[0], 'now'>) => {
    const environment = { ...options.environment, REDIS_URL: redis.url };
    const gateway = await openGateway({ ...options, now, environment });
    onTestFinished(gateway.close);
    return gateway;
  };

  test('a gateway over another data folder hits none of these entries, and warms none of these keys', async () => {
    const other = await open({ rows: {} });
    expect((await ask(one)).state).toBe('MISS');
    const { state, text } = await ask(other);
    expect([state, text]).toEqual(['MISS', '{"result":[]}']);
    expect((await ask(one)).state).toBe('HIT');
    const keysOf = async ({ get }: OpenGateway) => (await get('/admin/warm')).body.keys;
    await expect.poll(() => keysOf(one)).toBeGreaterThan(1);
    await expect.poll(() => keysOf(other)).toBe(1);
  });

  test('nor does one over a warehouse, over fewer tables of it, or paid for by another project', async () => {
    const fields = [{ name: 'n', type: 'INTEGER' }];
    const answer = { results: [complete(['1'], { schema: { fields } })] };
    const warehouse = await openWarehouse(answer);
    onTestFinished(warehouse.close);
    const environment = bigqueryEnvironment(warehouse.url);
    const { BIGQUERY_TABLES: tables } = environment;
    const query = { interval: 'hourly', project: 'ours', sql: 'select count(*) as n from requests' };
    const path = `/api/endpoints/query/usage.api-counts?${new URLSearchParams(query)}`;
    const states: (string | null)[] = [];
    for (const settings of [
      environment,
      environment,
      { ...environment, BIGQUERY_TABLES: tables.split(',').slice(0, -1).join(',') },
      { ...environment, BIGQUERY_PROJECT: 'another' },
    ]) {
      const gateway = await open({ environment: settings });
      states.push((await gateway.get(path)).headers.get('x-cache'));
    }
    expect(states).toEqual(['MISS', 'HIT', 'MISS', 'MISS']);
  });
});
