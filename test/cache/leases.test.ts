import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { CacheRequest } from '../../src/cache/cache-request.ts';
import { guardStore } from '../../src/cache/guarded-store.ts';
import { loadWithLease } from '../../src/cache/leased-load.ts';
import { createNotifier } from '../../src/cache/notifier.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { type Store, versionBytes } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';
import { ask, countingRequest, lifetimes, openCache, rowsOf, settle } from './open-cache.ts';

let clock: StandingClock;
let shared: Store;
/** Calls of the shared store, by name. */
let calls: Record<string, number>;
beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  });
  clock = createStandingClock();
  calls = { claim: 0, extend: 0 };
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  shared = {
    ...store,
    claim(...args) {
      calls.claim!++;
      return store.claim(...args);
    },
    extend(...args) {
      calls.extend!++;
      return store.extend(...args);
    },
  };
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets time pass for clock and timers alike. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    const step = Math.min(left, 100);
    clock.advance(step);
    await vi.advanceTimersByTimeAsync(step);
    await settle();
  }
}

/** Takes the lease for a gateway that will never do anything again. */
const claimForDead = (digest: string, leaseMs: number) =>
  shared.claim(digest, { token: 'dead', leaseMs, knownVersion: undefined });

describe('the gateway that runs the query', () => {
  test('extends its lease while the query runs, and no longer', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const answers = Promise.all([ask(one, request), pass(2500).then(() => ask(two, request))]);
    await pass(12_500);
    expect(query.runs).toBe(1);
    gate.resolve();
    expect(new Set(await answers)).toEqual(new Set(['miss {"result":[{"n":1}]}']));
    const extensions = calls.extend;
    await pass(5000);
    expect([calls.extend, vi.getTimerCount()]).toEqual([extensions, 0]);
  });

  test('takes its lease again from a store that has lost it', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const first = ask(one, request);
    await pass(500);
    await shared.close(); // which empties it
    await pass(1000);
    const second = ask(two, request);
    await pass(5000);
    gate.resolve();
    await pass(1000);
    expect(await Promise.all([first, second])).toEqual(Array(2).fill('miss {"result":[{"n":1}]}'));
    expect(query.runs).toBe(1);
  });

  test('does not take it again where another one has newer rows, which it would read each time', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const first = ask(one, request);
    await pass(500);
    await shared.close(); // which empties it
    query.gate = Promise.resolve();
    expect(await ask(two, request)).toBe('miss {"result":[{"n":2}]}');
    const claims = calls.claim!;
    await pass(5000);
    expect(calls.claim).toBe(claims + 1);
    gate.resolve();
    expect(await first).toBe('miss {"result":[{"n":1}]}');
    expect(await ask(one, request)).toBe('hit {"result":[{"n":2}]}');
  });

  test('does not take it again from a store that has lost an invalidation too', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const first = ask(one, request);
    await pass(500);
    await two.cache.invalidateEntry('counting', request.key);
    await settle();
    await shared.close(); // which empties it
    await pass(5000);
    gate.resolve();
    expect(await first).toBe('miss {"result":[{"n":1}]}');
    expect(await ask(two, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test('holds a lease that the store granted too late to say so', async () => {
    let isLate = true;
    const late: Store = {
      ...shared,
      async claim(...args) {
        const claim = await shared.claim(...args);
        if (isLate) throw new StoreError('no answer');
        return claim;
      },
    };
    const [one, two] = [openCache({ clock, store: late }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const first = ask(one, request);
    await settle();
    isLate = false;
    await pass(4000);
    const second = ask(two, request);
    await pass(4000);
    gate.resolve();
    expect(await Promise.all([first, second])).toEqual(Array(2).fill('miss {"result":[{"n":1}]}'));
    expect(query.runs).toBe(1);
    await one.cache.close();
  });
});

describe('the gateways that wait', () => {
  test('are woken by a message, not by a timer', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const answers = Promise.all([ask(one, request), ask(two, request)]);
    await settle();
    gate.resolve();
    expect(await answers).toEqual(['miss {"result":[{"n":1}]}', 'miss {"result":[{"n":1}]}']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('contract 11.1: tell the one that runs the query whose requests wait, those that come later too', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    const told: string[] = [];
    const run: CacheRequest['load']['run'] = async (_signal, joined) => {
      joined?.follow(caller => told.push(caller));
      await gate.promise;
      return rowsOf(1);
    };
    const askAs = (gateway: typeof one, caller: string) =>
      ask(gateway, { ...request, caller, load: { run } });
    const answers = [askAs(one, 'a')];
    await settle();
    answers.push(askAs(two, 'a'), askAs(two, 'b'));
    await settle();
    expect(told).toEqual(['a', 'b']);
    answers.push(askAs(two, 'c'));
    await pass(1100);
    expect(told).toEqual(['a', 'b', 'c']);
    gate.resolve();
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['miss {"result":[{"n":1}]}']));
  });

  test('take over at once if the entry is invalidated meanwhile', async () => {
    const [one, two] = [openCache({ clock, store: shared }), openCache({ clock, store: shared })];
    const { request, query } = countingRequest('a');
    const gate = Promise.withResolvers<void>();
    query.gate = gate.promise;
    const first = ask(one, request);
    await settle();
    const second = ask(two, request);
    await settle();
    query.gate = Promise.resolve();
    await two.cache.invalidateEntry('counting', request.key);
    expect(await second).toBe('miss {"result":[{"n":2}]}');
    gate.resolve();
    expect(await first).toBe('miss {"result":[{"n":1}]}');
    expect(one.trace()).toEqual(['cache.loading', 'cache.refused']);
  });

  test('take over when the lease of a dead gateway expires, not before', async () => {
    const gateway = openCache({ clock, store: shared });
    const { request, query } = countingRequest('a');
    await claimForDead(request.key.digest, 2500);
    const asked = ask(gateway, request);
    await pass(2400);
    expect(query.runs).toBe(0);
    await pass(200);
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
    expect(gateway.trace()).toEqual(['cache.waiting', 'cache.loading', 'cache.stored']);
  });

  test('ask again once a second, because a message may be missed', async () => {
    const silent: Store['subscribe'] = listener => listener({ type: 'connected' });
    const disconnected = openCache({ clock, store: { ...shared, subscribe: silent } });
    const { request, query } = countingRequest('a');
    await claimForDead(request.key.digest, 60_000);
    const asked = ask(disconnected, request);
    await pass(4900);
    expect(calls.claim).toBe(6); // the dead one's, the first, and four looks
    await shared.release(request.key.digest, 'dead', '');
    await pass(100);
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
    expect(query.runs).toBe(1);
  });

  test('give up after their time', async () => {
    const gateway = openCache({ clock, store: shared });
    const { request } = countingRequest('a');
    await claimForDead(request.key.digest, 600_000);
    const asked = ask(gateway, { ...request, waitMs: 5000 });
    const refused = expect(asked).rejects.toThrow(
      new GatewayError('deadline_exceeded', 'The query, run by another gateway, did not finish in time'),
    );
    await pass(6100);
    await refused;
    expect(vi.getTimerCount()).toBe(0);
  });

  const lateFailure = '{"code":"deadline_exceeded","message":"late"}';

  test('contract 11.6: run the query themselves when the time of its first caller is over and theirs is not', async () => {
    const gateway = openCache({ clock, store: shared });
    const { request, query } = countingRequest('a');
    await claimForDead(request.key.digest, 600_000);
    const asked = ask(gateway, { ...request, waitMs: 5000 });
    await pass(3900);
    await shared.release(request.key.digest, 'dead', lateFailure);
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
    expect([query.runs, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test('serve an older entry instead, if they have one', async () => {
    const gateway = openCache({ clock, store: shared });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    clock.advance(lifetimes.freshMs + lifetimes.staleMs);
    await shared.claim(request.key.digest, {
      token: 'dead',
      leaseMs: 600_000,
      knownVersion: (await shared.read([request.key.digest], [])).values[0]?.subarray(0, versionBytes),
    });
    const asked = ask(gateway, { ...request, waitMs: 5000 });
    await pass(1000);
    await shared.release(request.key.digest, 'dead', lateFailure);
    expect(await asked).toBe('stale-if-error {"result":[{"n":1}]}');
    expect(query.runs).toBe(1);
  });

  test('do not run it for the last second of their own', async () => {
    const gateway = openCache({ clock, store: shared });
    const { request, query } = countingRequest('a');
    await claimForDead(request.key.digest, 600_000);
    const refused = expect(ask(gateway, { ...request, waitMs: 5000 })).rejects.toThrow('late');
    await pass(4100);
    await shared.release(request.key.digest, 'dead', lateFailure);
    await refused;
    expect([query.runs, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('have their whole time even if the clock is set forward meanwhile', async () => {
    const gateway = openCache({ clock, store: shared });
    const { request } = countingRequest('a');
    await claimForDead(request.key.digest, 7_200_000);
    const asked = ask(gateway, { ...request, waitMs: 5000 });
    await settle();
    clock.advance(3_600_000);
    await pass(4900);
    await shared.release(request.key.digest, 'dead', '');
    await pass(100);
    expect(await asked).toBe('miss {"result":[{"n":1}]}');
  });

  test('leave nothing behind when they go while the lease is being claimed', async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Store = { ...shared, claim: (...args) => gate.promise.then(() => shared.claim(...args)) };
    const gateway = openCache({ clock, store: slow });
    const { request, query } = countingRequest('a');
    await claimForDead(request.key.digest, 1000);
    const leaver = new AbortController();
    const left = expect(ask(gateway, request, leaver.signal)).rejects.toThrow('gone');
    await settle();
    leaver.abort(new GatewayError('cancelled', 'gone'));
    await left;
    gate.resolve();
    await settle();
    expect(vi.getTimerCount()).toBe(0);
    expect(query.runs).toBe(0);
  });

  test('have a whole request’s budget for the store each time they wake', async () => {
    let waitedMs = 0;
    const store: Store = {
      ...shared,
      claim(...args) {
        waitedMs += 20;
        return shared.claim(...args);
      },
    };
    const { request, query } = countingRequest('a');
    await claimForDead(request.key.digest, 60_000);
    const notifier = createNotifier();
    shared.subscribe(notifier.notify);
    const emit = () => undefined;
    const guarded = guardStore(store, { emit, waitedMs: () => waitedMs });
    const loading = loadWithLease(
      { store: guarded, notifier, clock, emit, maxEntryBytes: 1e6 },
      {
        ...request,
        known: undefined,
        reason: 'miss',
        generation: () => '',
        budget: { remainingMs: 50 },
        signal: new AbortController().signal,
        load: { run: async () => rowsOf(++query.runs) },
      },
    );
    await pass(5500);
    expect(query.runs).toBe(0);
    await shared.release(request.key.digest, 'dead', '');
    expect(String((await loading).entry.body)).toBe('{"result":[{"n":1}]}');
  });
});

test('a refresh that another gateway has done unnoticed runs no query and is no failure', async () => {
  const silent: Store['subscribe'] = listener => listener({ type: 'connected' });
  const random = () => 0.999_999;
  const disconnected = openCache({ clock, store: { ...shared, subscribe: silent }, random });
  const other = openCache({ clock, store: shared });
  const { request, query } = countingRequest('a');
  const load = {
    run: (signal: AbortSignal) => request.load.run(signal).finally(() => clock.advance(1000)),
  };
  const slow = { ...request, load, refreshLoad: load };
  await ask(disconnected, slow);
  await other.cache.read(slow, { signal: new AbortController().signal, mustLoad: true });
  clock.advance(890_000);
  disconnected.trace();
  expect(await ask(disconnected, slow)).toBe('hit {"result":[{"n":1}]}');
  await settle();
  expect([query.runs, disconnected.trace()]).toEqual([2, []]);
});
