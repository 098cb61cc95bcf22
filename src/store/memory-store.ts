import { randomBytes, randomUUID } from 'node:crypto';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { ownMemory } from '../base/bytes.ts';
import type { Clock } from '../base/clock.ts';
import {
  type Claim,
  type ClaimOptions,
  type Store,
  type StoreMessage,
  tombstoneMs,
  versionBytes,
} from './store.ts';

type MemoryStoreOptions = {
  /** Total bytes of values; the least recently used ones are dropped first. Leases and generations always stay. */
  readonly maxBytes: number;
  readonly clock: Clock;
};

/** A stored value: its version, which is read without the rest, and the rest. */
type Packed = { readonly version: string; readonly rest: Buffer; readonly isCompressed: boolean };

type Lease = { readonly token: string; readonly untilMs: number };

/**
 * Makes a store in this process's memory, for a single gateway. It never rejects. Values are kept compressed: the tier in
 * front of it holds the values in use uncompressed.
 */
export function createMemoryStore({ maxBytes, clock }: MemoryStoreOptions): Store {
  const values = new LRUCache<string, Packed>({
    maxSize: Math.max(1, maxBytes),
    sizeCalculation: ({ rest }) => rest.length + overheadBytes,
    // One clock for values and requests; no resolution window, so that a frozen clock is exact.
    perf: clock,
    ttlResolution: 0,
  });
  // The holder always ends its lease, even an expired one, so none is left behind while the process runs.
  const leases = new Map<string, Lease>();
  const generations = new Map<string, string>();
  const listeners = new Set<(message: StoreMessage) => void>();

  const broadcast = (message: StoreMessage) => {
    // Deferred, as with Redis: no caller receives the message of its own call before that call returns.
    for (const listener of listeners) queueMicrotask(() => listener(message));
  };
  const leaseOf = (key: string): Lease | undefined => {
    const lease = leases.get(key);
    return lease && clock.now() < lease.untilMs ? lease : undefined;
  };
  /** Ends the token's lease. False if it has expired or belongs to another token. */
  const endLease = (key: string, token: string): boolean => {
    const isValid = leaseOf(key)?.token === token;
    if (leases.get(key)?.token === token) leases.delete(key);
    return isValid;
  };
  const claim = (key: string, { token, leaseMs, knownVersion }: ClaimOptions): Claim => {
    const value = values.get(key);
    if (value && value.version !== knownVersion?.toString('latin1')) {
      return { state: 'changed', value: unpack(value) };
    }
    const lease = leaseOf(key);
    if (lease) return { state: 'held', forMs: lease.untilMs - clock.now() };
    leases.set(key, { token, untilMs: clock.now() + leaseMs });
    return { state: 'granted' };
  };

  return {
    read: async (keys, groups) => ({
      values: keys.map(key => {
        const value = values.get(key);
        return value && unpack(value);
      }),
      generations: groups.map(group => generations.get(group) ?? ''),
    }),
    claim: async (key, options) => claim(key, options),
    async extend(key, token, leaseMs) {
      if (leaseOf(key)?.token !== token) return false;
      leases.set(key, { token, untilMs: clock.now() + leaseMs });
      return true;
    },
    async publish(key, token, value, ttlMs) {
      if (!endLease(key, token)) return false;
      values.set(key, pack(value), { ttl: Math.max(1, Math.ceil(ttlMs)) });
      broadcast({ type: 'published', key });
      return true;
    },
    async release(key, token, failurePayload) {
      if (endLease(key, token)) broadcast({ type: 'released', key, failurePayload });
    },
    join: async (key, caller) => broadcast({ type: 'joined', key, caller }),
    async remove(key) {
      leases.delete(key);
      values.set(key, pack(randomBytes(versionBytes)), { ttl: tombstoneMs });
      broadcast({ type: 'removed', key });
    },
    async bumpGeneration(group) {
      const generation = randomUUID();
      generations.set(group, generation);
      broadcast({ type: 'group', group, generation });
    },
    subscribe(listener) {
      listeners.add(listener);
      listener({ type: 'connected' });
    },
    ping: async () => undefined,
    async close() {
      values.clear();
      leases.clear();
      listeners.clear();
    },
  };
}

/** Bytes of a value besides its own: objects, its key, list links. */
const overheadBytes = 512;

/** Compressing shorter values costs more than it saves; longer ones than a caller's SQL and its rows are compressed already. */
const compressed = { minBytes: 1024, maxBytes: 96 * 1024 };

/** Level 1: higher levels take longer and save little more on JSON rows. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

function pack(value: Buffer): Packed {
  const version = value.toString('latin1', 0, versionBytes);
  const plain = value.subarray(versionBytes);
  if (value.length >= compressed.minBytes && value.length <= compressed.maxBytes) {
    // Given the length, it allocates no more than that.
    const rest = zstdCompressSync(plain, { ...compression, pledgedSrcSize: plain.length });
    if (rest.length < plain.length) return { version, rest: ownMemory(rest), isCompressed: true };
  }
  return { version, rest: ownMemory(plain), isCompressed: false };
}

function unpack({ version, rest, isCompressed }: Packed): Buffer {
  return Buffer.concat([Buffer.from(version, 'latin1'), isCompressed ? zstdDecompressSync(rest) : rest]);
}
