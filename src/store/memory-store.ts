import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { type Claim, type ClaimOptions, markMs, type Store, type StoreNews, versionBytes } from './store.ts';

type MemoryStoreOptions = {
  /** Bytes of values that are kept; the least recently used ones go first. Leases and generations always stay. */
  readonly maxBytes: number;
  readonly clock: Clock;
};

type Lease = { readonly token: string; readonly untilMs: number };

/** Makes a store in this process's memory: for one gateway alone. It never rejects. */
export function createMemoryStore({ maxBytes, clock }: MemoryStoreOptions): Store {
  const values = new LRUCache<string, Buffer>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: value => value.length + 1,
    // One clock for values and requests; no resolution window, so that a frozen clock is exact.
    perf: clock,
    ttlResolution: 0,
  });
  // Whoever holds a lease ends it, also when it is over: none is forgotten here but in a process that ends.
  const leases = new Map<string, Lease>();
  const generations = new Map<string, string>();
  const listeners = new Set<(news: StoreNews) => void>();

  const tell = (news: StoreNews) => {
    // Later, as from Redis: a caller never hears of its own deed while it is doing it.
    for (const listener of listeners) queueMicrotask(() => listener(news));
  };
  const leaseOf = (key: string): Lease | undefined => {
    const lease = leases.get(key);
    return lease && clock.now() < lease.untilMs ? lease : undefined;
  };
  /** Ends the token's lease. False where it is over or another one's. */
  const endLease = (key: string, token: string): boolean => {
    const isValid = leaseOf(key)?.token === token;
    if (leases.get(key)?.token === token) leases.delete(key);
    return isValid;
  };
  const claim = (key: string, { token, leaseMs, knownVersion }: ClaimOptions): Claim => {
    const value = values.get(key);
    if (value && !knownVersion?.equals(value.subarray(0, versionBytes))) return { state: 'changed', value };
    const lease = leaseOf(key);
    if (lease) return { state: 'held', forMs: lease.untilMs - clock.now() };
    leases.set(key, { token, untilMs: clock.now() + leaseMs });
    return { state: 'granted' };
  };

  return {
    read: async (keys, groups) => ({
      values: keys.map(key => values.get(key)),
      generations: groups.map(group => generations.get(group) ?? ''),
    }),
    claim: async (key, options) => claim(key, options),
    async renew(key, token, leaseMs) {
      if (leaseOf(key)?.token !== token) return false;
      leases.set(key, { token, untilMs: clock.now() + leaseMs });
      return true;
    },
    async publish(key, token, value, ttlMs) {
      if (!endLease(key, token)) return false;
      values.set(key, value, { ttl: Math.max(1, Math.ceil(ttlMs)) });
      tell({ type: 'published', key });
      return true;
    },
    async release(key, token, note) {
      if (endLease(key, token)) tell({ type: 'released', key, note });
    },
    async remove(key) {
      leases.delete(key);
      values.set(key, randomBytes(versionBytes), { ttl: markMs });
      tell({ type: 'removed', key });
    },
    async renewGroup(group) {
      const generation = randomUUID();
      generations.set(group, generation);
      tell({ type: 'group', group, generation });
    },
    subscribe(listener) {
      listeners.add(listener);
      listener({ type: 'listening' });
    },
    ping: async () => undefined,
    async close() {
      values.clear();
      leases.clear();
      listeners.clear();
    },
  };
}
