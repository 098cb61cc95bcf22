import type { ResultSet } from '../base/rows.ts';
import type { Joined, JoinedCallers } from '../base/turns.ts';
import type { Lifetimes } from './freshness.ts';

/** What one cache entry answers. */
export type CacheKey = {
  /** All entries of a group can be invalidated together. */
  readonly group: string;
  /** SHA-256 of the entry's layout and the canonical text, hexadecimal. */
  readonly digest: string;
  /** The text itself: stored with the entry and compared on every read. */
  readonly canonical: string;
};

/** How to run a query, and what it may cost. */
export type Load = {
  /** Runs the query. Its signal aborts once no request waits for it; `joined` are the callers whose requests do. */
  readonly run: (signal: AbortSignal, joined?: JoinedCallers) => Promise<ResultSet>;
  /** Bytes that the query may be billed: a refusal for it is shared only with requests of the same or a lower limit. Default: no limit. */
  readonly maxBytesBilled?: number | undefined;
};

/** A request to the cache, and how to load the answer if the cache has none. */
export type CacheRequest = {
  /** Name of the endpoint, for events. */
  readonly endpoint: string;
  readonly key: CacheKey;
  /** The caller's SQL as it was sent: error positions refer to it, so only requests with the same text share them. */
  readonly callerSql?: string | undefined;
  readonly lifetimes: Lifetimes;
  /** Maximum milliseconds to wait for another gateway's query. */
  readonly waitMs: number;
  /** The name by which waiting calls take turns: the id of an access token. Default: all requests without one share their turns. */
  readonly caller?: string | undefined;
  /** All callers who wait for the same answer, including those who join later. Default: the caller alone. */
  readonly joined?: Joined | undefined;
  /**
   * Called before a long stored body of this many bytes is decompressed, possibly more than once: throws GatewayError `too_many_requests` if the
   * caller could not be answered with it. Default: every body is decompressed.
   */
  readonly claim?: ((bytes: number) => void) | undefined;
  /** Used while a caller waits. */
  readonly load: Load;
  /** Used in the background: after a stale answer, or ahead of the next request. */
  readonly refreshLoad: Load;
};
