import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { CacheRequest } from '../../src/cache/cache-request.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';
import {
  ask,
  countingRequest,
  keyOf,
  lifetimes,
  never,
  openCache,
  rowsOf,
  settle,
  withLateReads,
} from './open-cache.ts';

const second = 1000;
const fails = (code: 'engine_failed' | 'invalid_query') => () =>
  Promise.reject(new GatewayError(code, 'The query failed'));

let clock: StandingClock;
beforeEach(() => {
  clock = createStandingClock();
});

describe('contract 5.7: the states of one entry', () => {
  test('runs the query once, then hits until the entry’s time is over', async () => {
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

  test('an entry of a clock that was far ahead is replaced, by a caller and ahead of callers', async () => {
    for (const isWarmed of [false, true]) {
      const gateway = openCache({ clock });
      const { request } = countingRequest('a');
      await ask(gateway, request);
      clock.advance(-3600 * second);
      if (isWarmed) expect(await gateway.cache.warm(request, 300 * second, never)).toBe('refreshed');
      const state = isWarmed ? 'hit' : 'miss';
      expect(await ask(gateway, request)).toBe(`${state} {"result":[{"n":2}]}`);
    }
  });

  test('waits for the query once the entry is too old to be served while it runs', async () => {
    const gateway = openCache({ clock });
    const { request } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(960 * second);
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('contract 5.8: a failed refresh leaves the good entry, and is not tried again at once', async () => {
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
    const backoffs = gateway.events.flatMap(event =>
      event.type === 'cache.load_failed' ? [event.backoffMs] : [],
    );
    expect(backoffs).toEqual([750, 1500]);
  });

  test('serves an old entry if the query fails, without another query during the back-off', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(1000 * second);
    query.instead = fails('engine_failed');
    expect(await ask(gateway, request)).toBe('stale-if-error {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('stale-if-error {"result":[{"n":1}]}');
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

  test("a caller's own mistake is reported, not hidden by an old entry", async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(1000 * second);
    query.instead = fails('invalid_query');
    for (let time = 0; time < 2; time++) {
      await expect(ask(gateway, request)).rejects.toThrow('The query failed');
    }
  });

  test('the back-off between failed refreshes grows to a minute, and starts over after a success', async () => {
    const gateway = openCache({ clock, random: () => 0.999_999 });
    const { request, query } = countingRequest('a');
    const often = { ...request, lifetimes: { freshMs: 1000, staleMs: 3_600_000, staleIfErrorMs: 0 } };
    const refreshAfter = async (ms: number) => {
      clock.advance(ms);
      await ask(gateway, often);
      await settle();
    };
    await ask(gateway, often);
    query.instead = fails('engine_failed');
    for (let time = 0; time < 9; time++) await refreshAfter(60_000);
    query.instead = undefined;
    await refreshAfter(60_000);
    query.instead = fails('engine_failed');
    await refreshAfter(60_000);
    const backoffs = gateway.events.flatMap(event =>
      event.type === 'cache.load_failed' ? [event.backoffMs] : [],
    );
    expect(backoffs).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 1].map(seconds => seconds * second));
  });

  test('contract 5.9: errors are not stored', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    query.instead = fails('engine_failed');
    await expect(ask(gateway, request)).rejects.toThrow('The query failed');
    query.instead = undefined;
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('a hot entry is refreshed ahead of its time, behind the answer', async () => {
    const gateway = openCache({ clock, random: () => 0.999_999 });
    const { request, query } = countingRequest('a');
    const run = (signal: AbortSignal) => request.load.run(signal).finally(() => clock.advance(second));
    const slow = { ...request, load: { run }, refreshLoad: { run } };
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

  test('a caller who must have new rows gets them, and so does the next caller', async () => {
    const gateway = openCache({ clock });
    const { request } = countingRequest('a');
    await ask(gateway, request);
    const { signal } = new AbortController();
    const forced = await gateway.cache.read(request, { signal, mustLoad: true });
    expect(`${forced.state} ${forced.entry.body}`).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
  });
});

describe('concurrent callers', () => {
  test('with one who must have new rows: only that one waits for a new query', async () => {
    const gate = Promise.withResolvers<void>();
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const slow: Store = { ...store, read: (...args) => gate.promise.then(() => store.read(...args)) };
    const { request } = countingRequest('a');
    await ask(openCache({ clock, store }), request);
    const gateway = openCache({ clock, store: slow });
    const { signal } = new AbortController();
    const plain = ask(gateway, request);
    const forced = gateway.cache.read(request, { signal, mustLoad: true });
    gate.resolve();
    expect(await plain).toBe('hit {"result":[{"n":1}]}');
    expect(`${(await forced).state} ${(await forced).entry.body}`).toBe('miss {"result":[{"n":2}]}');
  });

  test('who must have new rows get those of a query that began after they asked, and share it', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    const { promise, resolve } = Promise.withResolvers<void>();
    query.gate = promise;
    const force = () => gateway.cache.read(request, { signal: never, mustLoad: true });
    const plain = ask(gateway, request);
    await settle();
    clock.advance(second);
    const forced = [force()];
    await settle();
    clock.advance(second);
    query.gate = settle();
    resolve();
    expect(await plain).toBe('miss {"result":[{"n":1}]}');
    await settle();
    expect(query.runs).toBe(2);
    clock.advance(second);
    forced.push(force(), force());
    const answers = await Promise.all(forced);
    expect(answers.map(({ entry }) => `${entry.body}`)).toEqual(
      [2, 3, 3].map(n => `{"result":[{"n":${n}}]}`),
    );
    expect(query.runs).toBe(3);
  });

  test('share one query', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gateway, request)));
    expect(new Set(answers)).toEqual(new Set(['miss {"result":[{"n":1}]}']));
    expect(query.runs).toBe(1);
  });

  test('on several gateways share one query; the others wait for its message', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two, three] = [1, 2, 3].map(() => openCache({ clock, store }));
    const { request, query } = countingRequest('a');
    query.gate = settle();
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
    query.gate = settle();
    const answers = await Promise.allSettled([ask(one, request), ask(two, request)]);
    expect(answers.map(answer => answer.status === 'rejected' && answer.reason.code)).toEqual([
      'invalid_query',
      'invalid_query',
    ]);
    expect(query.runs).toBe(1);
  });

  test('do not fail with a refresh that missed its deadline behind others: they run the query themselves', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(959 * second);
    const late = Promise.withResolvers<never>();
    query.instead = () => late.promise;
    expect(await ask(gateway, request)).toBe('stale {"result":[{"n":1}]}');
    await settle();
    clock.advance(2 * second);
    const waits = ask(gateway, request);
    await settle();
    query.instead = undefined;
    late.reject(new GatewayError('deadline_exceeded', 'late'));
    expect(await waits).toBe('miss {"result":[{"n":3}]}');
  });

  test('when the gateway that runs the query loses its last caller, another takes over', async () => {
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

  test('contract 5.5: when the gateway that runs the query loses its last caller, it goes on for those of another', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    const ended = Promise.withResolvers<never>();
    query.instead = signal => {
      signal.addEventListener('abort', () => ended.reject(signal.reason));
      return ended.promise;
    };
    const leaver = new AbortController();
    const left = ask(one, { ...request, caller: 'a' }, leaver.signal);
    await settle();
    const stayed = ask(two, { ...request, caller: 'b' });
    await settle();
    leaver.abort(new GatewayError('cancelled', 'gone'));
    await expect(left).rejects.toThrow('gone');
    await settle();
    ended.resolve(undefined as never);
    expect(await stayed).toBe('miss {"result":[{"n":1}]}');
    expect(await ask(one, request)).toBe('hit {"result":[{"n":1}]}');
    await Promise.all([one.cache.close(), two.cache.close()]);
  });

  test('a query that goes on for another gateway ends when its own gateway stops', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    const leaver = new AbortController();
    query.instead = signal =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const left = ask(one, { ...request, caller: 'a' }, leaver.signal);
    await settle();
    const stayed = ask(two, { ...request, caller: 'b' });
    await settle();
    leaver.abort(new GatewayError('cancelled', 'gone'));
    await expect(left).rejects.toThrow('gone');
    await settle();
    expect(query.runs).toBe(1);
    query.instead = undefined;
    await one.cache.close();
    expect(await stayed).toBe('miss {"result":[{"n":2}]}');
  });

  test('a caller who leaves while another gateway runs the query does not count as its failure', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    await ask(one, request);
    clock.advance(1000 * second);
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const first = ask(one, request);
    await settle();
    const leaver = new AbortController();
    const left = ask(two, request, leaver.signal);
    await settle();
    leaver.abort(new GatewayError('cancelled', 'gone'));
    await expect(left).rejects.toThrow('gone');
    await settle();
    const next = ask(two, request);
    await settle();
    gate.resolve();
    expect(await Promise.all([first, next])).toEqual(Array(2).fill('miss {"result":[{"n":2}]}'));
    expect(two.trace()).toEqual(['cache.waiting', 'cache.waiting']);
  });

  test('rows that come after their lease has ended are stored if the key is as it was', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [late, other] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const slow = ask(late, request);
    await settle();
    // Nothing extends it while this process is paused.
    clock.advance(4 * second);
    gate.resolve();
    expect(await slow).toBe('miss {"result":[{"n":1}]}');
    expect(late.trace()).toEqual(['cache.loading', 'cache.stored']);
    expect(await ask(other, request)).toBe('hit {"result":[{"n":1}]}');
    expect(query.runs).toBe(1);
  });

  test('rows that come after their lease has ended replace the older ones', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [late, other] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    await ask(late, request);
    clock.advance(1000 * second);
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const slow = ask(late, request);
    await settle();
    clock.advance(4 * second);
    gate.resolve();
    expect(await slow).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(other, request)).toBe('hit {"result":[{"n":2}]}');
  });

  test('rows that come after their lease has ended are not stored if the entry was invalidated', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [late, other] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const slow = ask(late, request);
    await settle();
    clock.advance(4 * second);
    await other.cache.invalidateEntry('counting', request.key);
    gate.resolve();
    expect(await slow).toBe('miss {"result":[{"n":1}]}');
    expect(late.trace()).toEqual(['cache.loading', 'cache.refused']);
    expect(await ask(other, request)).toBe('miss {"result":[{"n":2}]}');
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

describe('contract 5.7: an entry that may still be served if the query fails', () => {
  test.each(['too_many_requests', 'deadline_exceeded', 'overloaded', 'result_too_large'] as const)(
    'is the answer instead of %s',
    async code => {
      const gateway = openCache({ clock });
      const { request, query } = countingRequest('a');
      await ask(gateway, request);
      clock.advance(1000 * second);
      query.instead = () => Promise.reject(new GatewayError(code, 'Not now'));
      expect(await ask(gateway, request)).toBe('stale-if-error {"result":[{"n":1}]}');
      clock.advance(3600 * second);
      await expect(ask(gateway, request)).rejects.toThrow('Not now');
    },
  );

  test('is the answer while a result that has become too large is not paid for again at once', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    query.instead = () => Promise.reject(new GatewayError('result_too_large', 'Too large'));
    clock.advance(901 * second);
    for (let n = 0; n < 5; n++) {
      expect(await ask(gateway, request)).toBe('stale {"result":[{"n":1}]}');
      await settle();
    }
    expect(query.runs).toBe(2);
  });

  test('is the answer for a request whose time is over while it waits for another gateway', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request, query } = countingRequest('a');
    await ask(one, request);
    clock.advance(1000 * second);
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const slow = ask(one, request);
    await settle();
    const deadline = new AbortController();
    const waits = ask(two, request, deadline.signal);
    await settle();
    deadline.abort(new GatewayError('deadline_exceeded', 'Its time is over'));
    expect(await waits).toBe('stale-if-error {"result":[{"n":1}]}');
    gate.resolve();
    expect(await slow).toBe('miss {"result":[{"n":2}]}');
  });

  test('is no answer for a caller who has gone, or who wants no older rows', async () => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(1000 * second);
    query.instead = () => Promise.reject(new GatewayError('too_many_requests', 'Not now'));
    await expect(gateway.cache.read(request, { signal: never, mustLoad: true })).rejects.toThrow('Not now');
    const gone = AbortSignal.abort(new GatewayError('cancelled', 'gone'));
    await expect(ask(gateway, request, gone)).rejects.toThrow('gone');
  });
});

