/** What happens to the embedded engine. */
export type EngineEvent =
  | { readonly type: 'engine.started'; readonly pid: number | undefined; readonly ms: number }
  /** The process ended; the next query starts a new one. */
  | { readonly type: 'engine.stopped'; readonly reason: string }
  /** The files of a source can't be read: the queries that read it fail. */
  | { readonly type: 'source.unreadable'; readonly source: string; readonly message: string }
  /** A file of the database is damaged; it was set aside, and the gateway continues with the other one. */
  | { readonly type: 'database.damaged'; readonly file: string; readonly keptAs: string }
  /** A query found a damaged block in the file that is read. */
  | { readonly type: 'database.unreadable'; readonly place: number }
  /** DuckDB refused a statement that our front-end printed: a bug. */
  | { readonly type: 'engine.bug'; readonly endpoint: string; readonly message: string };

/** The sample rows were not extended to the present. */
export type SampleEvent = { readonly type: 'sample.skipped'; readonly message: string };
