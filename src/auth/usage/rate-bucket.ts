/** A limit of requests over time. */
export type Rate = {
  /** Milliseconds in which one more request is allowed. */
  readonly intervalMs: number;
  /** Requests that may come at once after a pause. */
  readonly burst: number;
};

/**
 * A token bucket, held as the time at which it is full again; in the literature the "theoretical arrival time" of the Generic Cell Rate
 * Algorithm (ITU-T I.371). All times are milliseconds of one clock.
 */
export type RateBucket = {
  /** Milliseconds until `count` requests would be allowed; 0: they are now. */
  waitMs(nowMs: number, count: number): number;
  take(nowMs: number, count: number): void;
  /** Requests taken since the last call. */
  drain(): number;
  /**
   * Takes over what all gateways have used.
   * @param debtMs milliseconds after `nowMs` at which their bucket is full again, with all that was drained in it
   */
  reconcile(nowMs: number, debtMs: number): void;
};

/** Makes a bucket that is full. */
export function createRateBucket({ intervalMs, burst }: Rate): RateBucket {
  let fullAtMs = 0;
  let taken = 0;
  let lastMs = 0;

  /** A clock that is set back takes the bucket with it: it would be empty until the clock is where it was. */
  function follow(nowMs: number): void {
    if (nowMs < lastMs) fullAtMs -= lastMs - nowMs;
    lastMs = nowMs;
  }

  return {
    waitMs(nowMs, count) {
      follow(nowMs);
      return Math.max(0, Math.max(fullAtMs, nowMs) + (count - burst) * intervalMs - nowMs);
    },
    take(nowMs, count) {
      follow(nowMs);
      fullAtMs = Math.max(fullAtMs, nowMs) + count * intervalMs;
      taken += count;
    },
    drain() {
      const drained = taken;
      taken = 0;
      return drained;
    },
    reconcile(nowMs, debtMs) {
      lastMs = nowMs;
      fullAtMs = nowMs + debtMs + taken * intervalMs;
    },
  };
}
