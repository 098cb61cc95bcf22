import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store, StoreNews } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import {
  ask,
  countingRequest,
  createStandingClock,
  keyOf,
  lifetimes,
  openCache,
  rowsOf,
  type StandingClock,
  settle,
} from './open-cache.ts';

const second = 1000;
const fails = (code: 'engine_failed' | 'invalid_query') => () =>
  Promise.reject(new GatewayError(code, 'The query failed'));

let clock: StandingClock;
beforeEach(() => {
  clock = createStandingClock();
});

describe('the states of one entry', () => {
  test('runs the query once, then hits until the entry has had its time', async () => {
    const gateway = openCache({ clock });
    const { request } = countingRequest('a');
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":1}]}');
    clock.advance(899 * second);
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":1}]}');
    expect(gateway.trace()).toEqual(['cache.loading', 'cache.stored']);
  });

  test('serves a stale entry while one refresh runs, then the new one', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(900 * second);
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    expect(await ask(gateway, request)).toBe('stale {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('stale {"result":[{"n":1}]}');
    gate.resolve();
    await settle();
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
    expect(query.runs).toBe(2);
  });

  test('waits for the query once the entry is too old to be served while it runs', async () => {
    const gateway = openCache({ clock });
    const { request } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(960 * second);
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('a failed refresh leaves the good entry, and is not tried again at once', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(900 * second);
    query.instead = fails('engine_failed');
    expect(await ask(gateway, request)).toMatch(/^stale/);
    await settle();
    expect(await ask(gateway, request)).toMatch(/^stale/);
    await settle();
    expect(query.runs).toBe(2);
    // The first rest is of 750 ms here: a second, three quarters of it drawn.
    clock.advance(750);
    expect(await ask(gateway, request)).toMatch(/^stale/);
    await settle();
    expect(query.runs).toBe(3);
    const rests = gateway.events.flatMap(event => (event.type === 'cache.load_failed' ? [event.restMs] : []));
    expect(rests).toEqual([750, 1500]);
  });

  test('serves an old entry where the query fails, without asking again during the rest', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(1000 * second);
    query.instead = fails('engine_failed');
    expect(await ask(gateway, request)).toBe('fallback {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('fallback {"result":[{"n":1}]}');
    expect(query.runs).toBe(2);
    query.instead = undefined;
    clock.advance(second);
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":3}]}');
  });

  test('an entry past all its times is never served, whatever the query does', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(4500 * second);
    query.instead = fails('engine_failed');
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
  });

  test("a caller's own mistake is told, not covered with an old entry", async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(1000 * second);
    query.instead = fails('invalid_query');
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
  });

  test('errors are not stored', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    query.instead = fails('engine_failed');
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
    query.instead = undefined;
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('a hot entry is renewed ahead of its time, behind the answer', async () => {
    const gateway = openCache({ clock, random: () => 0.999_999 });
    const { request, query } = countingRequest('a');
    const slow = {
      ...request,
      load: (signal: AbortSignal) => request.load(signal).finally(() => clock.advance(second)),
    };
    await ask(gateway, slow);
    clock.advance(890 * second);
    expect(await ask(gateway, slow)).toBe('hit {"result":[{"n":1}]}');
    await settle();
    expect(query.runs).toBe(2);
    expect(gateway.events.filter(({ type }) => type === 'cache.loading')).toMatchObject([
      { reason: 'miss' },
      { reason: 'early' },
    ]);
    expect(await ask(gateway, slow)).toBe('hit {"result":[{"n":2}]}');
  });

  test('who must have what a query finds now gets it, and so does the next caller', async () => {
    const gateway = openCache({ clock });
    const { request } = countingRequest('a');
    await ask(gateway, request);
    const { signal } = new AbortController();
    const forced = await gateway.cache.read(request, { signal, mustLoad: true });
    expect(`${forced.state} ${forced.entry.body}`).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
  });
});

describe('callers who come together', () => {
  test('share one query', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gateway, request)));
    expect(new Set(answers)).toEqual(new Set(['miss {"result":[{"n":1}]}']));
    expect(query.runs).toBe(1);
  });

  test('on several gateways share one query; the others wait for news of it', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two, three] = [1, 2, 3].map(() => openCache({ clock, store }));
    const { request, query } = countingRequest('a');
    const answers = await Promise.all([one!, two!, three!].map(gateway => ask(gateway, request)));
    expect(new Set(answers)).toEqual(new Set(['miss {"result":[{"n":1}]}']));
    expect(query.runs).toBe(1);
    expect(one!.trace()).toEqual(['cache.loading', 'cache.stored']);
    expect(two!.trace()).toEqual(['cache.waiting']);
  });

  test('share a failure too: it is not tried once for each gateway', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    query.instead = fails('invalid_query');
    const answers = await Promise.allSettled([ask(one, request), ask(two, request)]);
    expect(answers.map(answer => answer.status === 'rejected' && answer.reason.code)).toEqual([
      'invalid_query',
      'invalid_query',
    ]);
    expect(query.runs).toBe(1);
  });

  test('where the one who runs the query loses its last caller, another gateway takes over', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    const leaver = new AbortController();
    query.instead = signal =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const left = ask(one, request, leaver.signal);
    await settle();
    const stayed = ask(two, request);
    await settle();
    query.instead = undefined;
    leaver.abort(new GatewayError('cancelled', 'gone'));
    await expect(left).rejects.toThrow('gone');
    expect(await stayed).toBe('miss {"result":[{"n":2}]}');
  });

  test('rows that come after their lease has ended are answered, but not stored', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [late, other] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const slow = ask(late, request);
    await settle();
    clock.advance(3 * second);
    query.gate = Promise.resolve();
    expect(await ask(other, request)).toBe('miss {"result":[{"n":2}]}');
    gate.resolve();
    expect(await slow).toBe('miss {"result":[{"n":1}]}');
    expect(late.trace()).toEqual(['cache.loading', 'cache.refused']);
    expect(await ask(late, request)).toBe('hit {"result":[{"n":2}]}');
  });
});

