import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startLoopClock } from '../support/loop-clock.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { passTime } from '../support/redis-server.ts';
import { openSubscribed } from './open-subscribed.ts';
import { describeStoreContract } from './store-contract.ts';

const deadlineMs = 50;
/** What a round of calls may take beyond their deadline, most times; as the event loop goes. */
const slackMs = 250;
const manyKeys = Array.from({ length: 20 }, (_, at) => `key ${at}`);

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster.stop());

describeStoreContract('redis cluster', async () => {
  await Promise.all(cluster.nodes.map(node => node.command('FLUSHALL')));
  const [{ store }, { store: other }] = await Promise.all([
    openSubscribed(cluster.url),
    openSubscribed(cluster.url),
  ]);
  const pass = async (ms: number) => {
    await Promise.all(cluster.nodes.map(node => passTime(node, ms)));
  };
  return { store, other, pass };
});

test('waits for a frozen node no longer than for any, serves the keys of the others, and uses it again', async () => {
  await Promise.all(cluster.nodes.map(node => node.command('CONFIG SET cluster-require-full-coverage no')));
  const { store, received } = await openSubscribed(cluster.url, deadlineMs);
  onTestFinished(() => store.close());
  const frozen = cluster.nodes[0]!; // The first of the URL: the one it subscribes to.
  process.kill(frozen.pid, 'SIGSTOP');
  try {
    const endMs = performance.now() + 3000; // past the time after which the others give it up
    const outcomes = new Set<string>();
    const roundMs: number[] = [];
    while (performance.now() < endMs) {
      const tookMs = startLoopClock();
      const asked = Array.from({ length: 20 }, (_, at) => store.bumpGeneration(`group ${at}`));
      for (const { status } of await Promise.allSettled(asked)) outcomes.add(status);
      roundMs.push(tookMs());
    }
    const median = roundMs.sort((a, b) => a - b)[Math.floor(roundMs.length / 2)];
    expect(median).toBeLessThan(deadlineMs + slackMs);
    expect(outcomes).toEqual(new Set(['fulfilled', 'rejected']));
    const changes = () => received.filter(type => type !== 'group');
    await vi.waitFor(() => expect(changes()).toEqual(['connected', 'disconnected', 'connected']));
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
  }
  await vi.waitFor(() => store.read(manyKeys, []));
});

test('waits for a frozen node a single deadline, however much the others answer meanwhile', async () => {
  await Promise.all(cluster.nodes.map(node => node.command('CONFIG SET cluster-require-full-coverage no')));
  const { store } = await openSubscribed(cluster.url, deadlineMs);
  onTestFinished(() => store.close());
  const frozen = cluster.nodes[1]!;
  const first = Promise.withResolvers<string>();
  const askAll = () => {
    for (const key of manyKeys) store.bumpGeneration(key).catch(({ message }) => first.resolve(message));
  };
  process.kill(frozen.pid, 'SIGSTOP');
  const asking = setInterval(askAll, 5);
  try {
    expect(await first.promise).toBe(`Redis does not answer: no answer within ${deadlineMs} ms`);
  } finally {
    clearInterval(asking);
    process.kill(frozen.pid, 'SIGCONT');
  }
  await vi.waitFor(() => store.read(manyKeys, []), { timeout: 30_000 });
});

test('does not count as answering while the node with the keys of the last failure is frozen', async () => {
  await Promise.all(cluster.nodes.map(node => node.command('CONFIG SET cluster-require-full-coverage no')));
  const { store } = await openSubscribed(cluster.url);
  onTestFinished(() => store.close());
  const frozen = cluster.nodes[1]!;
  process.kill(frozen.pid, 'SIGSTOP');
  try {
    await expect(store.read(manyKeys, [])).rejects.toThrow('Redis does not answer');
    const pings = [];
    for (let n = 0; n < 20; n++) pings.push(await store.ping().catch(({ name }) => name));
    expect(pings).toEqual(Array(20).fill('StoreError'));
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
  }
  await vi.waitFor(() => store.ping(), { timeout: 30_000 });
  await vi.waitFor(() => store.read(manyKeys, []), { timeout: 30_000 });
});

test('subscribes to another node when its own is gone, and serves the keys of those that are left', async () => {
  await Promise.all(cluster.nodes.map(node => node.command('CONFIG SET cluster-require-full-coverage no')));
  const { store, received } = await openSubscribed(cluster.url);
  onTestFinished(() => store.close());
  await cluster.nodes[0]!.stop(); // The first of the URL: the one it subscribes to.
  await vi.waitFor(() => expect(received).toEqual(['connected', 'disconnected', 'connected']));
  const outcomes = new Set<string>();
  await vi.waitFor(async () => {
    for (let at = 0; at < 20; at++) {
      outcomes.add(
        await store.bumpGeneration(`group ${at}`).then(
          () => 'done',
          error => error.name,
        ),
      );
    }
    expect([...outcomes].sort()).toEqual(['StoreError', 'done']);
  });
});
