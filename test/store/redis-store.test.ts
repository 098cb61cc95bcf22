import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { startLoopClock } from '../support/loop-clock.ts';
import { passTime, type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { openSubscribed } from './open-subscribed.ts';
import { describeStoreContract } from './store-contract.ts';

const deadlineMs = 50;
/** What a call may take beyond its deadline; as the event loop goes. */
const slackMs = 100;

let server: RedisServer;
const opened: Store[] = [];
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
afterEach(() => Promise.all(opened.splice(0).map(store => store.close())));

/** Opens a store that may not answer yet; `received` collects the types of its messages. */
function openStore() {
  const store = createRedisStore({ url: server.url, deadlineMs });
  opened.push(store);
  const received: string[] = [];
  store.subscribe(({ type }) => received.push(type));
  return { store, received };
}

async function openReadyStore(deadline?: number) {
  const { store, received } = await openSubscribed(server.url, deadline);
  opened.push(store);
  return { store, received };
}

const answersAgain = (store: Store) => vi.waitFor(() => store.ping());
const receives = (received: string[], ...types: string[]) =>
  vi.waitFor(() => expect(received).toEqual(types));

const value = Buffer.alloc(100);
const claimOptions = { token: 't', leaseMs: 60_000, knownVersion: undefined };

const calls: Record<string, (store: Store) => Promise<unknown>> = {
  read: store => store.read(['k'], ['g']),
  claim: store => store.claim('k', claimOptions),
  extend: store => store.extend('k', 't', 1000),
  publish: store => store.publish('k', 't', value, 1000),
  release: store => store.release('k', 't', 'payload'),
  remove: store => store.remove('k'),
  bumpGeneration: store => store.bumpGeneration('g'),
  ping: store => store.ping(),
};

/** Every call rejects within the deadline, and says so. */
async function rejectsInTime(store: Store, message: RegExp): Promise<void> {
  for (const [name, call] of Object.entries(calls)) {
    const tookMs = startLoopClock();
    const error: unknown = await call(store).catch(reason => reason);
    expect(tookMs(), name).toBeLessThan(deadlineMs + slackMs);
    expect(error, name).toBeInstanceOf(StoreError);
    expect(String(error), name).toMatch(message);
  }
}

/** Ids of the connections that the server has, but for the one that asks. */
async function clients(type: 'normal' | 'pubsub'): Promise<string[]> {
  const lines = (await server.command(`CLIENT LIST TYPE ${type}`)).split('\n');
  return lines.flatMap(line => (line.includes('cmd=client|list') ? [] : (/(?<=\bid=)\d+/.exec(line) ?? [])));
}

async function whileFrozen(body: () => Promise<void>): Promise<void> {
  process.kill(server.pid, 'SIGSTOP');
  try {
    await body();
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
}

describeStoreContract('redis', async () => {
  await server.command('FLUSHALL');
  const [{ store }, { store: other }] = await Promise.all([
    openSubscribed(server.url),
    openSubscribed(server.url),
  ]);
  return { store, other, pass: ms => passTime(server, ms) };
});

test('rejects every call within its deadline while Redis is frozen, reports the disconnection, and recovers by itself', async () => {
  const { store, received } = await openReadyStore(deadlineMs);
  await whileFrozen(async () => {
    // The client's own time-out is a second, which may be over at the same moment.
    await rejectsInTime(store, /no answer within 50 ms|timed out/);
    await receives(received, 'connected', 'disconnected');
    await rejectsInTime(store, /timed? ?out|not connected|no answer|lost/i);
  });
  await answersAgain(store);
  await receives(received, 'connected', 'disconnected', 'connected');
});

test('closes at once while Redis is frozen', async () => {
  const { store, received } = await openReadyStore(deadlineMs);
  await whileFrozen(async () => {
    const tookMs = startLoopClock();
    const pending = expect(store.ping()).rejects.toThrow(StoreError);
    await store.close();
    await pending;
    expect(tookMs()).toBeLessThan(deadlineMs + slackMs);
  });
  expect(received).toEqual(['connected']);
});

test('leaves no connection behind when it is closed, and publishes nothing more', async () => {
  const { store, received } = await openReadyStore();
  await vi.waitFor(async () => expect(await clients('normal')).toHaveLength(1));
  await vi.waitFor(async () => expect(await clients('pubsub')).toHaveLength(1));
  await store.close();
  await vi.waitFor(async () => expect(await clients('normal')).toEqual([]));
  await vi.waitFor(async () => expect(await clients('pubsub')).toEqual([]));
  expect(received).toEqual(['connected']);
});

test('takes an answer that lay unread while this process was busy', async () => {
  const { store } = await openReadyStore(deadlineMs);
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const asker = new Worker(
    `const { parentPort, workerData: { port, flag } } = require('node:worker_threads');
    const socket = require('node:net').connect(port, '127.0.0.1', () => parentPort.postMessage('ready'));
    parentPort.once('message', () => socket.write('PING\\r\\n'));
    socket.once('data', () => {
      socket.destroy();
      Atomics.store(flag, 0, 1);
      Atomics.notify(flag, 0);
    });`,
    { eval: true, workerData: { port: server.port, flag } },
  );
  await once(asker, 'message');
  const pinged = store.ping();
  const endMs = performance.now() + 3 * deadlineMs;
  // Redis answers in the order in which it was asked; this process does nothing else meanwhile.
  asker.postMessage('ask');
  Atomics.wait(flag, 0, 0);
  while (performance.now() < endMs);
  await pinged;
});

test('does not do later, on another connection, what it has given up', async () => {
  const { store } = await openReadyStore(deadlineMs);
  process.kill(server.pid, 'SIGSTOP');
  await expect(store.claim('given up', claimOptions)).rejects.toThrow(StoreError);
  await server.stop();
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
  expect(await store.claim('given up', claimOptions)).toEqual({ state: 'granted' });
});

test('rejects while Redis is gone, says why, and uses it again when it is back', async () => {
  const { store, received } = await openReadyStore();
  await server.stop();
  await receives(received, 'connected', 'disconnected');
  await vi.waitFor(() => rejectsInTime(store, /ECONNREFUSED/));
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
  await receives(received, 'connected', 'disconnected', 'connected');
  await store.claim('k', claimOptions);
  expect(await store.publish('k', 't', value, 1000)).toBe(true);
  await vi.waitFor(() => expect(received.at(-1)).toBe('published'));
});

test('starts without a Redis, and uses it when it comes', async () => {
  await server.stop();
  const { store, received } = openStore();
  await rejectsInTime(store, /not connected yet|ECONNREFUSED/);
  expect(received).toEqual(['disconnected']);
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
  await receives(received, 'disconnected', 'connected');
});

test.each([
  ['redis://127.0.0.1:1', /ECONNREFUSED/],
  ['rediss://127.0.0.1:1', /ECONNREFUSED/],
  ['redis+sentinel://127.0.0.1:1/results', /sentinels are unreachable/],
  ['redis+cluster://127.0.0.1:1,127.0.0.1:2', /ECONNREFUSED/],
])('says why %s can not be used, and closes', async (url, message) => {
  const store = createRedisStore({ url });
  opened.push(store);
  await vi.waitFor(() => rejectsInTime(store, message));
  await store.close();
  await expect(store.ping()).rejects.toThrow(StoreError);
});

test('says that a full Redis takes no writes; reads and the end of leases go on', async () => {
  const { store } = await openReadyStore();
  await store.claim('full', claimOptions);
  await store.publish('full', 't', value, 60_000);
  const mine = { token: 'mine', leaseMs: 60_000, knownVersion: value.subarray(0, 16) };
  expect(await store.claim('full', mine)).toEqual({ state: 'granted' });
  await server.command('CONFIG SET maxmemory-policy noeviction');
  await server.command('CONFIG SET maxmemory 1');
  try {
    await expect(store.publish('full', 'mine', value, 60_000)).rejects.toThrow(/OOM command not allowed/);
    await expect(store.claim('another', claimOptions)).rejects.toThrow(/OOM/);
    await expect(store.remove('full')).rejects.toThrow(/OOM/);
    await expect(store.bumpGeneration('g')).rejects.toThrow(/OOM/);
    expect((await store.read(['full'], [])).values).toEqual([value]);
    expect((await store.claim('full', { ...mine, token: 'b' })).state).toBe('held');
    expect(await store.extend('full', 'mine', 60_000)).toBe(true);
    await store.release('full', 'mine', 'full');
  } finally {
    await server.command('CONFIG SET maxmemory 0');
  }
  expect(await store.claim('full', mine)).toEqual({ state: 'granted' });
});

test('says that a replica takes no writes, and goes on by itself when it is a master again', async () => {
  const { store } = await openReadyStore();
  const before = await clients('normal');
  await server.command('REPLICAOF 127.0.0.1 1');
  try {
    await expect(store.claim('k', claimOptions)).rejects.toThrow(/READONLY/);
    // Its name may stand for another server by now.
    await vi.waitFor(async () => expect(await clients('normal')).not.toContain(before[0]));
  } finally {
    await server.command('REPLICAOF NO ONE');
  }
  await vi.waitFor(() => store.bumpGeneration('g'));
});

test('goes on when Redis has forgotten its scripts', async () => {
  const { store } = await openReadyStore();
  await store.bumpGeneration('g');
  await server.command('SCRIPT FLUSH');
  await store.bumpGeneration('g');
  expect((await store.read([], ['g'])).generations[0]).not.toBe('');
});

test('ignores what others write to its channel', async () => {
  const { store, received } = await openReadyStore();
  for (const text of ['x', '1', 'null', '{}']) await server.command(`PUBLISH sqg:2:messages ${text}`);
  await store.remove('k');
  await receives(received, 'connected', 'removed');
});
