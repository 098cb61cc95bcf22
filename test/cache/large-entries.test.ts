import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { ask, countingRequest, openCache, settle } from './open-cache.ts';

const clock = createStandingClock();

test('an answer over the limit is sent, but not stored', async () => {
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const gateway = openCache({ clock, store, maxEntryBytes: 18 });
  const { request, query } = countingRequest('a');
  for (const n of [1, 2]) expect(await ask(gateway, request)).toBe(`miss {"result":[{"n":${n}}]}`);
  expect((await store.read([request.key.digest], [])).values).toEqual([undefined]);
  expect(gateway.events.filter(({ type }) => type === 'cache.too_large')).toEqual(
    Array(2).fill({ type: 'cache.too_large', endpoint: 'counting', bytes: 20 }),
  );
  expect(query.runs).toBe(2);
});

test('gateways that waited for it then do not wait for one another', async () => {
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const gateways = Array.from({ length: 4 }, () => openCache({ clock, store, maxEntryBytes: 18 }));
  const { request, query } = countingRequest('a');
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  query.gate = first.promise;
  const asked = gateways.map(gateway => ask(gateway, request));
  await settle();
  expect(query.runs).toBe(1);
  query.gate = second.promise;
  first.resolve();
  await settle();
  expect(query.runs).toBe(4);
  second.resolve();
  expect(await Promise.all(asked)).toEqual(Array(4).fill(expect.stringMatching(/^miss/)));
});
