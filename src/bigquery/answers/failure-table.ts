import type { ErrorCode } from '../../base/errors.ts';
import type { BigQueryFailure } from './bigquery-failure.ts';

/**
 * What helps against a failure: `again` sends the same request, which BigQuery knows by its job id and runs once; `anew` starts
 * another job, because this one is over; `nothing` helps.
 */
export type Remedy = 'again' | 'anew' | 'nothing';

type FailureRow = {
  readonly remedy: Remedy;
  readonly code: ErrorCode;
  /** Whether it is the same for every query of the same tables. Default: false. */
  readonly isOfSource?: boolean;
  /** Whether the caller is to blame who brought SQL; `code` is then for all others. Default: false. */
  readonly isOfCallersSql?: boolean;
  /** For the caller. Absent: BigQuery's own words, cleaned. */
  readonly message?: string;
};

const away = 'The warehouse does not answer';
const busy = 'The warehouse runs too many queries';
const unknown = 'The warehouse does not accept the credentials of the gateway';
const failed = 'The warehouse failed the query';

/** Failures by reason. Source: BigQuery, "Error messages"; the last rows are reasons of ours. */
const rows: Readonly<Record<string, FailureRow>> = {
  backendError: { remedy: 'again', code: 'unavailable', message: away },
  internalError: { remedy: 'again', code: 'unavailable', message: away },
  badGateway: { remedy: 'again', code: 'unavailable', message: away },
  rateLimitExceeded: { remedy: 'again', code: 'overloaded', message: busy },
  userRateLimitExceeded: { remedy: 'again', code: 'overloaded', message: busy },
  jobBackendError: { remedy: 'anew', code: 'unavailable', message: away },
  jobInternalError: { remedy: 'anew', code: 'unavailable', message: away },
  jobRateLimitExceeded: { remedy: 'anew', code: 'overloaded', message: busy },
  tableUnavailable: {
    remedy: 'anew',
    code: 'unavailable',
    message: 'A table of the warehouse is unavailable',
  },
  quotaExceeded: {
    remedy: 'nothing',
    isOfSource: true,
    code: 'engine_failed',
    message: 'The quota at the warehouse is used up',
  },
  invalidQuery: { remedy: 'nothing', code: 'invalid_query' },
  invalid: { remedy: 'nothing', code: 'engine_failed', isOfCallersSql: true },
  authError: { remedy: 'nothing', isOfSource: true, code: 'engine_failed', message: unknown },
  accessDenied: {
    remedy: 'nothing',
    isOfSource: true,
    code: 'engine_failed',
    message: 'The warehouse does not let the gateway read',
  },
  notFound: {
    remedy: 'nothing',
    isOfSource: true,
    code: 'engine_failed',
    message: 'The warehouse lacks what the query reads',
  },
  bytesBilledLimitExceeded: {
    remedy: 'nothing',
    isOfSource: true,
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
  noCredentials: { remedy: 'nothing', isOfSource: true, code: 'engine_failed', message: unknown },
  noAnswer: { remedy: 'again', code: 'unavailable', message: away },
  brokenAnswer: {
    remedy: 'again',
    code: 'unavailable',
    message: 'The warehouse does not answer as it should',
  },
  queryFailed: {
    remedy: 'nothing',
    code: 'invalid_query',
    message: 'The query failed at the warehouse',
  },
  queueFull: { remedy: 'again', code: 'overloaded', message: busy },
  redirected: {
    remedy: 'nothing',
    code: 'engine_failed',
    message: 'The warehouse does not answer as it should',
  },
  jobUnreadable: { remedy: 'anew', code: 'unavailable', message: away },
  jobLost: { remedy: 'anew', code: 'unavailable', message: 'The warehouse lost the query' },
};

/** The row of a failure; one without a row is judged by its HTTP status: 408, 429 and 5xx may pass, all else stays. */
export function failureRow(failure: BigQueryFailure): FailureRow {
  const row = rows[reasonOf(failure)];
  if (row) return row;
  const { status } = failure;
  if (status === 429) return { remedy: 'again', code: 'overloaded', message: busy };
  if (status === 408 || (status !== undefined && status >= 500)) {
    return { remedy: 'again', code: 'unavailable', message: away };
  }
  return { remedy: 'nothing', code: 'engine_failed', message: failed };
}

/** BigQuery's reason, told apart by the message where one word stands for two things. */
function reasonOf({ reason, message }: BigQueryFailure): string {
  // Stopped by the `jobTimeoutMs` that we gave it.
  if (reason === 'stopped' && message.includes('timed out')) return 'timeout';
  // Most quotas are used up for hours; the queue of jobs moves on by itself.
  if (reason === 'quotaExceeded' && /jobs that can be queued/i.test(message)) return 'queueFull';
  return reason;
}
