import { GatewayError } from '../base/errors.ts';
import type { RunOptions } from './engine.ts';

/** The deadline of one query, joined with its caller's signal. */
export type Limit = {
  /** Aborts with the error for the caller: it left, or the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds until the time is over; never below 0. */
  remainingMs(): number;
  /** Ends the timer, and lets go of the caller's signal; to be called when the query is answered. */
  clear(): void;
};

/**
 * Starts the time of a query: it ends after `timeoutMs`, or when nobody waits for the answer any more.
 * @param graceMs milliseconds by which the signal aborts later than that
 */
export function startLimit(
  { signal, timeoutMs }: Pick<RunOptions, 'signal' | 'timeoutMs'>,
  graceMs = 0,
): Limit {
  const endMs = performance.now() + timeoutMs;
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new GatewayError('deadline_exceeded', `The query did not finish within ${timeoutMs} ms`));
  }, timeoutMs + graceMs);
  // AbortSignal.any takes 7 µs, a tenth of a hit that comes from Redis; this takes one.
  const leave = () => limit.abort(signal.reason);
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return {
    signal: limit.signal,
    remainingMs: () => Math.max(0, endMs - performance.now()),
    clear() {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    },
  };
}
