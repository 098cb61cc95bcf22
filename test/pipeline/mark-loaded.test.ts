import { expect, test } from 'vitest';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { createLoadMarker } from '../../src/pipeline/mark-loaded.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ask, countingRequest, openCache, settle } from '../cache/open-cache.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';

const definition = parseDefinition(
  'things.sql',
  `/*
id: 00000000-0000-0000-0000-000000000001
name: things
description: Test.
columns: { n: { type: INT64, description: A number. } }
cacheSeconds: 900
*/
select 1 as n`,
);
const { request } = countingRequest('a', definition.id);

/** A gateway that starts over a store that others have filled. */
function start(clock: StandingClock, store: Store, loadedMs: number) {
  const gateway = openCache({ clock, store });
  const engine = {
    explain: async () => expect.fail('Nothing is loaded'),
    subsets: async () => expect.fail('Nothing is loaded'),
  };
  createLoadMarker({ endpoints: { all: () => [definition] }, engine, cache: gateway.cache, clock, loadedMs });
  return gateway;
}

test('after a restart, entries from before the last load are stale still, and newer ones fresh', async () => {
  const clock = createStandingClock();
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  await ask(openCache({ clock, store }), request);
  clock.advance(1000);
  const loadedMs = clock.now();
  clock.advance(1000);
  const gateway = start(clock, store, loadedMs);
  expect(await ask(gateway, request)).toBe('stale {"result":[{"n":1}]}');
  await settle();
  expect(await ask(gateway, request)).toBe('hit {"result":[{"n":2}]}');
  // The next process finds an entry from after the load.
  expect(await ask(start(clock, store, loadedMs), request)).toBe('hit {"result":[{"n":2}]}');
});

test('a load that is said to come makes nothing stale: the clock was set back', async () => {
  const clock = createStandingClock();
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const gateway = start(clock, store, clock.now() + 3_600_000);
  await ask(gateway, request);
  expect(await ask(gateway, request)).toMatch(/^hit/);
});
