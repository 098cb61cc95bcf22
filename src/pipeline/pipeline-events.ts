import type { ErrorCode } from '../base/errors.ts';
import type { Receipt } from '../base/rows.ts';
import type { Stage } from '../base/spans.ts';
import type { EntryState } from '../cache/cache.ts';

/** Where an answer came from; `off` if the endpoint is not cached. */
export type CacheState = EntryState | 'off';

/** What happens to a request in the pipeline. */
export type PipelineEvent =
  | {
      readonly type: 'endpoint.answered';
      readonly requestId: string;
      readonly endpoint: string;
      readonly tokenId: string;
      readonly cache: CacheState;
      readonly rows: number;
      /** Whether a worker made the rows, rather than a request. */
      readonly isWarmed: boolean;
      /** For rows from the cache, the bytes that their query read when it ran; 0 if the engine does not count them. */
      readonly savedBytes: number;
      readonly stages: readonly Stage[];
      readonly ms: number;
    }
  /** A query ran for a request; its bytes count against the token's limits. */
  | { readonly type: 'token.spent'; readonly tokenId: string; readonly bytes: number }
  | {
      readonly type: 'endpoint.failed';
      readonly requestId: string;
      readonly endpoint: string;
      readonly code: ErrorCode;
      readonly ms: number;
      /** The error behind a bug; for the log, never for the caller. */
      readonly cause?: unknown;
    }
  /** A query was handed to the engine. */
  | { readonly type: 'engine.query_started'; readonly endpoint: string }
  /** A query ended. */
  | {
      readonly type: 'engine.query';
      readonly endpoint: string;
      readonly outcome: 'ok' | ErrorCode;
      readonly ms: number;
      /** Rows and bytes of the result; 0 if it failed. */
      readonly rows: number;
      readonly bytes: number;
      /** What it cost, if the engine knows. */
      readonly receipt?: Receipt;
    };