describe('callers with limits of billed bytes', () => {
  /** A query that a limit below 1000 bytes refuses, as callers of different limits ask for it. */
  function priced() {
    const counted = countingRequest('a');
    const { query } = counted;
    const under = (maxBytesBilled?: number): CacheRequest => {
      const run = async (signal: AbortSignal) => {
        const rows = await counted.request.load.run(signal);
        if ((maxBytesBilled ?? 1000) >= 1000) return rows;
        throw new GatewayError('engine_failed', 'Too many bytes', { bytesLimit: maxBytesBilled });
      };
      return { ...counted.request, load: { run, maxBytesBilled }, refreshLoad: { run, maxBytesBilled } };
    };
    return { query, under };
  }
  const outcome = (asked: Promise<string>) => asked.catch((error: GatewayError) => error.message);

  for (const place of ['in one gateway', 'on two gateways']) {
    const open = () => {
      const store = createMemoryStore({ maxBytes: 1e6, clock });
      const one = openCache({ clock, store });
      return [one, place === 'in one gateway' ? one : openCache({ clock, store })] as const;
    };

    test(`${place}: a higher limit is not refused together with a lower one`, async () => {
      const [one, other] = open();
      const { query, under } = priced();
      query.gate = settle();
      const asked = [ask(one, under(100)), ask(other, under(2000)), ask(other, under()), ask(one, under(50))];
      expect(await Promise.all(asked.map(outcome))).toEqual([
        'Too many bytes',
        'miss {"result":[{"n":2}]}',
        'miss {"result":[{"n":2}]}',
        'Too many bytes',
      ]);
      expect(query.runs).toBe(2);
    });

    test(`${place}: equal limits share one refusal`, async () => {
      const [one, other] = open();
      const { query, under } = priced();
      query.gate = settle();
      const asked = [one, other, one, other].map(gateway => ask(gateway, under(100)));
      expect(new Set(await Promise.all(asked.map(outcome)))).toEqual(new Set(['Too many bytes']));
      expect(query.runs).toBe(1);
    });
  }

  test('rows queried under a sufficient limit are given to callers with any limit', async () => {
    const gateway = openCache({ clock });
    const { query, under } = priced();
    const answers = await Promise.all([under(2000), under(100), under()].map(each => ask(gateway, each)));
    expect([new Set(answers), query.runs]).toEqual([new Set(['miss {"result":[{"n":1}]}']), 1]);
  });

  test('a refusal for one limit puts the key into back-off for that limit alone', async () => {
    const gateway = openCache({ clock });
    const { query, under } = priced();
    await ask(gateway, under());
    clock.advance(1000 * second);
    for (let times = 0; times < 2; times++) {
      expect(await ask(gateway, under(100))).toBe('stale-if-error {"result":[{"n":1}]}');
    }
    expect(query.runs).toBe(2);
    expect(await ask(gateway, under())).toBe('miss {"result":[{"n":3}]}');
  });

  test('an entry is refreshed behind an answer under its own limits, not under those of the reader', async () => {
    const gateway = openCache({ clock });
    const { query, under } = priced();
    const request = { ...under(100), refreshLoad: under().load };
    await ask(gateway, under());
    clock.advance(900 * second);
    expect(await ask(gateway, request)).toBe('stale {"result":[{"n":1}]}');
    await settle();
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
    expect(query.runs).toBe(2);
  });
});

