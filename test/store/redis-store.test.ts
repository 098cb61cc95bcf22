import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import type { StoreEvent } from '../../src/store/store-events.ts';
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
  const events: StoreEvent[] = [];
  const store = createRedisStore({ url: server.url, emit: event => events.push(event), deadlineMs });
  opened.push(store);
  const trace = () => events.map(({ type }) => type);
  return { store, trace };
}

async function openReadyStore() {
  const open = openStore();
  await answersAgain(open.store);
  return open;
}

const answersAgain = (store: Store) => vi.waitFor(() => store.get('any'), { timeout: 5000, interval: 10 });

async function rejectsInTime(store: Store): Promise<void> {
  const startedMs = performance.now();
  await expect(store.get('any')).rejects.toThrow(StoreError);
  expect(performance.now() - startedMs).toBeLessThan(deadlineMs + slackMs);
}

async function emptyServer(): Promise<void> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write('FLUSHALL\r\n');
  await once(socket, 'data');
  socket.destroy();
}

describeStoreContract('redis', async () => {
  await emptyServer();
  const { store } = await openReadyStore();
  return { store, pass: ms => new Promise(resolve => setTimeout(resolve, ms)) }; // Redis has a clock of its own
});

test('rejects within its deadline while Redis is frozen, and recovers by itself', async () => {
  const { store, trace } = await openReadyStore();
  process.kill(server.pid, 'SIGSTOP');
  try {
    await rejectsInTime(store);
    await rejectsInTime(store);
    expect(trace()).toEqual(['store.down']);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await answersAgain(store);
  expect(trace()).toEqual(['store.down', 'store.up']);
});

test('closes at once while Redis is frozen', async () => {
  const { store } = await openReadyStore();
  process.kill(server.pid, 'SIGSTOP');
  try {
    const startedMs = performance.now();
    const pending = expect(store.get('any')).rejects.toThrow(StoreError);
    await store.close();
    await pending;
    expect(performance.now() - startedMs).toBeLessThan(deadlineMs + slackMs);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
});

test('rejects while Redis is gone, and uses it again when it is back', async () => {
  const { store, trace } = await openReadyStore();
  await server.stop();
  await rejectsInTime(store);
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
  expect(trace()).toEqual(['store.down', 'store.up']);
});

test('starts without a Redis, and uses it when it comes', async () => {
  await server.stop();
  const { store, trace } = openStore();
  await rejectsInTime(store);
  await vi.waitFor(() => expect(trace()).toEqual(['store.down']));
  server = await startRedisServer({ port: server.port });
  await answersAgain(store);
  expect(trace()).toEqual(['store.down', 'store.up']);
});
