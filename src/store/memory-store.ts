import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { Store } from './store.ts';

type MemoryStoreOptions = {
  /** Bytes of values that are kept; the least recently used ones go first. */
  readonly maxBytes: number;
  readonly clock: Clock;
};

/** Makes a store in this process's memory: for one gateway alone. */
export function createMemoryStore({ maxBytes, clock }: MemoryStoreOptions): Store {
  const entries = new LRUCache<string, Buffer>({
    maxSize: maxBytes,
    sizeCalculation: value => value.length + 1,
    // One clock for entries and requests; no resolution window, so that a frozen clock is exact.
    perf: clock,
    ttlResolution: 0,
  });
  return {
    get: async key => entries.get(key),
    set: async (key, value, ttlMs) => {
      entries.set(key, value, { ttl: ttlMs });
    },
    close: async () => entries.clear(),
  };
}
