import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { describeStoreContract } from './store-contract.ts';

const deadlineMs = 50;
/** What a busy machine may add to a timer. */
const slackMs = 100;

let server: RedisServer;
const opened: Store[] = [];
beforeAll(async () => {
  server = await startRedisServer();
}, 300_000);
afterAll(() => server.stop());
afterEach(() => Promise.all(opened.splice(0).map(store => store.close())));

function openStore() {
  const store = createRedisStore({ url: server.url, deadlineMs });
  const news: string[] = [];
  store.subscribe(({ type }) => news.push(type));
  opened.push(store);
  return { store, news };
}

async function openReadyStore() {
  const open = openStore();
  await answersAgain(open.store);
  await vi.waitFor(() => expect(open.news.at(-1)).toBe('listening'), waiting);
  return open;
}

const waiting = { timeout: 5000, interval: 10 };
const answersAgain = (store: Store) => vi.waitFor(() => store.ping(), waiting);

async function rejectsInTime(store: Store): Promise<void> {
  const startedMs = performance.now();
  await expect(store.read(['any'], [])).rejects.toThrow(StoreError);
  expect(performance.now() - startedMs).toBeLessThan(deadlineMs + slackMs);
}

async function command(line: string): Promise<void> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`${line}\r\n`);
  await once(socket, 'data');
  socket.destroy();
}

const emptyServer = () => command('FLUSHALL');

describeStoreContract('redis', async () => {
  await emptyServer();
  const [{ store }, { store: other }] = [await openReadyStore(), await openReadyStore()];
  return { store, other, pass: ms => new Promise(resolve => setTimeout(resolve, ms)) }; // Redis has a clock of its own
});

test('rejects within its deadline while Redis is frozen, and recovers by itself', async () => {
  const { store } = await openReadyStore();
  process.kill(server.pid, 'SIGSTOP');
  try {
    await rejectsInTime(store);
    await rejectsInTime(store);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await answersAgain(store);
});

test('closes at once while Redis is frozen', async () => {
  const { store } = await openReadyStore();
  process.kill(server.pid, 'SIGSTOP');
  try {
    const startedMs = performance.now();
    const pending = expect(store.ping()).rejects.toThrow(StoreError);
    await store.close();
    await pending;
    expect(performance.now() - startedMs).toBeLessThan(deadlineMs + slackMs);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
});

test('rejects while Redis is gone, uses it again when it is back, and says that it was deaf', async () => {
  const { store, news } = await openReadyStore();
  await server.stop();
  await rejectsInTime(store);
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
  await vi.waitFor(() => expect(news.slice(-2)).toEqual(['deaf', 'listening']), waiting);
});

test('starts without a Redis, and uses it when it comes', async () => {
  await server.stop();
  const { store } = openStore();
  await rejectsInTime(store);
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
});

test('a refusal is told from silence', async () => {
  const { store } = await openReadyStore();
  const claim = { token: 't', leaseMs: 1000, knownVersion: undefined };
  await command('CONFIG SET maxmemory 1');
  try {
    await expect(store.claim('key', claim)).rejects.toMatchObject({ isRefusal: true });
    expect((await store.read(['key'], [])).values).toEqual([undefined]);
  } finally {
    await command('CONFIG SET maxmemory 0');
  }
  expect(await store.claim('key', claim)).toEqual({ state: 'granted' });
});
