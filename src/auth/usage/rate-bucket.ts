/** A limit of requests over time. */
export type Rate = {
  /** Milliseconds per allowed request. */
  readonly intervalMs: number;
  /** Maximum number of requests at once after a pause. */
  readonly burst: number;
};

/**
 * A token bucket, kept as the time at which it is full again: the "theoretical arrival time" of the Generic Cell Rate
 * Algorithm (ITU-T I.371). All times are milliseconds of one clock.
 */
export type RateBucket = {
  /** Milliseconds until `count` requests are allowed; 0 if they are allowed now. */
  waitMs(nowMs: number, count: number): number;
  take(nowMs: number, count: number): void;
  /** Requests taken since the last call. */
  drain(): number;
  /**
   * Adopts the use by all gateways.
   * @param debtMs milliseconds after `nowMs` at which their common bucket is full again, including everything drained here
   */
  reconcile(nowMs: number, debtMs: number): void;
};

/** Makes a full bucket. */
export function createRateBucket({ intervalMs, burst }: Rate): RateBucket {
  let fullAtMs = 0;
  let taken = 0;
  let lastMs = 0;

  /** Sets the bucket back with the clock: otherwise it would stay empty until the clock has caught up. */
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
