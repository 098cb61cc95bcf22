import { expect, test } from 'vitest';
import type { Entry } from '../../src/cache/entry.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { ask, countingRequest, lifetimes, openCache, settle } from './open-cache.ts';

const { signal } = new AbortController();

/** Two gateways over one store, whose reads are counted; the entry is made by the second. */
async function openPair(memoryBytes: number) {
  const clock = createStandingClock();
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  let reads = 0;
  const counted: Store = {
    ...store,
    read(...asked) {
      reads++;
      return store.read(...asked);
    },
  };
  const [one, two] = [openCache({ clock, store: counted, memoryBytes }), openCache({ clock, store })];
  const { request } = countingRequest('a');
  await ask(two, request);
  const { entry } = await one.cache.read(request, { signal });
  const readsOf = async (run: () => Promise<unknown>) => {
    const before = reads;
    return [await run(), reads - before];
  };
  const confirm = (known: Entry = entry) => one.cache.confirm(request, known);
  return { clock, one, two, request, entry, confirm, readsOf };
}

test('an entry of earlier is confirmed as long as the store has it and it is fresh, whoever else asks in the same turn', async () => {
  const { clock, confirm, readsOf } = await openPair(0);
  expect(await readsOf(() => Promise.all([confirm(), confirm(), confirm()]))).toEqual([
    [true, true, true],
    1,
  ]);
  clock.advance(lifetimes.freshMs - 1);
  expect(await readsOf(confirm)).toEqual([true, 1]);
  clock.advance(1);
  expect(await readsOf(confirm)).toEqual([false, 0]);
});

test.each([1e6, 0])(
  'another one is not; with %i bytes of memory it is read once, or again',
  async memoryBytes => {
    const { two, one, request, confirm, readsOf } = await openPair(memoryBytes);
    await two.cache.read(request, { signal, mustLoad: true });
    await settle();
    const readAgain = async () => [await confirm(), await ask(one, request)];
    expect(await readsOf(readAgain)).toEqual([[false, 'hit {"result":[{"n":2}]}'], memoryBytes > 0 ? 1 : 2]);
  },
);

test('nothing is confirmed that was invalidated, here or elsewhere, alone or with its endpoint', async () => {
  for (const by of ['one', 'two'] as const) {
    const alone = await openPair(0);
    await alone[by].cache.invalidateEntry('counting', alone.request.key);
    expect(await alone.confirm()).toBe(false);
    const all = await openPair(0);
    await all[by].cache.invalidateGroup('counting', 'group');
    expect(await all.confirm()).toBe(false);
  }
});
