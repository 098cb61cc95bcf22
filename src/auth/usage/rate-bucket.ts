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
  return {
    waitMs: (nowMs, count) => Math.max(0, Math.max(fullAtMs, nowMs) + (count - burst) * intervalMs - nowMs),
    take(nowMs, count) {
      fullAtMs = Math.max(fullAtMs, nowMs) + count * intervalMs;
      taken += count;
    },
    drain() {
      const drained = taken;
      taken = 0;
      return drained;
    },
    reconcile(nowMs, debtMs) {
      fullAtMs = nowMs + debtMs + taken * intervalMs;
    },
  };
}
