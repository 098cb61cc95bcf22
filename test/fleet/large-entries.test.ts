import { beforeAll, expect, test, vi } from 'vitest';
import { countsPath, startFleet } from '../support/fleet.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

let redis: RedisServer;
let fleet: Awaited<ReturnType<typeof startFleet>>;
beforeAll(async () => {
  redis = await startRedisServer();
  // Results larger than the defaults allow.
  const large = { MAX_RESULT_MB: '32', ENGINE_MEMORY_MB: '6144' };
  fleet = await startFleet(2, {
    REDIS_URL: redis.url,
    CACHE_MEMORY_MB: '0',
    LOG_LEVEL: 'debug',
    ...large,
  });
  return async () => {
    await fleet.stop();
    await redis.stop();
  };
});

/** Rows that do not compress: 1,000 of them in this many megabytes. */
const largePath = (megabytes: number, n = 0) =>
  countsPath(
    'ours',
    `select ${n} as n, (select string_agg(to_base64(sha256(concat(cast(a as string), '-', cast(b as string), '-${n}')))) from unnest(generate_array(1, ${Math.round((megabytes * 1000) / 45)})) b) as m from unnest(generate_array(1, 1000)) a`,
  );

// How Redis answers meanwhile depends on the machine: nothing here is held to milliseconds.
test('contract 11.3: answers of 20 MB are given, not stored; Redis stays small and in use for everybody', async () => {
  const [one, other] = fleet.gateways;
  const plain = countsPath('ours');
  await one!.get(plain);
  let isOver = false;
  const large = Promise.all([one!, other!, one!].map(gateway => gateway.get(largePath(20)))).finally(() => {
    isOver = true;
  });
  const statuses = new Set<number>();
  while (!isOver) statuses.add((await other!.get(plain)).status);
  for (const { status, text } of await large) {
    expect(status).toBe(200);
    expect(text.length).toBeGreaterThan(17_000_000);
  }
  expect([...statuses]).toEqual([200]);
  const [, usedBytes] = /used_memory_dataset:(\d+)/.exec(await redis.command('INFO memory')) ?? [];
  expect(Number(usedBytes)).toBeLessThan(10_000_000);
  for (const gateway of fleet.gateways) {
    expect(await gateway.metric('cache_too_large_total')).toBeGreaterThan(0);
    await vi.waitFor(async () => expect((await gateway.get(plain)).headers['x-cache']).toBe('HIT'));
  }
});

test('answers up to the limit are shared', async () => {
  const [one, other] = fleet.gateways;
  const path = largePath(6, 1);
  await one!.get(path);
  await vi.waitFor(async () => {
    const { headers, text } = await other!.get(path);
    expect(headers['x-cache']).toBe('HIT');
    expect(text.length).toBeGreaterThan(5_000_000);
  });
});
