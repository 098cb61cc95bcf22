import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CacheEvent } from '../../src/cache/cache-events.ts';
import { type GuardedStore, guardStore } from '../../src/cache/guarded-store.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { createStandingClock } from '../support/standing-clock.ts';

let answers: 'well' | 'not' | 'refusing' | 'never';
let calls: number;
let waitedMs: number;
let events: CacheEvent[];
let guarded: GuardedStore;
/** The next pings wait for it. */
let probed: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers();
  [answers, calls, waitedMs, events] = ['well', 0, 0, []];
  probed = Promise.resolve();
  const memory = createMemoryStore({ maxBytes: 1000, clock: createStandingClock(0) });
  const answer = async () => {
    calls++;
    if (answers === 'never') await new Promise(() => {});
    if (answers === 'not') throw new StoreError('gone');
    if (answers === 'refusing') throw new StoreError('READONLY', { isRefusal: true });
  };
  const store: Store = {
    ...memory,
    ping: () => probed.then(answer),
    read: async (keys, groups) => {
      if (answers !== 'refusing') await answer();
      return memory.read(keys, groups);
    },
    remove: answer,
  };
  guarded = guardStore(store, { emit: event => events.push(event), waitedMs: () => waitedMs });
});
afterEach(() => {
  vi.useRealTimers();
});

const trace = () => events.map(({ type }) => type).filter(type => type !== 'store.failed');
const read = (budget = { remainingMs: guarded.budgetMs }) =>
  guarded.call('read', budget, store => store.read(['k'], []));
const write = () => guarded.call('remove', { remainingMs: guarded.budgetMs }, store => store.remove('k'));

describe('a store without an answer', () => {
  test('is not called again by requests, and one event says so', async () => {
    answers = 'not';
    for (let n = 0; n < 10; n++) expect(await read()).toBeUndefined();
    expect(calls).toBe(1);
    expect(guarded.isUp).toBe(false);
    expect(trace()).toEqual(['store.down']);
  });

  test('is detected again by a probe in the background', async () => {
    answers = 'not';
    await read();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(guarded.isUp).toBe(false);
    answers = 'well';
    await vi.advanceTimersByTimeAsync(250);
    expect(guarded.isUp).toBe(true);
    expect(await read()).toEqual({ values: [undefined], generations: [] });
    expect(trace()).toEqual(['store.down', 'store.up']);
  });

  test('is not probed any more once the cache is closed', async () => {
    answers = 'not';
    await read();
    await guarded.close();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(calls).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each(['well', 'not'] as const)('ends a probe that is under way with the cache: %s', async outcome => {
    answers = 'not';
    await read();
    const gate = Promise.withResolvers<void>();
    probed = gate.promise;
    await vi.advanceTimersByTimeAsync(250);
    await guarded.close();
    answers = outcome;
    gate.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(trace()).toEqual(['store.down']);
  });

  test('does not count as answering when a refusal comes late', async () => {
    const refusal = Promise.withResolvers<never>();
    const late = guarded.call('remove', { remainingMs: guarded.budgetMs }, () => refusal.promise);
    answers = 'not';
    await read();
    refusal.reject(new StoreError('READONLY', { isRefusal: true }));
    expect(await late).toBeUndefined();
    expect(guarded.isUp).toBe(false);
    expect(trace()).toEqual(['store.down']);
  });
});

describe('a store that nobody asks', () => {
  beforeEach(() => guarded.connect());

  test('is reported down within two seconds, and up again', async () => {
    expect(guarded.health()).toEqual({ isUp: true });
    answers = 'not';
    await vi.advanceTimersByTimeAsync(1300);
    expect(guarded.health()).toEqual({ isUp: false, reason: 'The store of the cache does not answer' });
    answers = 'well';
    await vi.advanceTimersByTimeAsync(250);
    expect(guarded.health()).toEqual({ isUp: true });
    answers = 'not';
    await vi.advanceTimersByTimeAsync(1300);
    expect(trace()).toEqual(['store.down', 'store.up', 'store.down']);
  });

  test('does not count as down after one late answer', async () => {
    for (let n = 0; n < 3; n++) {
      answers = 'not';
      await vi.advanceTimersByTimeAsync(1000);
      answers = 'well';
      await vi.advanceTimersByTimeAsync(250);
    }
    expect(trace()).toEqual([]);
  });

  test('is not watched any more once the cache is closed', async () => {
    await guarded.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a store that refuses to write is still read, and one event says so', async () => {
  await guarded.connect();
  answers = 'refusing';
  for (let n = 0; n < 3; n++) {
    expect(await write()).toBeUndefined();
    expect(await read()).toBeDefined();
  }
  answers = 'well';
  // A probe writes nothing, so it can't say that writing works again.
  await vi.advanceTimersByTimeAsync(2000);
  expect(guarded.health()).toEqual({ isUp: true, reason: 'The store of the cache refuses to write' });
  await write();
  expect(trace()).toEqual(['store.refusing', 'store.up']);
});

test.each([
  ['claim', { state: 'held', forMs: 1000 }],
  ['claim', { state: 'changed', value: Buffer.alloc(16) }],
  ['extend', true],
  ['publish', false],
  ['release', undefined],
])('a full store that answers %s with %j does not count as writing again', async (operation, answer) => {
  await guarded.connect();
  answers = 'refusing';
  await write();
  await guarded.call(operation, { remainingMs: guarded.budgetMs }, async () => answer);
  expect(trace()).toEqual(['store.refusing']);
});

test.each([
  ['claim', { state: 'granted' }],
  ['publish', true],
])('a store that answers %s with %j writes again', async (operation, answer) => {
  await guarded.connect();
  answers = 'refusing';
  await write();
  await guarded.call(operation, { remainingMs: guarded.budgetMs }, async () => answer);
  expect(trace()).toEqual(['store.refusing', 'store.up']);
});

describe('the budget of one request', () => {
  test('is what all its calls together may wait', async () => {
    const budget = { remainingMs: guarded.budgetMs };
    const slow = guarded.call('read', budget, async () => {
      waitedMs += 30;
    });
    await slow;
    expect(budget.remainingMs).toBe(20);
    answers = 'never';
    const second = read(budget);
    await vi.advanceTimersByTimeAsync(21);
    expect(await second).toBeUndefined();
    // Slow is not gone: the next request asks it again.
    expect(guarded.isUp).toBe(true);
  });

  test('once spent, keeps the request from calling the store at all', async () => {
    expect(await read({ remainingMs: 0 })).toBeUndefined();
    expect(calls).toBe(0);
    // What it does instead, such as running a query without a lease, has a reason that can be read.
    expect(events).toMatchObject([{ type: 'store.failed', operation: 'read' }]);
  });
});

test('a bug of ours does not count as a failure of the store', async () => {
  const fault = guarded.call('read', { remainingMs: guarded.budgetMs }, async () => {
    throw new TypeError('a bug');
  });
  await expect(fault).rejects.toThrow('a bug');
  expect(guarded.isUp).toBe(true);
});

test('a start does not wait for a store that does not answer', async () => {
  answers = 'not';
  const connected = guarded.connect();
  await vi.advanceTimersByTimeAsync(1100);
  await connected;
  expect(trace()).toEqual(['store.down']);
  await guarded.close();
});
