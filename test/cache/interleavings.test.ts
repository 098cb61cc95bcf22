import fc, { type Scheduler } from 'fast-check';
import { expect, test } from 'vitest';
import type { CacheRequest } from '../../src/cache/cache-request.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store, StoreMessage } from '../../src/store/store.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { keyOf, lifetimes, openCache, rowsOf } from './open-cache.ts';

/** What clients do, each its own list in order, all at the same time. */
type Step =
  | { readonly do: 'ask' | 'invalidate' | 'invalidateAll'; readonly gateway: number; readonly key: number }
  | { readonly do: 'wait'; readonly seconds: number };

const gateways = 2;
const gateway = fc.nat(gateways - 1);
/** Mostly one, so that what clients do meets. */
const key = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.constant(1));
const ask: fc.Arbitrary<Step> = fc.record({ do: fc.constant('ask' as const), gateway, key });
const invalidate: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('invalidate' as const, 'invalidateAll' as const),
  gateway,
  key,
});
// Within the fresh time, stale, and past the stale time.
const wait: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('wait' as const),
  seconds: fc.constantFrom(1, 899, 930, 961),
});
const step = fc.oneof({ weight: 4, arbitrary: ask }, { weight: 2, arbitrary: invalidate }, wait);
const clients = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 5 });
/** How often a query lets something else happen before it ends: a long one sees whole invalidations. */
const queryTurns = fc.constantFrom(1, 5, 20);

/**
 * One gateway's way to a store, as Redis has it: commands arrive in the order in which they were sent, and so do their
 * answers; messages arrive in order too, on a separate connection. The scheduler decides when each of them moves on.
 */
function connect(scheduler: Scheduler, store: Store, received: (message: StoreMessage) => void): Store {
  const lines = {
    commands: [] as (() => Promise<void>)[],
    answers: [] as (() => void)[],
    messages: [] as (() => void)[],
  };
  const next = async (line: keyof typeof lines) => {
    await scheduler.schedule(Promise.resolve(), line);
    await lines[line].shift()!();
  };
  const call = <T>(run: () => Promise<T>): Promise<T> => {
    const { promise, resolve } = Promise.withResolvers<T>();
    lines.commands.push(async () => {
      const answer = await run();
      lines.answers.push(() => resolve(answer));
      void next('answers');
    });
    void next('commands');
    return promise;
  };
  return {
    read: (...args) => call(() => store.read(...args)),
    claim: (...args) => call(() => store.claim(...args)),
    extend: (...args) => call(() => store.extend(...args)),
    publish: (...args) => call(() => store.publish(...args)),
    release: (...args) => call(() => store.release(...args)),
    join: (...args) => call(() => store.join(...args)),
    remove: (...args) => call(() => store.remove(...args)),
    bumpGeneration: (...args) => call(() => store.bumpGeneration(...args)),
    ping: () => call(() => store.ping()),
    close: () => store.close(),
    subscribe(listener) {
      let isFirst = true;
      store.subscribe(message => {
        if (isFirst) listener(message);
        else {
          lines.messages.push(() => {
            listener(message);
            received(message);
          });
          void next('messages');
        }
        isFirst = false;
      });
    },
  };
}

/** An invalidation: when its caller asked for it, which gateways received its message, and whether it was acknowledged. */
type Invalidation = {
  readonly keys: readonly number[];
  readonly sinceQuery: number;
  readonly receivedBy: Set<number>;
  isAcknowledged: boolean;
};

