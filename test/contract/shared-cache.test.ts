import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
  two = await openGateway({ rows, now, environment });
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
