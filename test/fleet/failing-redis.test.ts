import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { countsPath, type FleetAnswer, type FleetGateway, startFleet } from '../support/fleet.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

let redis: RedisServer;
let gateways: readonly FleetGateway[];
let stopFleet: () => Promise<void>;
beforeAll(async () => {
  redis = await startRedisServer();
  const fleet = await startFleet(2, { REDIS_URL: redis.url, CACHE_MEMORY_MB: '1' });
  gateways = fleet.gateways;
  stopFleet = fleet.stop;
  await load(200);
});
afterAll(async () => {
  await stopFleet();
  await redis.stop();
});

/** How many changes each gateway had logged when the test began. */
let before: readonly number[];
beforeEach(async () => {
  // The line of the last change comes after what it is about.
  await vi.waitFor(() => {
    for (const gateway of gateways) expect(changes(gateway).at(-1) ?? 'store.up').toBe('store.up');
  });
  before = gateways.map(gateway => changes(gateway).length);
});

const connections = 20;
let fresh = 0;

/** Keeps all gateways busy for a while, nine hot keys to one that nobody asked for; gives every answer. */
async function load(ms: number): Promise<FleetAnswer[]> {
  const endMs = performance.now() + ms;
  const answers: FleetAnswer[] = [];
  const caller = async (at: number) => {
    const gateway = gateways[at % gateways.length]!;
    for (let n = 0; performance.now() < endMs; n++) {
      const project = n % 10 === 0 ? `ours|fresh${fresh++}` : `ours|hot${n % 10}`;
      answers.push(await gateway.get(countsPath(project)));
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, at) => caller(at)));
  return answers;
}

const changes = (gateway: FleetGateway) => gateway.logged('store.down', 'store.up');

/** One line for each change, not for each request; a busy machine may hold an answer back for too long once or twice. */
const changesOf = (gateway: FleetGateway) =>
  changes(gateway)
    .slice(before[gateways.indexOf(gateway)])
    .map(event => event.replace('store.', ''))
    .join(' ');

const restartRedis = async () => {
  await redis.stop();
  redis = await startRedisServer({ port: redis.port });
};

const haveChanged = (changes: RegExp) =>
  vi.waitFor(() => {
    for (const gateway of gateways) expect(changesOf(gateway)).toMatch(changes);
  });
const isUsedAgain = () =>
  vi.waitFor(async () => {
    for (const gateway of gateways) {
      expect(JSON.parse((await gateway.get('/health')).text)).toEqual({ status: 'ok', cache: 'up' });
    }
    const path = countsPath(`ours|back${fresh++}`);
    const states = [];
    for (const gateway of gateways) states.push((await gateway.get(path)).headers['x-cache']);
    expect(states).toEqual(['MISS', 'HIT']);
  });

// How much later is measured in test/chaos, where nothing else runs.
describe('contract 5.13, 5.15: requests succeed', () => {
  test.each(['SIGSTOP', 'SIGKILL'] as const)('%s to Redis under load', async signal => {
    const under = load(1500);
    await delay(500); // into the load
    process.kill(redis.pid, signal);
    const during = await under;
    expect(during.filter(({ status }) => status !== 200)).toEqual([]);
    await haveChanged(/^(down up ){0,2}down$/);

    if (signal === 'SIGSTOP') process.kill(redis.pid, 'SIGCONT');
    else await restartRedis();
    await isUsedAgain();
    await haveChanged(/^(down up ?){1,3}$/);
  });

  test.each(['SIGSTOP', 'SIGKILL'] as const)(
    '%s to Redis while nobody asks anything of it: the health says so',
    async signal => {
      process.kill(redis.pid, signal);
      const isKnown = async () =>
        expect(JSON.parse((await gateways[0]!.get('/health')).text)).toEqual({ status: 'ok', cache: 'down' });
      await vi.waitFor(isKnown);
      if (signal === 'SIGSTOP') process.kill(redis.pid, 'SIGCONT');
      else await restartRedis();
      await isUsedAgain();
    },
  );

  test('a Redis that is full refuses to write, and is still read', async () => {
    const stored = countsPath('ours|stored');
    await gateways[0]!.get(stored);
    await redis.command('CONFIG SET maxmemory-policy noeviction');
    await redis.command('CONFIG SET maxmemory 1');
    const answers = await load(500);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    // Not at once: on a busy machine a read may be late, which is another matter.
    await vi.waitFor(async () => {
      expect(gateways[0]!.logged('store.refusing')).toEqual(['store.refusing']);
      expect(JSON.parse((await gateways[0]!.get('/health')).text).cache).toBe('up');
      expect((await gateways[1]!.get(stored)).headers['x-cache']).toBe('HIT');
    });
    await redis.command('CONFIG SET maxmemory 0');
    await isUsedAgain();
  });

  test('a Redis that became a replica refuses to write, and is used again as a master', async () => {
    await redis.command('REPLICAOF 127.0.0.1 1');
    const answers = await load(500);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await redis.command('REPLICAOF NO ONE');
    await isUsedAgain();
  });

  test('a Redis that pauses', async () => {
    await redis.command('CLIENT PAUSE 1500 ALL');
    const answers = await load(1000);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await isUsedAgain();
  });

  test('a connection that is cut catches up with what it missed', async () => {
    const path = countsPath('ours|cut');
    for (const gateway of gateways) await gateway.get(path);
    await redis.command('CLIENT KILL TYPE pubsub');
    const order = { endpoint: 'usage.api-counts', parameters: { interval: 'minutely', project: 'ours|cut' } };
    expect((await gateways[0]!.post('/admin/invalidate', order)).status).toBe(200);
    // It serves what it has until it notices that the connection is gone.
    const noticed = async () => expect((await gateways[1]!.get(path)).headers['x-cache']).toBe('MISS');
    await vi.waitFor(noticed);
    expect((await gateways[0]!.get(path)).headers['x-cache']).toBe('HIT');
    await isUsedAgain();
  });

  test('gateways without any messages ask Redis, and serve nothing that was invalidated', async () => {
    const path = countsPath('ours|disconnected');
    const states = async () => [
      (await gateways[0]!.get(path)).headers['x-cache'],
      (await gateways[1]!.get(path)).headers['x-cache'],
    ];
    await redis.command('ACL SETUSER default -subscribe');
    await redis.command('CLIENT KILL TYPE pubsub');
    await states();
    expect(await states()).toEqual(['HIT', 'HIT']);
    const endpoint = 'usage.api-counts';
    for (const order of [
      { endpoint },
      { endpoint, parameters: { interval: 'minutely', project: 'ours|disconnected' } },
    ]) {
      expect((await gateways[1]!.post('/admin/invalidate', order)).status).toBe(200);
      expect(await states()).toEqual(['MISS', 'HIT']);
    }
    await redis.command('ACL SETUSER default +subscribe');
    await isUsedAgain();
  });
});

test('gateways that start without Redis answer, say so, and use it when it comes', async () => {
  const { port } = redis;
  await redis.stop();
  const late = await startFleet(1, { REDIS_URL: redis.url });
  try {
    const [gateway] = late.gateways;
    expect((await gateway!.get(countsPath('ours'))).status).toBe(200);
    expect(JSON.parse((await gateway!.get('/health')).text)).toEqual({ status: 'ok', cache: 'down' });
    await vi.waitFor(() => expect(gateway!.logged('store.down')).toEqual(['store.down']));
    redis = await startRedisServer({ port });
    await vi.waitFor(async () => expect(JSON.parse((await gateway!.get('/health')).text).cache).toBe('up'));
  } finally {
    await late.stop();
  }
});
