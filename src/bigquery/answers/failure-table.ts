import type { ErrorCode } from '../../base/errors.ts';
import type { BigQueryFailure } from './bigquery-failure.ts';

/**
 * What to do about a failure: `retry` sends the same request again (BigQuery recognises the job id and runs the job once);
 * `newJob` starts another job, because this one has ended; `nothing` helps.
 */
export type Remedy = 'retry' | 'newJob' | 'nothing';

type FailureRow = {
  readonly remedy: Remedy;
  readonly code: ErrorCode;
  /** Whether every query of the same tables fails in the same way. Default: false. */
  readonly isSourceFailure?: boolean;
  /** Whether a caller's own SQL is at fault; `code` then applies to all other queries. Default: false. */
  readonly mayBeCallersSql?: boolean;
  /** For the caller. Default: BigQuery's own message, without names of tables. */
  readonly message?: string;
};

const away = 'The warehouse does not answer';
const busy = 'The warehouse runs too many queries';
const unknown = 'The warehouse does not accept the credentials of the gateway';
const failed = 'The warehouse failed the query';

/** Failures by reason. Source: BigQuery, "Error messages"; the last rows are reasons of ours. */
const rows: Readonly<Record<string, FailureRow>> = {
  backendError: { remedy: 'retry', code: 'unavailable', message: away },
  internalError: { remedy: 'retry', code: 'unavailable', message: away },
  badGateway: { remedy: 'retry', code: 'unavailable', message: away },
  rateLimitExceeded: { remedy: 'retry', code: 'overloaded', message: busy },
  userRateLimitExceeded: { remedy: 'retry', code: 'overloaded', message: busy },
  jobBackendError: { remedy: 'newJob', code: 'unavailable', message: away },
  jobInternalError: { remedy: 'newJob', code: 'unavailable', message: away },
  jobRateLimitExceeded: { remedy: 'newJob', code: 'overloaded', message: busy },
  tableUnavailable: {
    remedy: 'newJob',
    isSourceFailure: true,
    code: 'unavailable',
    message: 'A table of the warehouse is unavailable',
  },
  quotaExceeded: {
    remedy: 'nothing',
    isSourceFailure: true,
    code: 'engine_failed',
    message: 'The quota at the warehouse is used up',
  },
  invalidQuery: { remedy: 'nothing', code: 'invalid_query' },
  invalid: { remedy: 'nothing', code: 'engine_failed', mayBeCallersSql: true },
  authError: { remedy: 'nothing', isSourceFailure: true, code: 'engine_failed', message: unknown },
  accessDenied: {
    remedy: 'nothing',
    isSourceFailure: true,
    code: 'engine_failed',
    message: 'The warehouse does not let the gateway read',
  },
  notFound: {
    remedy: 'nothing',
    isSourceFailure: true,
    code: 'engine_failed',
    message: 'The warehouse lacks what the query reads',
  },
  bytesBilledLimitExceeded: {
    remedy: 'nothing',
    isSourceFailure: true,
    code: 'engine_failed',
    message: 'The query would be billed more bytes than it may',
  },
  resourcesExceeded: {
    remedy: 'nothing',
    code: 'engine_failed',
    message: 'The query needs more of the warehouse than it may use',
  },
  responseTooLarge: {
    remedy: 'nothing',
    code: 'result_too_large',
    message: 'The result is too large for the warehouse to return',
  },
  notImplemented: { remedy: 'nothing', code: 'engine_failed', message: failed },
  stopped: { remedy: 'nothing', code: 'engine_failed', message: 'The query was stopped at the warehouse' },
  timeout: {
    remedy: 'nothing',
    code: 'deadline_exceeded',
    message: 'The query did not finish in time at the warehouse',
  },
  noCredentials: { remedy: 'nothing', isSourceFailure: true, code: 'engine_failed', message: unknown },
  noAnswer: { remedy: 'retry', code: 'unavailable', message: away },
  brokenAnswer: {
    remedy: 'retry',
    code: 'unavailable',
    message: 'The warehouse does not answer as it should',
  },
  queryFailed: {
    remedy: 'nothing',
    code: 'invalid_query',
    message: 'The query failed at the warehouse',
  },
  queueFull: { remedy: 'retry', code: 'overloaded', message: busy },
  redirected: {
    remedy: 'nothing',
    isSourceFailure: true,
    code: 'engine_failed',
    message: 'The warehouse does not answer as it should',
  },
  jobMissed: { remedy: 'retry', code: 'unavailable', message: 'The warehouse lost the query' },
  jobLost: { remedy: 'newJob', code: 'unavailable', message: 'The warehouse lost the query' },
};

/**
 * The row of a failure. Without one its HTTP status decides: 408, 429 and 5xx are transient, all others permanent. Only a 400 may be about
 * the values of a query; others, such as 403 for billing, affect all queries.
 */
export function failureRow(failure: BigQueryFailure): FailureRow {
  const row = rows[reasonOf(failure)];
  if (row) return row;
  const { status } = failure;
  if (status === 429) return { remedy: 'retry', code: 'overloaded', message: busy };
  if (status === 408 || (status !== undefined && status >= 500)) {
    return { remedy: 'retry', code: 'unavailable', message: away };
  }
  const isSourceFailure = status !== undefined && status !== 400;
  return { remedy: 'nothing', code: 'engine_failed', isSourceFailure, message: failed };
}

/** BigQuery's reason, refined by the message if BigQuery uses one reason for two failures. */
function reasonOf({ reason, message }: BigQueryFailure): string {
  // Stopped by the `jobTimeoutMs` that we gave it.
  if (reason === 'stopped' && message.includes('timed out')) return 'timeout';
  // Most quotas stay exhausted for hours; the queue of jobs drains by itself.
  if (reason === 'quotaExceeded' && /jobs that can be queued/i.test(message)) return 'queueFull';
  return reason;
}
