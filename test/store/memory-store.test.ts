import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { describeStoreContract } from './store-contract.ts';

function openMemoryStore(maxBytes: number) {
  let nowMs = Date.parse('2026-01-15T12:00:00Z');
  const store = createMemoryStore({ maxBytes, clock: { now: () => nowMs } });
  const pass = async (ms: number) => {
    nowMs += ms;
  };
  return { store, pass };
}

describeStoreContract('memory', async () => openMemoryStore(1024 * 1024));

test('drops the least recently used values when the bytes are used up', async () => {
  const { store } = openMemoryStore(3000);
  for (const key of ['a', 'b']) await store.set(key, Buffer.alloc(1000), 60_000);
  await store.get('a');
  await store.set('c', Buffer.alloc(1500), 60_000);
  expect(await store.get('b')).toBeUndefined();
  expect(await store.get('a')).toHaveLength(1000);
  expect(await store.get('c')).toHaveLength(1500);
});

test('does not keep a value that is larger than the whole store, nor push others out for it', async () => {
  const { store } = openMemoryStore(1000);
  await store.set('small', Buffer.from('x'), 60_000);
  await store.set('large', Buffer.alloc(2000), 60_000);
  expect(await store.get('large')).toBeUndefined();
  expect(String(await store.get('small'))).toBe('x');
});
