import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store, StoreMessage } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';
import { ask, countingRequest, openCache, settle } from './open-cache.ts';

const second = 1000;

let clock: StandingClock;
beforeEach(() => {
  clock = createStandingClock();
});

describe('a store that fails', () => {
  /** A store whose calls can be made to fail. */
  function brokenStore(): Store & { isBroken: boolean } {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const broken = {
      ...store,
      isBroken: false,
    };
    for (const name of [
      'read',
      'claim',
      'extend',
      'publish',
      'release',
      'remove',
      'bumpGeneration',
      'ping',
    ] as const) {
      const call = store[name] as (...args: unknown[]) => Promise<unknown>; // any of them, called as it is
      Object.assign(broken, {
        [name]: async (...args: unknown[]) => {
          if (broken.isBroken) throw new StoreError('gone');
          return call(...args);
        },
      });
    }
    return broken;
  }

  test('fails no request: entries in memory are served, others are queried, one event says so', async () => {
    const store = brokenStore();
    const gateway = openCache({ clock, store });
    const [a, b] = [countingRequest('a'), countingRequest('b')];
    await ask(gateway, a.request);
    store.isBroken = true;
    expect(await ask(gateway, b.request)).toBe('miss {"result":[{"n":1}]}');
    expect(await ask(gateway, a.request)).toBe('hit {"result":[{"n":1}]}');
    expect(await ask(gateway, b.request)).toBe('hit {"result":[{"n":1}]}');
    clock.advance(900 * second);
    expect(await ask(gateway, a.request)).toBe('stale {"result":[{"n":1}]}');
    await settle();
    expect(await ask(gateway, a.request)).toBe('hit {"result":[{"n":2}]}');
    expect(gateway.trace().filter(type => type === 'store.down')).toHaveLength(1);
    await gateway.cache.close();
  });

  test('an invalidation says that it did not reach the other gateways', async () => {
    const store = brokenStore();
    const gateway = openCache({ clock, store });
    const { request } = countingRequest('a');
    await ask(gateway, request);
    store.isBroken = true;
    await expect(gateway.cache.invalidateEntry('counting', request.key)).rejects.toThrow(
      'only the memory of this gateway',
    );
    expect(await ask(gateway, request)).toMatch(/^miss/);
    await expect(gateway.cache.invalidateGroup('counting', 'group')).rejects.toThrow(
      'only the memory of this gateway',
    );
    expect(await ask(gateway, request)).toMatch(/^miss/);
    await gateway.cache.close();
  });

  test('does not bring back rows whose query began before an invalidation', async () => {
    const store = brokenStore();
    const gateway = openCache({ clock, store });
    store.isBroken = true;
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const asked = ask(gateway, request);
    await settle();
    await expect(gateway.cache.invalidateEntry('counting', request.key)).rejects.toThrow(
      'only the memory of this gateway',
    );
    gate.resolve();
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
    await gateway.cache.close();
  });

  test('contract 5.14: lets concurrent callers of one gateway share one query', async () => {
    const store = brokenStore();
    const gateway = openCache({ clock, store });
    store.isBroken = true;
    const { request, query } = countingRequest('a');
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(gateway, request)));
    expect(query.runs).toBe(1);
    expect(answers.every(answer => answer.endsWith('{"result":[{"n":1}]}'))).toBe(true);
    await gateway.cache.close();
  });

  test('contract 5.14: is not needed for entries in memory, and a refresh runs once', async () => {
    const store = brokenStore();
    const listeners: ((message: StoreMessage) => void)[] = [];
    const controlled: Store = { ...store, subscribe: listener => void listeners.push(listener) };
    const gateway = openCache({ clock, store: controlled });
    const deliver = (type: 'connected' | 'disconnected') => {
      for (const listener of listeners) listener({ type });
    };
    deliver('connected');
    const [a, b] = [countingRequest('a'), countingRequest('b')];
    await ask(gateway, a.request);
    deliver('disconnected');
    store.isBroken = true;
    await ask(gateway, b.request);
    expect(String(gateway.cache.peek(a.request)?.body)).toBe('{"result":[{"n":1}]}');
    clock.advance(900 * second);
    const gate = Promise.withResolvers<void>();
    a.query.gate = gate.promise;
    for (let time = 0; time < 3; time++) expect(await ask(gateway, a.request)).toMatch(/^stale/);
    gate.resolve();
    await settle();
    expect(a.query.runs).toBe(2);
    await gateway.cache.close();
  });

  describe('by being slow', () => {
    /** Milliseconds in which nothing but the store was waited for. */
    let idle: number;
    beforeEach(() => {
      idle = 0;
      const utilization = vi.spyOn(performance, 'eventLoopUtilization');
      utilization.mockImplementation(() => ({ idle, active: 0, utilization: 0 }));
      return () => utilization.mockRestore();
    });

    test('contract 5.13: costs one request no more than its budget, whatever number of calls it makes', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const store = createMemoryStore({ maxBytes: 1e6, clock });
      const slow: Store = {
        ...store,
        async read(...args) {
          idle += 45;
          return store.read(...args);
        },
        claim: () => new Promise(() => {}),
      };
      const asked = ask(openCache({ clock, store: slow }), countingRequest('a').request);
      await settle();
      await vi.advanceTimersByTimeAsync(6);
      await settle();
      expect(await asked).toBe('miss {"result":[{"n":1}]}');
    });

    test('receives the rows, though granting the lease used up the budget', async () => {
      const store = createMemoryStore({ maxBytes: 1e6, clock });
      const slow: Store = {
        ...store,
        async claim(...args) {
          idle += 50;
          return store.claim(...args);
        },
      };
      const { request } = countingRequest('a');
      await ask(openCache({ clock, store: slow }), request);
      expect(await ask(openCache({ clock, store }), request)).toBe('hit {"result":[{"n":1}]}');
    });
  });

  test('by refusing to write is reported once, however many queries run without it', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const full: Store = {
      ...store,
      claim: () => Promise.reject(new StoreError('OOM', { isRefusal: true })),
    };
    const gateway = openCache({ clock, store: full });
    for (const name of ['a', 'b', 'c']) await ask(gateway, countingRequest(name).request);
    const { request, query } = countingRequest('d');
    query.instead = () => Promise.reject(new GatewayError('engine_failed', 'The query failed'));
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
    await settle();
    const changes = gateway.trace().filter(type => type === 'store.refusing' || type === 'store.up');
    expect(changes).toEqual(['store.refusing']);
  });

  test('by refusing a value leaves nobody to wait for it', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const full = {
      ...store,
      publish: () => Promise.reject(new StoreError('full', { isRefusal: true })),
    };
    const [holder, waiter] = [openCache({ clock, store: full }), openCache({ clock, store: full })];
    const { request, query } = countingRequest('a');
    const { promise, resolve } = Promise.withResolvers<void>();
    query.gate = promise;
    const held = ask(holder, request);
    await vi.waitFor(() => expect(query.runs).toBe(1));
    const waited = ask(waiter, request);
    await vi.waitFor(() => expect(waiter.trace()).toContain('cache.waiting'));
    resolve();
    // Its clock stands, so the lease would last.
    expect(await Promise.all([held, waited])).toEqual([
      'miss {"result":[{"n":1}]}',
      'miss {"result":[{"n":2}]}',
    ]);
    await Promise.all([holder.cache.close(), waiter.cache.close()]);
  });

  test('and was away gets the entries that were made meanwhile, and does not replace them by its own', async () => {
    const store = brokenStore();
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    await ask(one, request);
    clock.advance(1000 * second);
    store.isBroken = true;
    expect(await ask(one, request)).toBe('miss {"result":[{"n":2}]}');
    store.isBroken = false;
    await vi.waitFor(() => expect(one.trace()).toContain('store.up'));
    clock.advance(10 * second);
    expect(await ask(one, request)).toBe('hit {"result":[{"n":2}]}');
    await settle();
    expect(await ask(two, request)).toBe('hit {"result":[{"n":2}]}');
    expect(query.runs).toBe(2);
    await Promise.all([one.cache.close(), two.cache.close()]);
  });

  test('and was away keeps an invalidation that a gateway missed meanwhile', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    let isBroken = false;
    const listeners: ((message: StoreMessage) => void)[] = [];
    const call =
      <Args extends unknown[], Answer>(run: (...args: Args) => Promise<Answer>) =>
      (...args: Args) =>
        isBroken ? Promise.reject(new StoreError('gone')) : run(...args);
    const lost: Store = {
      ...store,
      read: call(store.read),
      claim: call(store.claim),
      publish: call(store.publish),
      ping: call(store.ping),
      subscribe: listener => void listeners.push(listener),
    };
    const [one, two] = [openCache({ clock, store: lost }), openCache({ clock, store })];
    const { request } = countingRequest('a');
    await ask(one, request);
    clock.advance(1000 * second);
    isBroken = true;
    expect(await ask(one, request)).toBe('miss {"result":[{"n":2}]}');
    clock.advance(second);
    await two.cache.invalidateEntry('counting', request.key);
    expect(await ask(two, request)).toBe('miss {"result":[{"n":3}]}');
    isBroken = false;
    await vi.waitFor(() => expect(one.trace()).toContain('store.up'));
    expect(await ask(one, request)).toBe('hit {"result":[{"n":3}]}');
    await Promise.all([one.cache.close(), two.cache.close()]);
  });

  test('and has lost a stale entry does not prevent its refresh', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const listeners: ((message: StoreMessage) => void)[] = [];
    const gateway = openCache({
      clock,
      store: {
        ...store,
        subscribe: listener => void listeners.push(listener),
        async claim(...args) {
          const claim = await store.claim(...args);
          await settle(); // as long as an answer is on its way
          return claim;
        },
      },
    });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    await store.close(); // which empties it
    clock.advance(900 * second);
    expect(await ask(gateway, request)).toMatch(/^stale/);
    for (let turn = 0; turn < 3; turn++) await settle();
    expect(query.runs).toBe(2);
  });

  test('is refilled from a gateway’s memory after losing entries while no gateway was connected', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const listeners: ((message: StoreMessage) => void)[] = [];
    const subscribe: Store['subscribe'] = listener => {
      listeners.push(listener);
      store.subscribe(listener);
    };
    const controlled = { ...store, subscribe };
    const [one, two] = [openCache({ clock, store: controlled }), openCache({ clock, store: controlled })];
    const { request, query } = countingRequest('a');
    await ask(one, request);
    clock.advance(600 * second);
    await store.close(); // which empties it
    for (const type of ['disconnected', 'connected'] as const)
      for (const listener of listeners) listener({ type });
    expect(await ask(one, request)).toBe('hit {"result":[{"n":1}]}');
    await settle();
    expect(await ask(two, request)).toBe('hit {"result":[{"n":1}]}');
    expect(query.runs).toBe(1);
    // No longer than it had left.
    clock.advance(3900 * second - 1);
    expect((await store.read([request.key.digest], [])).values[0]).toBeDefined();
    clock.advance(2);
    expect((await store.read([request.key.digest], [])).values[0]).toBeUndefined();
  });

  test('an entry that was invalidated while the gateway was disconnected is not served', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const listeners: ((message: StoreMessage) => void)[] = [];
    const disconnected = openCache({
      clock,
      store: { ...store, subscribe: listener => void listeners.push(listener) },
    });
    for (const listener of listeners) listener({ type: 'connected' });
    const { request } = countingRequest('a');
    await ask(disconnected, request);
    for (const listener of listeners) listener({ type: 'disconnected' });
    const other = openCache({ clock, store });
    await other.cache.invalidateEntry('counting', request.key);
    expect(await ask(disconnected, request)).toBe('miss {"result":[{"n":2}]}');
    for (const listener of listeners) listener({ type: 'connected' });
    await ask(disconnected, request);
    for (const listener of listeners) listener({ type: 'disconnected' });
    await other.cache.invalidateEntry('counting', request.key);
    for (const listener of listeners) listener({ type: 'connected' });
    expect(await ask(disconnected, request)).toBe('miss {"result":[{"n":3}]}');
  });

  test('an entry that was invalidated while messages were cut and it was being read is asked for again', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const listeners: ((message: StoreMessage) => void)[] = [];
    const deliver = (type: 'connected' | 'disconnected') => {
      for (const listener of listeners) listener({ type });
    };
    let gate = Promise.resolve();
    const gateway = openCache({
      clock,
      store: {
        ...store,
        subscribe: listener => void listeners.push(listener),
        async read(...args) {
          const read = await store.read(...args);
          await gate;
          return read;
        },
      },
    });
    deliver('connected');
    const other = openCache({ clock, store });
    const { request } = countingRequest('a');
    await ask(other, request);
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const asked = ask(gateway, request);
    await settle();
    deliver('disconnected');
    await other.cache.invalidateEntry('counting', request.key);
    deliver('connected');
    resolve();
    expect(await asked).toBe('hit {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('rows that it refused to store are not served when it fails afterwards', async () => {
    const store = brokenStore();
    const gateway = openCache({ clock, store });
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const asked = ask(gateway, request);
    await settle();
    await openCache({ clock, store }).cache.invalidateEntry('counting', request.key);
    gate.resolve();
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
    store.isBroken = true;
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
    await gateway.cache.close();
  });

  test('an entry once found invalid is not served when the store fails afterwards', async () => {
    const store = brokenStore();
    const gateway = openCache({ clock, store: { ...store, subscribe: () => undefined } });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    await openCache({ clock, store }).cache.invalidateEntry('counting', request.key);
    query.instead = () => Promise.reject(new GatewayError('engine_failed', 'The query failed'));
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
    store.isBroken = true;
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
    await gateway.cache.close();
  });

  describe('by being late', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    /** A store that does what the first claim says, but answers too late; and a query that waits. */
    function lateAtFirst() {
      const store = createMemoryStore({ maxBytes: 1e6, clock });
      let isLate = true;
      const late: Store = {
        ...store,
        async claim(...args) {
          const claim = await store.claim(...args);
          if (!isLate) return claim;
          isLate = false;
          throw new StoreError('no answer within 50 ms');
        },
      };
      const [gateway, other] = [openCache({ clock, store: late }), openCache({ clock, store })];
      const { request, query } = countingRequest('a');
      const gate = Promise.withResolvers<void>();
      query.gate = gate.promise;
      return { gateway, other, request, query, gate };
    }

    test('and granting the lease anyway, it lets nobody wait for rows that never come', async () => {
      const { gateway, other, request, query, gate } = lateAtFirst();
      const first = ask(gateway, request);
      await settle();
      const second = ask(other, request);
      await vi.advanceTimersByTimeAsync(250); // until it is found to answer
      gate.resolve();
      expect(await Promise.all([first, second])).toEqual(Array(2).fill('miss {"result":[{"n":1}]}'));
      expect(query.runs).toBe(1);
    });

    test('nor for a failure', async () => {
      const { gateway, other, request, query, gate } = lateAtFirst();
      query.instead = () => Promise.reject(new GatewayError('invalid_query', 'The query failed'));
      const first = ask(gateway, request);
      await settle();
      const both = Promise.allSettled([first, ask(other, request)]);
      await vi.advanceTimersByTimeAsync(250);
      gate.resolve();
      expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expect(query.runs).toBe(1);
    });

    test('does not hide that an entry was invalidated while its query ran', async () => {
      const { gateway, other, request, gate } = lateAtFirst();
      const asked = ask(gateway, request);
      await settle();
      await other.cache.invalidateEntry('counting', request.key);
      await vi.advanceTimersByTimeAsync(250);
      gate.resolve();
      expect(await asked).toBe('miss {"result":[{"n":1}]}');
      await settle();
      expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
    });
  });
});
