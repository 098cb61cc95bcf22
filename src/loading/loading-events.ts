import type { EngineEvent } from '../duckdb/engine-events.ts';

/** What happens to loaded rows. */
export type LoadingEvent =
  /** Rows are on disk; queries will see them shortly. */
  | {
      readonly type: 'rows.accepted';
      readonly source: string;
      readonly rows: number;
      readonly rejected: number;
    }
  /** Values of events that fit no field of their source; their rows also have the text of the event. */
  | { readonly type: 'events.unfit'; readonly source: string; readonly values: number }
  /** Accepted rows can't be stored; their file is kept in the folder `failed`. */
  | { readonly type: 'rows.failed'; readonly file: string; readonly message: string }
  /** Rows can't be put on disk, and are refused. */
  | { readonly type: 'rows.unwritable'; readonly message: string }
  /** Storing accepted rows failed, and is retried. */
  | { readonly type: 'rows.delayed'; readonly message: string }
  /** Retention or sorting failed for a source; it is retried later, and meanwhile its rows are still stored and queried. */
  | {
      readonly type: 'upkeep.failed';
      readonly source: string;
      readonly task: 'retention' | 'sorting';
      readonly message: string;
    }
  /** The system's clock was set ahead by more than an hour; retention believes it after a day. */
  | { readonly type: 'clock.doubted'; readonly aheadMs: number }
  /** A damaged file or block, as found by a start or a query. */
  | Extract<EngineEvent, { type: 'database.damaged' | 'database.unreadable' }>
  /** The process that loads rows has ended; the next rows start a new one. */
  | { readonly type: 'loader.stopped'; readonly reason: string };
