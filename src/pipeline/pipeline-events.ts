import type { ErrorCode } from '../errors.ts';

/** How the cache took part in an answer: `off` where the endpoint is not cached. */
export type CacheState = 'hit' | 'miss' | 'off';

/** What happens on a request's way through the pipeline. */
export type PipelineEvent =
  | {
      readonly type: 'endpoint.answered';
      readonly requestId: string;
      readonly endpoint: string;
      readonly tokenId: string;
      readonly cache: CacheState;
      readonly rows: number;
      readonly ms: number;
    }
  | {
      readonly type: 'endpoint.failed';
      readonly requestId: string;
      readonly endpoint: string;
      readonly code: ErrorCode;
      readonly ms: number;
      /** What was thrown, where it was a bug; for the log, never for the caller. */
      readonly cause?: unknown;
    }
  /** The cache's store did not answer; the request went on without it. */
  | { readonly type: 'store.failed'; readonly operation: 'get' | 'set'; readonly message: string };
