import { createHash } from 'node:crypto';
import { type Cache, createCache } from '../../src/cache/cache.ts';
import type { CacheEvent } from '../../src/cache/cache-events.ts';
import type { CacheKey, CacheRequest } from '../../src/cache/cache-request.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { StandingClock } from '../support/standing-clock.ts';

export type OpenCache = {
  readonly cache: Cache;
  readonly events: CacheEvent[];
  /** The events' types since the last call. */
  readonly trace: () => string[];
};

type OpenOptions = {
  readonly clock: StandingClock;
  readonly store?: Store;
  readonly memoryBytes?: number;
  readonly random?: () => number;
  readonly maxEntryBytes?: number;
};

/** Opens a gateway's cache: over a store of its own, or over one that it shares. */
export function openCache({
  clock,
  store,
  memoryBytes = 1e6,
  random = () => 0.5,
  maxEntryBytes,
}: OpenOptions): OpenCache {
  const events: CacheEvent[] = [];
  const cache = createCache({
    store: store ?? createMemoryStore({ maxBytes: 1e6, clock }),
    clock,
    emit: event => events.push(event),
    memoryBytes,
    random,
    ...(maxEntryBytes !== undefined && { maxEntryBytes }),
  });
  return { cache, events, trace: () => events.splice(0).map(({ type }) => type) };
}

export const keyOf = (canonical: string, group = 'group'): CacheKey => ({
  group,
  digest: createHash('sha256').update(canonical).digest('hex'),
  canonical,
});

/** Fresh for 900 s, then stale for 60 s, and good for an hour where the query fails. */
export const lifetimes = { freshMs: 900_000, staleMs: 60_000, staleIfErrorMs: 3_600_000 };

/** Rows that hold one number. */
export const rowsOf = (n: number) => ({
  columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' } as const],
  rowsJson: Buffer.from(`[{"n":${n}}]`),
  rowCount: 1,
});

/** A request for `canonical` whose query gives 1, 2, 3 …, or waits and fails on demand. */
export function countingRequest(canonical: string, group = 'group') {
  const query = {
    runs: 0,
    /** What the next runs do instead of giving rows. */
    instead: undefined as ((signal: AbortSignal) => Promise<never>) | undefined,
    /** The next runs wait for it. */
    gate: Promise.resolve() as Promise<unknown>,
  };
  const run = async (signal: AbortSignal) => {
    const count = ++query.runs;
    await query.gate;
    if (query.instead) await query.instead(signal);
    return rowsOf(count);
  };
  const request: CacheRequest = {
    endpoint: 'counting',
    key: keyOf(canonical, group),
    lifetimes,
    waitMs: 30_000,
    load: { run },
    refreshLoad: { run },
  };
  return { request, query };
}

/** For those who stay. */
export const never = new AbortController().signal;

/** Asks once: the state and the rows' text. */
export async function ask({ cache }: Pick<OpenCache, 'cache'>, request: CacheRequest, signal = never) {
  const { state, entry } = await cache.read(request, { signal });
  return `${state} ${entry.body}`;
}

/** Lets everything run that waits for nothing but the event loop. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
}

/** A store whose reads have been made, but arrive only once a gate is open. */
export function withLateReads(store: Store, gate: Promise<void>): Store {
  return {
    ...store,
    async read(...args) {
      const read = await store.read(...args);
      await gate;
      return read;
    },
  };
}
