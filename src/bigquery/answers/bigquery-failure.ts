/** BigQuery refused a request, failed it, or did not answer. The message is for the log: it may contain SQL and table ids. */
export class BigQueryFailure extends Error {
  override readonly name = 'BigQueryFailure';
  /** The word of BigQuery's error table (`backendError`), or one of ours: the last rows of `failure-table.ts`. */
  readonly reason: string;
  /** HTTP status; absent if there was no answer. */
  readonly status: number | undefined;
  /** Seconds of `Retry-After`, if the server sent it. */
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
