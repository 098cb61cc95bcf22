import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';

/** Keys whose query failed a moment ago, and are left alone for a while. */
export type Backoff = {
  isActive(digest: string): boolean;
  /**
   * Notes a failure.
   * @returns milliseconds the key rests: twice as long with each failure in a row, at random from the upper half
   */
  failed(digest: string): number;
  succeeded(digest: string): void;
};

const firstMs = 1000;
const longestMs = 60_000;

/** Makes an empty list. */
export function createBackoff(clock: Clock, random: () => number): Backoff {
  const failing = new LRUCache<string, { failures: number; untilMs: number }>({ max: 10_000 });
  return {
    isActive: digest => clock.now() < (failing.get(digest)?.untilMs ?? 0),
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
