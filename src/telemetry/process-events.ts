/** What happens to a process as a whole. */
export type ProcessEvent =
  /** It ends because of a signal. */
  | { readonly type: 'process.stopping'; readonly signal: string }
  /** It did not end in time, and is cut off. */
  | { readonly type: 'process.stop_cut_off'; readonly afterMs: number }
  /** Its event loop was held: every request waited for so long. */
  | { readonly type: 'process.stalled'; readonly ms: number }
  /** An error that nobody caught ends it. */
  | { readonly type: 'process.failed'; readonly cause: unknown };
