import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';
import { ask, countingRequest, never, openCache, settle, withLateReads } from './open-cache.ts';

let clock: StandingClock;
beforeEach(() => {
  clock = createStandingClock();
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

  test('of an endpoint invalidates all its entries, and no other endpoint’s', async () => {
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

  test('of an endpoint is not undone by an answer of the store that was on its way', async () => {
    const gate = Promise.withResolvers<void>();
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const late = withLateReads(store, gate.promise);
    const other = openCache({ clock, store });
    const { request } = countingRequest('a');
    await other.cache.invalidateGroup('counting', 'group');
    await ask(other, request);
    const asked = ask(openCache({ clock, store: late }), request);
    await settle();
    await other.cache.invalidateGroup('counting', 'group');
    await settle();
    gate.resolve();
    expect(await asked).toBe('miss {"result":[{"n":2}]}');
  });

  test('of an endpoint is repeated if the store was restored from an older copy', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    let restored: string | undefined;
    const restorable: Store = {
      ...store,
      async read(...args) {
        const { values, generations } = await store.read(...args);
        return { values, generations: generations.map(generation => restored ?? generation) };
      },
      async bumpGeneration(group) {
        restored = undefined;
        await store.bumpGeneration(group);
      },
    };
    const [one, two] = [openCache({ clock, store: restorable }), openCache({ clock, store: restorable })];
    const { request, query } = countingRequest('a');
    await one.cache.invalidateGroup('counting', 'group');
    await settle();
    for (const gateway of [one, two]) await ask(gateway, request);
    const [older] = (await store.read([], ['group'])).generations;
    await one.cache.invalidateGroup('counting', 'group');
    await settle();
    restored = older;
    expect(await ask(two, request)).toBe('miss {"result":[{"n":2}]}');
    expect(restored).toBeUndefined();
    expect(await ask(one, request)).toBe('hit {"result":[{"n":2}]}');
    expect(query.runs).toBe(2);
  });

  test('of one entry is repeated if the store was restored from an older copy', async () => {
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    const [one, two] = [openCache({ clock, store }), openCache({ clock, store })];
    const { request } = countingRequest('a');
    for (const gateway of [one, two]) await ask(gateway, request);
    const { digest } = request.key;
    const [value] = (await store.read([digest], [])).values;
    await one.cache.invalidateEntry('counting', request.key);
    await settle();
    const [knownVersion] = (await store.read([digest], [])).values;
    await store.claim(digest, { token: 'restored', leaseMs: 1000, knownVersion });
    await store.publish(digest, 'restored', value!, 1e6);
    expect(await ask(two, request)).toBe('miss {"result":[{"n":2}]}');
    expect(await ask(one, request)).toBe('hit {"result":[{"n":2}]}');
    expect(await ask(openCache({ clock, store }), request)).toBe('hit {"result":[{"n":2}]}');
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

  test('also reaches what is being read, if the store is gone then', async () => {
    const gate = Promise.withResolvers<void>();
    const store = createMemoryStore({ maxBytes: 1e6, clock });
    let isGone = false;
    const failing: Store = {
      ...store,
      async read(...args) {
        if (isGone) throw new StoreError('gone');
        const read = await store.read(...args);
        await gate.promise;
        return read;
      },
      claim: (...args) => (isGone ? Promise.reject(new StoreError('gone')) : store.claim(...args)),
    };
    const { request } = countingRequest('a');
    await ask(openCache({ clock, store }), request);
    const gateway = openCache({ clock, store: failing });
    const asked = ask(gateway, request);
    await settle();
    await gateway.cache.invalidateEntry('counting', request.key);
    gate.resolve();
    await asked;
    isGone = true;
    expect(await ask(gateway, request)).toBe('miss {"result":[{"n":2}]}');
  });

  test.each(['an entry', 'an endpoint'])('of %s does not keep it from being warmed', async what => {
    const gateway = openCache({ clock });
    const { request, query } = countingRequest('a');
    await ask(gateway, request);
    if (what === 'an entry') await gateway.cache.invalidateEntry('counting', request.key);
    else await gateway.cache.invalidateGroup('counting', 'group');
    await settle();
    expect(await gateway.cache.warm(request, 300_000, never)).toBe('refreshed');
    expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
    expect(query.runs).toBe(2);
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
    // Gateways that start now must not take for good what was made before.
    expect((await blank.read([], ['group'])).generations).not.toEqual(['']);
  });
});
