import { setTimeout as sleep } from 'node:timers/promises';
import type { Limit } from '../../base/time-limit.ts';
import { BigQueryFailure } from '../answers/bigquery-failure.ts';
import { failureRow, type Remedy } from '../answers/failure-table.ts';

/** The retry policy that all queries of an engine share. */
export type RetryPolicy = {
  readonly budget: RetryBudget;
  /** In [0, 1). */
  random(): number;
  /** Maximum attempts of one query after the first. */
  readonly maxRetries: number;
  /** Shortest pause before the first retry, in milliseconds; doubled for each that follows, up to 32 s. */
  readonly baseMs: number;
  /** Called for every retry. */
  readonly onRetry: (failure: BigQueryFailure) => void;
};

/** The remaining retries of all queries: retries must not become the load that keeps a warehouse down. */
export type RetryBudget = {
  /** Called for each query: it earns a fraction of a retry. */
  earn(): void;
  /** @returns whether a retry was left */
  take(): boolean;
};

/** Maximum back-off, in milliseconds. Source: BigQuery, "Service Level Agreement": from 1 s, doubled up to 32 s. */
const maxBackoffMs = 32_000;

/** A pause is longer than its back-off by up to this fraction, so that queries that failed together do not retry together. */
const jitter = 0.25;

/** Makes a budget of `most` retries, refilled with one for every ten queries. Default 20. */
export function createRetryBudget(most = 20): RetryBudget {
  // Counted in tenths, as an integer: ten times 0.1 is less than 1.
  let tenths = most * 10;
  return {
    earn() {
      tenths = Math.min(most * 10, tenths + 1);
    },
    take() {
      if (tenths < 10) return false;
      tenths -= 10;
      return true;
    },
  };
}

/** The retries of one query. */
export type Retries = {
  /**
   * Waits until the query may be tried again: a back-off that doubles, or the time that the server asked for if that is longer.
   * @throws the failure if no retry is left, or none fits into the deadline; the limit's reason when it ends first
   */
  pause(failure: BigQueryFailure): Promise<void>;
  /** Sends a request until it is answered, or fails in a way that a repetition cannot fix. */
  sameRequest<Answer>(send: () => Promise<Answer>): Promise<Answer>;
  /** Like `sameRequest`, for requests that each start a new job: a failed job does not end the attempts. */
  newRequest<Answer>(send: () => Promise<Answer>): Promise<Answer>;
};

/**
 * Milliseconds to wait before a query is retried.
 * @param retries number of earlier retries of the same query
 */
export function pauseBefore(
  retries: number,
  { baseMs, random }: Pick<RetryPolicy, 'baseMs' | 'random'>,
  { retryAfterSeconds = 0 }: Pick<BigQueryFailure, 'retryAfterSeconds'>,
): number {
  const backoffMs = Math.min(maxBackoffMs, baseMs * 2 ** retries);
  return Math.max(backoffMs, retryAfterSeconds * 1000) * (1 + random() * jitter);
}

/** Starts the retries of one query, which end with its deadline. */
export function startRetries(policy: RetryPolicy, limit: Limit): Retries {
  let retries = 0;
  policy.budget.earn();

  async function pause(failure: BigQueryFailure): Promise<void> {
    const pauseMs = pauseBefore(retries, policy, failure);
    if (retries >= policy.maxRetries || pauseMs >= limit.remainingMs() || !policy.budget.take())
      throw failure;
    retries += 1;
    policy.onRetry(failure);
    await sleep(pauseMs, undefined, { signal: limit.signal }).catch(() => limit.signal.throwIfAborted());
  }

  const retryOn =
    (...helpful: readonly Remedy[]) =>
    async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
      for (;;) {
        try {
          return await send();
        } catch (error) {
          limit.signal.throwIfAborted();
          if (!(error instanceof BigQueryFailure) || !helpful.includes(failureRow(error).remedy)) throw error;
          await pause(error);
        }
      }
    };

  return { pause, sameRequest: retryOn('retry'), newRequest: retryOn('retry', 'newJob') };
}
