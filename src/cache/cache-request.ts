import type { ResultSet } from '../base/rows.ts';
import type { CacheKey } from './cache-key.ts';
import type { Lifetimes } from './freshness.ts';

/** A way to run a query, and what it may cost. */
export type Load = {
  /** Runs the query. Its signal aborts when nobody waits any more. */
  readonly run: (signal: AbortSignal) => Promise<ResultSet>;
  /** Bytes that the query may be billed: a refusal for it is for those alone who have no more. Default: no limit. */
  readonly maxBytesBilled?: number | undefined;
};

/** A question to the cache, and how to find the answer where the cache has none. */
export type CacheRequest = {
  /** Name of the endpoint, for events. */
  readonly endpoint: string;
  readonly key: CacheKey;
  readonly lifetimes: Lifetimes;
  /** Milliseconds that another gateway's query is waited for at most. */
  readonly waitMs: number;
  /** For a caller who waits. */
  readonly load: Load;
  /** For nobody in particular: behind an answer that was there, or ahead of the next. */
  readonly refreshLoad: Load;
};

/** Equal for callers who share one run in this process; those of other limits meet as gateways do, over the store. */
export function flightOf({ key, load }: Pick<CacheRequest, 'key' | 'load'>): string {
  return `${key.digest} ${load.maxBytesBilled ?? 'unlimited'}`;
}