test('all requests that have arrived read the store together', async () => {
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const asked: number[] = [];
  const counting: Store = {
    ...store,
    read: (keys, groups) => {
      asked.push(keys.length);
      return store.read(keys, groups);
    },
  };
  const gateway = openCache({ clock, store: counting });
  const first = ask(gateway, countingRequest('a').request);
  // The next one is read from its socket a little later in the same turn of the event loop.
  for (let tick = 0; tick < 5; tick++) await new Promise<void>(resolve => process.nextTick(resolve));
  const second = ask(gateway, countingRequest('b').request);
  await Promise.all([first, second]);
  expect(asked[0]).toBe(2);
});

describe("a gateway's memory", () => {
  test('contract 5.5: keeps no more than its bytes; what was least recently used goes first', async () => {
    const gateway = openCache({ clock, memoryBytes: 16_000 });
    const large = (name: string) => ({
      ...countingRequest(name).request,
      load: { run: async () => ({ ...rowsOf(1), rowsJson: Buffer.alloc(3000, '1') }) },
    });
    const [a, b, c] = [large('a'), large('b'), large('c')];
    await ask(gateway, a);
    await ask(gateway, b);
    gateway.cache.peek(a);
    await ask(gateway, c);
    const isThere = [a, b, c].map(request => gateway.cache.peek(request) !== undefined);
    expect(isThere).toEqual([true, false, true]);
  });

  test('picks up a newer entry of another gateway', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request } = countingRequest('a');
    await ask(one, request);
    await two.cache.read(request, { signal: new AbortController().signal, mustLoad: true });
    await settle();
    expect(await ask(one, request)).toBe('hit {"result":[{"n":2}]}');
  });

  test('keeps the entry of its own query, and not an older one that was being read meanwhile', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const { request } = countingRequest('a');
    await ask(openCache({ clock, store }), request);
    const gate = Promise.withResolvers<void>();
    let reads = 0;
    const late: Store = {
      ...store,
      async read(...args) {
        const read = await store.read(...args);
        if (++reads === 1) await gate.promise;
        return read;
      },
    };
    const gateway = openCache({ clock, store: late });
    const reading = ask(gateway, request);
    await settle();
    clock.advance(second);
    const { signal } = new AbortController();
    await gateway.cache.read(request, { signal, mustLoad: true });
    gate.resolve();
    await reading;
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
  });

  test('does not trust an older entry that it was reading while another gateway made a newer one', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const other = openCache({ clock, store });
    const { request } = countingRequest('a');
    await ask(other, request);
    const gate = Promise.withResolvers<void>();
    const late = withLateReads(store, gate.promise);
    const gateway = openCache({ clock, store: late });
    const reading = ask(gateway, request);
    await settle();
    await other.cache.read(request, { signal: never, mustLoad: true });
    await settle();
    gate.resolve();
    expect(await reading).toBe('hit {"result":[{"n":1}]}');
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
    expect(gateway.cache.peek(request)).toBeDefined();
  });

  test('keeps what was derived from an entry while the store has the same one', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const disconnected = openCache({ clock, store: { ...store, subscribe: () => undefined } });
    const { request } = countingRequest('a');
    const { signal } = new AbortController();
    const first = await disconnected.cache.read(request, { signal });
    const second = await disconnected.cache.read(request, { signal });
    expect([first.state, second.state]).toEqual(['miss', 'hit']);
    expect(second.entry).toBe(first.entry);
  });
});