describe('invalidation', () => {
  test('of one entry reaches the memory of every gateway, and leaves other entries', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const a = countingRequest('a');
    const b = countingRequest('b');
    for (const gateway of [one, two]) for (const { request } of [a, b]) await ask(gateway, request);
    await one.cache.invalidateEntry('counting', a.request.key);
    await settle();
    expect(await ask(two, a.request)).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(one, a.request)).toBe('hit {"result":[{"n":2}]}');
    expect(await ask(two, b.request)).toBe('hit {"result":[{"n":1}]}');
  });

  test('of an endpoint makes all its entries void, and no other endpoint’s', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const [a, b, other] = [countingRequest('a'), countingRequest('b'), countingRequest('c', 'another')];
    for (const gateway of [one, two]) for (const { request } of [a, b, other]) await ask(gateway, request);
    await one.cache.invalidateGroup('counting', 'group');
    await settle();
    expect(await ask(two, a.request)).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(one, b.request)).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(two, other.request)).toBe('hit {"result":[{"n":1}]}');
  });

  test('also reaches what is being loaded: those rows are not stored', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const asked = ask(gateway, request);
    await settle();
    await gateway.cache.invalidateEntry('counting', request.key);
    gate.resolve();
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('of an endpoint is not undone by a store that lost everything', async () => {
    const lost = createMemoryStore({ maxBytes: 1e6, clock });
    const gateway = openCache({ clock, store: lost });
    const { request } = countingRequest('a');
    await ask(gateway, request);
    await gateway.cache.invalidateGroup('counting', 'group');
    await settle();
    const blank = createMemoryStore({ maxBytes: 1e6, clock });
    Object.assign(lost, blank);
    expect(await ask(gateway, request)).toMatch(/^miss/);
  });
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
      'renew',
      'publish',
      'release',
      'remove',
      'renewGroup',
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

  test('costs no answer: what is in memory is served, what is not is queried, one line says so', async () => {
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
    await gateway.cache.close();
  });

  test('what it lost while nobody heard of it, it gets back from the memory of a gateway', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const listeners: ((news: StoreNews) => void)[] = [];
    const subscribe: Store['subscribe'] = listener => {
      listeners.push(listener);
      store.subscribe(listener);
    };
    const heard = { ...store, subscribe };
    const [one, two] = [openCache({ clock, store: heard }), openCache({ clock, store: heard })];
    const { request, query } = countingRequest('a');
    await ask(one, request);
    await store.close(); // which empties it
    for (const type of ['deaf', 'listening'] as const) for (const listener of listeners) listener({ type });
    expect(await ask(one, request)).toBe('hit {"result":[{"n":1}]}');
    await settle();
    expect(await ask(two, request)).toBe('hit {"result":[{"n":1}]}');
    expect(query.runs).toBe(1);
  });

  test('what was invalidated while nobody heard of it is not served', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const listeners: ((news: StoreNews) => void)[] = [];
    const deaf = openCache({
      clock,
      store: { ...store, subscribe: listener => void listeners.push(listener) },
    });
    for (const listener of listeners) listener({ type: 'listening' });
    const { request } = countingRequest('a');
    await ask(deaf, request);
    for (const listener of listeners) listener({ type: 'deaf' });
    await openCache({ clock, store }).cache.invalidateEntry('counting', request.key);
    for (const listener of listeners) listener({ type: 'listening' });
    expect(await ask(deaf, request)).toBe('miss {"result":[{"n":2}]}');
  });
});

test('two keys of one digest never share an entry', async () => {
  const gateway = openCache({ clock });
  const { request } = countingRequest('a');
  await ask(gateway, request);
  const forged = {
    ...request,
    key: { ...keyOf('b'), digest: request.key.digest },
    lifetimes,
    load: async () => rowsOf(99),
  };
  expect(await ask(gateway, forged)).toBe('miss {"result":[{"n":99}]}');
});