async function run(scheduler: Scheduler, plan: readonly (readonly Step[])[], turns: number): Promise<void> {
  const clock = createStandingClock();
  const memory = createMemoryStore({ maxBytes: 1e6, clock });
  let leases = 0;
  const store: Store = {
    ...memory,
    async claim(...args) {
      const claim = await memory.claim(...args);
      if (claim.state === 'granted') leases++;
      return claim;
    },
  };
  const invalidations: Invalidation[] = [];
  /** The invalidations in the order in which the store did them, which is that of their messages. */
  const done: Invalidation[] = [];
  const caches = Array.from({ length: gateways }, (_, at) => {
    let received = 0;
    const receive = ({ type }: StoreMessage) => {
      if (type === 'removed' || type === 'group') done[received++]?.receivedBy.add(at);
    };
    const own = connect(scheduler, store, receive);
    return openCache({ clock, store: own, random: () => 0 });
  });
  let queries = 0;

  const requestOf = (key: number): CacheRequest => {
    const load = {
      run: async () => {
        const n = ++queries;
        for (let turn = 0; turn < turns; turn++) await scheduler.schedule(Promise.resolve(), 'query');
        return rowsOf(n);
      },
    };
    return { endpoint: 'model', key: keyOf(String(key)), lifetimes, waitMs: 30_000, load, refreshLoad: load };
  };

  async function askOne({ gateway, key }: { gateway: number; key: number }): Promise<void> {
    const startedMs = clock.now();
    const known = invalidations.filter(
      each => each.keys.includes(key) && each.isAcknowledged && each.receivedBy.has(gateway),
    );
    const oldest = Math.max(0, ...known.map(({ sinceQuery }) => sinceQuery));
    const { signal } = new AbortController();
    const { entry, state } = await caches[gateway]!.cache.read(requestOf(key), { signal });
    expect(JSON.parse(String(entry.body)).result[0].n).toBeGreaterThan(oldest);
    // A miss has the rows of a query that it waited for, however far the clock went meanwhile.
    if (state !== 'miss')
      expect(startedMs - entry.createdAtMs).toBeLessThan(lifetimes.freshMs + lifetimes.staleMs);
  }

  async function invalidateOne({ do: what, gateway, key }: Exclude<Step, { do: 'wait' }>): Promise<void> {
    const isAll = what === 'invalidateAll';
    const own: Invalidation = {
      keys: isAll ? [0, 1] : [key],
      sinceQuery: queries,
      receivedBy: new Set(),
      isAcknowledged: false,
    };
    const { cache } = caches[gateway]!;
    invalidations.push(own);
    await (isAll
      ? cache.invalidateGroup('model', 'group')
      : cache.invalidateEntry('model', keyOf(String(key))));
    own.isAcknowledged = true;
  }

  const wrap = (name: 'remove' | 'bumpGeneration', of: (it: Invalidation) => boolean) => {
    const act = store[name];
    store[name] = async (...args: [string]) => {
      const next = invalidations.find(each => !done.includes(each) && of(each));
      if (next) done.push(next);
      await act(...args);
    };
  };
  wrap('remove', ({ keys }) => keys.length === 1);
  wrap('bumpGeneration', ({ keys }) => keys.length > 1);

  const client = async (steps: readonly Step[]) => {
    for (const each of steps) {
      await scheduler.schedule(Promise.resolve(), each.do);
      if (each.do === 'wait') clock.advance(each.seconds * 1000);
      else if (each.do === 'ask') await askOne(each);
      else await invalidateOne(each);
    }
  };
  await scheduler.waitFor(Promise.all(plan.map(client)));
  // Refreshes that nobody waits for end, too.
  await scheduler.waitIdle();
  expect(queries).toBeLessThanOrEqual(leases);
  await scheduler.waitFor(Promise.all(caches.map(({ cache }) => cache.close())));
}

/** Takes a step, and lets what it caused reach the scheduler before the next one is chosen: reads are sent in a later turn of the event loop. */
async function inTurns(take: () => Promise<void>): Promise<void> {
  await take();
  await new Promise(setImmediate);
}

test('in any order of commands, answers, messages and queries: one query a lease, no answer older than allowed or from before an invalidation', async () => {
  await fc.assert(fc.asyncProperty(fc.scheduler({ act: inTurns }), clients, queryTurns, run), {
    numRuns: 1000,
  });
});