test('rows of a query that began after a load are fresh, however long it took', async () => {
  const gateway = openCache({ clock });
  const { request, query } = countingRequest('a');
  const run = (signal: AbortSignal) => {
    clock.advance(2 * second);
    return request.load.run(signal);
  };
  const slow = { ...request, load: { run }, refreshLoad: { run } };
  await ask(gateway, slow);
  gateway.cache.markStale('group');
  clock.advance(second);
  expect(await ask(gateway, slow)).toBe('stale {"result":[{"n":1}]}');
  await settle();
  expect(await ask(gateway, slow)).toBe('hit {"result":[{"n":2}]}');
  expect(query.runs).toBe(2);
});

test('an answer that joins a query which began before a load says that it is outdated', async () => {
  const gateway = openCache({ clock });
  const { request, query } = countingRequest('a');
  const gate = Promise.withResolvers<void>();
  query.gate = gate.promise;
  const first = gateway.cache.read(request, { signal: never });
  await settle();
  clock.advance(second);
  gateway.cache.markStale('group');
  const joined = gateway.cache.read(request, { signal: never });
  gate.resolve();
  const outdated = { state: 'miss', isOutdated: true };
  expect(await Promise.all([first, joined])).toMatchObject([outdated, outdated]);
  clock.advance(second);
  const next = await gateway.cache.read(request, { signal: never, mustLoad: true });
  expect(next).toMatchObject({ state: 'miss', isOutdated: false });
  expect(query.runs).toBe(2);
});

