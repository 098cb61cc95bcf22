import type { LoadingEvent } from './loading-events.ts';

type Clocks = {
  /** Milliseconds since 1970, as the system has them. */
  readonly wall: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly steady: () => number;
  readonly emit: (event: LoadingEvent) => void;
};

/** Milliseconds by which the system's clock may be set ahead at once. */
const maxLeapMs = 3_600_000;

/** Milliseconds after which a clock that was set further ahead is believed. */
const doubtMs = 86_400_000;

/**
 * Makes the clock of retention: a system's clock that is set ahead would remove rows that nothing brings back. Who sets it by mistake, or a
 * time server that is wrong, has a day to set it right.
 * @returns the time in milliseconds since 1970; to be called at least once an hour
 */
export function createRetentionClock({ wall, steady, emit }: Clocks): () => number {
  /** What the steady clock lacks to the believed time. */
  let believed = wall() - steady();
  let doubtedSinceMs: number | undefined;
  return () => {
    const [wallMs, steadyMs] = [wall(), steady()];
    const aheadMs = wallMs - steadyMs - believed;
    const isDoubtful = aheadMs > maxLeapMs && steadyMs - (doubtedSinceMs ?? steadyMs) < doubtMs;
    if (!isDoubtful) {
      believed += aheadMs;
      doubtedSinceMs = undefined;
      return wallMs;
    }
    if (doubtedSinceMs === undefined) emit({ type: 'clock.doubted', aheadMs });
    doubtedSinceMs ??= steadyMs;
    return steadyMs + believed;
  };
}
