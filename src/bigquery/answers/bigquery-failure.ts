/** BigQuery refused or failed something, or did not answer. Its message is for the log: it may hold SQL and table ids. */
export class BigQueryFailure extends Error {
  override readonly name = 'BigQueryFailure';
  /** The word of BigQuery's error table (`backendError`), or one of ours: the last rows of `failure-table.ts`. */
  readonly reason: string;
  /** HTTP status; absent where there was no answer. */
  readonly status: number | undefined;
  /** Seconds that the server asks to be left alone, where it says so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    reason: string,
    message: string,
    options: { status?: number; retryAfterSeconds?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
