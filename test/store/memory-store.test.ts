import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { describeStoreContract } from './store-contract.ts';

function openMemoryStore(maxBytes: number) {
  const clock = createStandingClock();
  const store = createMemoryStore({ maxBytes, clock });
  const pass = async (ms: number) => clock.advance(ms);
  return { store, other: store, pass };
}

async function put(store: Store, key: string, value: Buffer): Promise<void> {
  await store.claim(key, { token: 't', leaseMs: 1000, knownVersion: undefined });
  await store.publish(key, 't', value, 60_000);
}

const sizes = async (store: Store, ...keys: string[]) =>
  (await store.read(keys, [])).values.map(value => value?.length);

describeStoreContract('memory', async () => openMemoryStore(1024 * 1024));

test('drops the least recently used values when the bytes are used up', async () => {
  const { store } = openMemoryStore(4500);
  for (const key of ['a', 'b']) await put(store, key, randomBytes(1000));
  await store.read(['a'], []);
  await put(store, 'c', randomBytes(1500));
  expect(await sizes(store, 'a', 'b', 'c')).toEqual([1000, undefined, 1500]);
});

test('does not keep a value that is larger than the whole store, nor push others out for it', async () => {
  const { store } = openMemoryStore(2000);
  await put(store, 'small', Buffer.from('x'));
  await put(store, 'large', randomBytes(2000));
  expect(await sizes(store, 'small', 'large')).toEqual([1, undefined]);
});

test.each([
  ['text that repeats itself', '{"status":200},', 600, 20_000],
  ['the long SQL of an entry', "id = 'x' or ", 6000, 40_000],
])('keeps %s compressed, and gives it back as it came', async (_, text, times, maxBytes) => {
  const { store } = openMemoryStore(maxBytes);
  const keys = Array.from({ length: 10 }, (_, at) => `key ${at}`);
  const value = (key: string) => Buffer.from(`the version of ${key}${text.repeat(times)}`);
  for (const key of keys) await put(store, key, value(key));
  expect((await store.read(keys, [])).values).toEqual(keys.map(value));
});

test('gives bytes that do not shrink back as they came', async () => {
  const { store } = openMemoryStore(20_000);
  for (const length of [16, 1500, 9000]) {
    const value = randomBytes(length);
    await put(store, `${length}`, value);
    expect((await store.read([`${length}`], [])).values).toEqual([value]);
  }
});

test('keeps leases and generations however many values come', async () => {
  const { store } = openMemoryStore(1000);
  await store.claim('held', { token: 'mine', leaseMs: 60_000, knownVersion: undefined });
  await store.bumpGeneration('g');
  const [generation] = (await store.read([], ['g'])).generations;
  for (let at = 0; at < 20; at++) await put(store, `key ${at}`, randomBytes(500));
  expect((await store.read([], ['g'])).generations).toEqual([generation]);
  expect(await store.extend('held', 'mine', 60_000)).toBe(true);
});

test('ends a lease at its last millisecond', async () => {
  const { store, pass } = openMemoryStore(1000);
  await store.claim('k', { token: 'a', leaseMs: 100, knownVersion: undefined });
  await pass(99);
  const next = { token: 'b', leaseMs: 100, knownVersion: undefined };
  expect(await store.claim('k', next)).toEqual({ state: 'held', forMs: 1 });
  await pass(1);
  expect(await store.claim('k', next)).toEqual({ state: 'granted' });
});

test('publishes a message only after the call that it is about', async () => {
  const { store } = openMemoryStore(1000);
  const received: string[] = [];
  store.subscribe(({ type }) => received.push(type));
  const done = store.remove('k');
  expect(received).toEqual(['connected']);
  await done;
  expect(received).toEqual(['connected', 'removed']);
});
