import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';

/** Keys whose query has just failed; it is not retried in the background until their back-off is over. */
export type Backoff = {
  isActive(digest: string): boolean;
  /**
   * Records a failure.
   * @returns milliseconds of back-off: doubled with each failure in a row, drawn from the upper half of that
   */
  failed(digest: string): number;
  succeeded(digest: string): void;
};

const firstMs = 1000;
const longestMs = 60_000;

/** Makes an empty back-off. */
export function createBackoff(clock: Clock, random: () => number): Backoff {
  const failing = new LRUCache<string, { failures: number; untilMs: number }>({ max: 10_000 });
  return {
    isActive(digest) {
      const leftMs = (failing.get(digest)?.untilMs ?? 0) - clock.now();
      // More than the longest back-off can only remain if the clock was set back.
      return leftMs > 0 && leftMs <= longestMs;
    },
    failed(digest) {
      const failures = (failing.get(digest)?.failures ?? 0) + 1;
      const ms = Math.min(longestMs, firstMs * 2 ** (failures - 1));
      const backoffMs = Math.round(ms * (0.5 + random() / 2));
      failing.set(digest, { failures, untilMs: clock.now() + backoffMs });
      return backoffMs;
    },
    succeeded: digest => void failing.delete(digest),
  };
}
