import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { markMs, type Store, type StoreNews, versionBytes } from './store.ts';

type MemoryStoreOptions = {
  /** Bytes of values that are kept; the least recently used ones go first. */
  readonly maxBytes: number;
  readonly clock: Clock;
};

type Lease = { readonly token: string; readonly untilMs: number };

/** Makes a store in this process's memory: for one gateway alone. Leases and generations are never dropped to save room. */
export function createMemoryStore({ maxBytes, clock }: MemoryStoreOptions): Store {
  const leases = new Map<string, Lease>();
  const generations = new Map<string, string>();
  const listeners: ((news: StoreNews) => void)[] = [];
  const values =
    maxBytes > 0
      ? new LRUCache<string, Buffer>({
          maxSize: maxBytes,
          sizeCalculation: value => value.length + 1,
          // One clock for values and requests; no resolution window, so that a frozen clock is exact.
          perf: clock,
          ttlResolution: 0,
        })
      : undefined;

  const tell = (news: StoreNews) => {
    for (const listener of listeners) queueMicrotask(() => listener(news));
  };
  const holds = (key: string, token: string) => {
    const lease = leases.get(key);
    return lease?.token === token && clock.now() < lease.untilMs;
  };

  return {
    read: async (keys, groups) => ({
      values: keys.map(key => values?.get(key)),
      generations: groups.map(group => generations.get(group) ?? ''),
    }),
    async claim(key, { token, leaseMs, knownVersion }) {
      const value = values?.get(key);
      if (value && !knownVersion?.equals(value.subarray(0, versionBytes))) return { state: 'changed', value };
      const forMs = (leases.get(key)?.untilMs ?? 0) - clock.now();
      if (forMs > 0) return { state: 'held', forMs };
      leases.set(key, { token, untilMs: clock.now() + leaseMs });
      return { state: 'granted' };
    },
    async renew(key, token, leaseMs) {
      if (!holds(key, token)) return false;
      leases.set(key, { token, untilMs: clock.now() + leaseMs });
      return true;
    },
    async publish(key, token, value, ttlMs) {
      if (!holds(key, token)) return false;
      leases.delete(key);
      values?.set(key, value, { ttl: Math.max(1, Math.ceil(ttlMs)) });
      tell({ type: 'published', key });
      return true;
    },
    async release(key, token, note) {
      if (!holds(key, token)) return;
      leases.delete(key);
      tell({ type: 'released', key, note });
    },
    async remove(key) {
      leases.delete(key);
      values?.set(key, randomBytes(versionBytes), { ttl: markMs });
      tell({ type: 'removed', key });
    },
    async renewGroup(group) {
      const generation = randomUUID();
      generations.set(group, generation);
      tell({ type: 'group', group, generation });
    },
    subscribe(listener) {
      listeners.push(listener);
      listener({ type: 'listening' });
    },
    ping: async () => undefined,
    close: async () => values?.clear(),
  };
}
