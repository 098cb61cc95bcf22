import type { Clock } from '../../src/base/clock.ts';

export type StandingClock = Clock & {
  /** Moves the clock on by milliseconds. */
  advance(ms: number): void;
  /** Sets the clock on by milliseconds that did not pass. */
  set(ms: number): void;
};

/**
 * The clock of the tests: it stands still until a test advances it.
 * @param start ISO 8601, or milliseconds since 1970
 */
export function createStandingClock(start: string | number = '2026-01-15T12:00:00Z'): StandingClock {
  let passedMs = 0;
  let startMs = new Date(start).getTime();
  return {
    now: () => startMs + passedMs,
    steady: () => passedMs,
    advance(ms) {
      passedMs += ms;
    },
    set(ms) {
      startMs += ms;
    },
  };
}
