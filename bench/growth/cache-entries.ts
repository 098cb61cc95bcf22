import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { createCache } from '../../src/cache/cache.ts';
import type { CacheRequest } from '../../src/cache/cache-request.ts';
import { cacheKey } from '../../src/cache/entry.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createRedisStore } from '../../src/store/redis-store.ts';

/** How many entries to keep, and where; without a URL in this process, as a gateway without Redis does. */
export type EntriesSettings = { readonly size: number; readonly redisUrl?: string };

export type EntriesFigures = {
  /** Milliseconds of processor time for an entry that is made. */
  readonly makeMs: number;
  /** Milliseconds of processor time for an entry, drawn at random, that is read. */
  readonly readMs: number;
  /** Bytes of this process for each entry. */
  readonly bytes: number;
};

// For a million entries.
setFlagsFromString('--max-old-space-size=8192');

const atOnce = 64;
const reads = 50_000;
const group = '00000000-0000-4000-8000-000000000001';
const rowsJson = Buffer.from(
  JSON.stringify([{ timestamp: '2026-01-01T00:00:00', total_rest_requests: 1, total_storage_requests: 2 }]),
);
const clock = { now: () => Date.now() };
const { signal } = new AbortController();

/** In a process of its own: makes entries in the cache of a gateway, then reads some of them. */
process.once('message', async ({ size, redisUrl }: EntriesSettings) => {
  const bytes = size * 8192;
  const store = redisUrl
    ? createRedisStore({ url: redisUrl })
    : createMemoryStore({ maxBytes: (bytes * 3) / 4, clock });
  const memoryBytes = redisUrl ? 0 : bytes / 4;
  const cache = createCache({ store, memoryBytes, clock, emit: () => undefined });
  await cache.connect();
  process.send?.('ready');
  const read = async (n: number) => {
    const { state } = await cache.read(requestOf(n), { signal });
    return state;
  };
  const before = process.memoryUsage.rss();
  const makeMs = await timeEach(size, async n => {
    if ((await read(n)) !== 'miss') throw new Error(`Entry ${n} was there`);
  });
  // On a busy machine the store may have been late for some.
  await timeEach(size, async n => {
    while ((await read(n)) !== 'hit') await delay(50);
  });
  const grown = process.memoryUsage.rss() - before;
  const readMs = await timeEach(reads, async n => {
    if ((await read((n * 7919) % size)) !== 'hit') throw new Error(`Entry ${n} is gone`);
  });
  const figures: EntriesFigures = { makeMs, readMs, bytes: grown / size };
  process.send?.(figures, () => process.exit());
});

/** @returns milliseconds of this process's processor time for each of so many tasks */
async function timeEach(count: number, task: (n: number) => Promise<void>): Promise<number> {
  const start = process.cpuUsage();
  let next = 0;
  const work = async () => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000 / count;
}

function requestOf(n: number): CacheRequest {
  const columns = [{ name: 'timestamp', type: 'DATETIME', mode: 'NULLABLE' }] as const;
  const run = async () => ({ columns, rowsJson, rowCount: 1 });
  const load = { run };
  return {
    endpoint: 'growth',
    key: cacheKey(group, JSON.stringify(['growth', [['project', `p${n}`]], null])),
    lifetimes: { freshMs: 3_600_000, staleMs: 0, staleIfErrorMs: 0 },
    waitMs: 10_000,
    load,
    refreshLoad: load,
  };
}
