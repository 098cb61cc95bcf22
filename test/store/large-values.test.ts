import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
  return () => redis.stop();
});

/** @param deadlineMs default: so long that a busy machine does not matter */
async function open(url: string, deadlineMs = 5000): Promise<Store> {
  const store = createRedisStore({ url, deadlineMs });
  onTestFinished(() => store.close());
  await vi.waitFor(() => store.ping());
  return store;
}

async function put(store: Store, key: string, value: Buffer): Promise<void> {
  await store.claim(key, { token: key, leaseMs: 10_000, knownVersion: undefined });
  expect(await store.publish(key, key, value, 60_000)).toBe(true);
}

/** How many commands that read values Redis has run, among other scripts. */
async function readsRun(): Promise<number> {
  const stats = await redis.command('INFO commandstats');
  const counts = [...stats.matchAll(/cmdstat_(?:eval|evalsha|mget):calls=(\d+)/g)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** A network that lets this many bytes of answers through every 10 ms; 0 stops it. */
async function openSlowNetwork() {
  const network = { bytes: Number.POSITIVE_INFINITY, url: '', largestAnswer: 0 };
  const sockets = new Set<Socket>();
  const server = createServer(client => {
    const upstream = connect(redis.port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    const drip = setInterval(() => {
      const waiting = upstream.readableLength;
      const part = waiting > 0 && network.bytes > 0 ? upstream.read(Math.min(waiting, network.bytes)) : null;
      if (part) client.write(part);
    }, 10);
    upstream.on('readable', () => undefined);
    upstream.on('close', () => clearInterval(drip));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  network.url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  return network;
}

test('what is more than one command may read is read by several, in order', async () => {
  const store = await open(redis.url);
  const sizes = [1, 6_000_000, 20, 5_000_000, 3_000_000, 9_000_000, 7];
  for (const [at, size] of sizes.entries()) await put(store, `k${at}`, Buffer.alloc(size, at + 1));
  await store.bumpGeneration('g');
  const keys = ['absent', ...sizes.map((_, at) => `k${at}`), 'absent too'];
  const before = await readsRun();
  const { values, generations } = await store.read(keys, ['g', 'none']);
  // Eight megabytes at a time: what comes before the second long value, this and the third, the longest, the last.
  expect((await readsRun()) - before).toBe(4);
  expect(values.map(value => value && [value.length, value[0]])).toEqual([
    undefined,
    ...sizes.map((size, at) => [size, at + 1]),
    undefined,
  ]);
  expect(generations).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), '']);
});

test('an answer that is on its way is not late, however long it takes; one that does not move is', async () => {
  await put(await open(redis.url), 'large', Buffer.alloc(2_000_000, 'x'));
  const network = await openSlowNetwork();
  const store = await open(network.url, 300);
  network.bytes = 60_000; // the whole takes 330 ms and more
  const startedMs = performance.now();
  const { values } = await store.read(['large'], []);
  expect(values[0]).toHaveLength(2_000_000);
  expect(performance.now() - startedMs).toBeGreaterThan(300);
  network.bytes = 0;
  await expect(store.read(['large'], [])).rejects.toThrow('no answer within 300 ms');
  await delay(0);
});

test('an answer that is on its way has ten deadlines at most', async () => {
  await put(await open(redis.url), 'larger', Buffer.alloc(4_000_000, 'x'));
  const network = await openSlowNetwork();
  const store = await open(network.url, 80);
  network.bytes = 10_000; // the whole takes four seconds
  await vi.waitFor(
    () =>
      expect(store.read(['larger'], [])).rejects.toThrow('Redis does not answer: no answer within 800 ms'),
    10_000,
  );
});