test('after a load, a clock that is set back makes no entry stale that is newer', async () => {
  const gateway = openCache({ clock });
  const { request, query } = countingRequest('a');
  await ask(gateway, request);
  gateway.cache.markStale('group');
  clock.advance(-3600 * second);
  expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  clock.advance(second);
  await ask(gateway, request);
  await settle();
  clock.advance(second);
  for (let n = 0; n < 3; n++) {
    expect(await ask(gateway, request)).toMatch(/^hit /);
    await settle();
  }
  expect(query.runs).toBeLessThanOrEqual(3);
});

test('closing ends refreshes, waits until they have ended, and starts no more', async () => {
  const gateway = openCache({ clock });
  const [{ request, query }, other] = [countingRequest('a'), countingRequest('b')];
  await ask(gateway, request);
  await ask(gateway, other.request);
  clock.advance(900 * second);
  let hasEnded = false;
  query.instead = signal =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        setImmediate(() => {
          hasEnded = true;
          reject(signal.reason);
        });
      });
    });
  await ask(gateway, request);
  await settle();
  await gateway.cache.close();
  expect([query.runs, hasEnded]).toEqual([2, true]);
  expect(await ask(gateway, other.request)).toMatch(/^stale/);
  await settle();
  expect(other.query.runs).toBe(1);
});

test('contract 5.2: two keys of one digest never share an entry', async () => {
  const gateway = openCache({ clock });
  const { request } = countingRequest('a');
  await ask(gateway, request);
  const forged = {
    ...request,
    key: { ...keyOf('b'), digest: request.key.digest },
    lifetimes,
    load: { run: async () => rowsOf(99) },
  };
  expect(await ask(gateway, forged)).toBe('miss {"result":[{"n":99}]}');
});
