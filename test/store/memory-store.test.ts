import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { describeStoreContract, valueOfVersion } from './store-contract.ts';

function openMemoryStore(maxBytes: number) {
  let nowMs = Date.parse('2026-01-15T12:00:00Z');
  const store = createMemoryStore({ maxBytes, clock: { now: () => nowMs } });
  const pass = async (ms: number) => {
    nowMs += ms;
  };
  return { store, other: store, pass };
}

async function put(store: Store, key: string, bytes: number): Promise<void> {
  await store.claim(key, { token: key, leaseMs: 1000, knownVersion: undefined });
  await store.publish(key, key, valueOfVersion('v', 'x'.repeat(bytes - 16)), 60_000);
}

const has = async (store: Store, key: string) => (await store.read([key], [])).values[0] !== undefined;

describeStoreContract('memory', async () => openMemoryStore(1024 * 1024));

test('drops the least recently used values when the bytes are used up', async () => {
  const { store } = openMemoryStore(3000);
  await put(store, 'a', 1000);
  await put(store, 'b', 1000);
  await store.read(['a'], []);
  await put(store, 'c', 1500);
  expect([await has(store, 'a'), await has(store, 'b'), await has(store, 'c')]).toEqual([true, false, true]);
});

test('does not keep a value that is larger than the whole store, nor push others out for it', async () => {
  const { store } = openMemoryStore(1000);
  await put(store, 'small', 100);
  await put(store, 'large', 2000);
  expect([await has(store, 'small'), await has(store, 'large')]).toEqual([true, false]);
});

test('leases and generations are not dropped to save room', async () => {
  const { store } = openMemoryStore(1000);
  await store.claim('held', { token: 't', leaseMs: 1000, knownVersion: undefined });
  await store.renewGroup('group');
  for (let n = 0; n < 100; n++) await put(store, `key ${n}`, 500);
  expect(await store.renew('held', 't', 1000)).toBe(true);
  expect((await store.read([], ['group'])).generations[0]).not.toBe('');
});
