import type { EngineEvent } from '../duckdb/engine-events.ts';

/** What happens to rows that are loaded. */
export type LoadingEvent =
  /** Rows are on disk; queries see them in a moment. */
  | {
      readonly type: 'rows.accepted';
      readonly source: string;
      readonly rows: number;
      readonly rejected: number;
    }
  /** Values of events that fit no field of their source; the rows have the events' texts. */
  | { readonly type: 'events.unfit'; readonly source: string; readonly values: number }
  /** Rows that were accepted can't be stored; their file is kept in the folder `failed`. */
  | { readonly type: 'rows.failed'; readonly file: string; readonly message: string }
  /** Rows that come can't be put on disk, and are refused. */
  | { readonly type: 'rows.unwritable'; readonly message: string }
  /** Storing accepted rows does not succeed now, and is tried again. */
  | { readonly type: 'rows.delayed'; readonly message: string }
  /** Retention or sorting does not succeed for a source; it is tried again later, and its rows are stored and answered meanwhile. */
  | {
      readonly type: 'upkeep.failed';
      readonly source: string;
      readonly task: 'retention' | 'sorting';
      readonly message: string;
    }
  /** As a start does, and as a query does, see there. */
  | Extract<EngineEvent, { type: 'database.damaged' | 'database.unreadable' }>
  /** The process that loads rows has ended; the next rows start a new one. */
  | { readonly type: 'loader.stopped'; readonly reason: string };
