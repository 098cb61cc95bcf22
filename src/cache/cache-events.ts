import type { ErrorCode } from '../base/errors.ts';

/**
 * Why the cache runs a query: there is no entry to serve (`miss`), a stale one is refreshed (`stale`), a fresh one is refreshed ahead
 * of its time (`early`), or the worker keeps the key warm (`warm`).
 */
export type LoadReason = 'miss' | 'stale' | 'early' | 'warm';

/** What the cache does besides answering. */
export type CacheEvent =
  | { readonly type: 'cache.loading'; readonly endpoint: string; readonly reason: LoadReason }
  /** The shared store has the new entry. */
  | { readonly type: 'cache.stored'; readonly endpoint: string; readonly bytes: number }
  /** The lease was lost, or the entry was invalidated meanwhile: this gateway's rows were not stored. */
  | { readonly type: 'cache.refused'; readonly endpoint: string }
  /** The rows are too large to be stored, here and in the shared store. */
  | { readonly type: 'cache.too_large'; readonly endpoint: string; readonly bytes: number }
  /** This gateway waits for another gateway's query. */
  | { readonly type: 'cache.waiting'; readonly endpoint: string }
  /** The query failed; an older entry stays, and no refresh is tried for `backoffMs`. */
  | {
      readonly type: 'cache.load_failed';
      readonly endpoint: string;
      readonly code: ErrorCode;
      readonly backoffMs: number;
    }
  | { readonly type: 'cache.invalidated'; readonly endpoint: string; readonly scope: 'endpoint' | 'entry' }
  /** One call to the store failed; the request went on without it. */
  | { readonly type: 'store.failed'; readonly operation: string; readonly message: string }
  /** The store does not answer; from now on no request waits for it. */
  | { readonly type: 'store.down'; readonly message: string }
  /** The store answers, and refuses to write: it is full, or a replica. */
  | { readonly type: 'store.refusing'; readonly message: string }
  /** The store is in use again. */
  | { readonly type: 'store.up' };
