import type { ResultSet } from '../rows.ts';
import type { CacheKey } from './cache-key.ts';
import type { Lifetimes } from './freshness.ts';

/** A question to the cache, and how to find the answer where the cache has none. */
export type CacheRequest = {
  /** Name of the endpoint, for events. */
  readonly endpoint: string;
  readonly key: CacheKey;
  readonly lifetimes: Lifetimes;
  /** Milliseconds that another gateway's query is waited for at most. */
  readonly waitMs: number;
  /** Runs the query. Its signal aborts when nobody waits any more. */
  readonly load: (signal: AbortSignal) => Promise<ResultSet>;
};
