import { expect } from 'vitest';
import { pauseAfter } from '../../src/base/turns.ts';

/** Turns of the event loop that hold it one after another, for at least 40 ms each, and when each did. */
export function heavyTurns() {
  const turns: { startedMs: number; endedMs: number }[] = [];
  return {
    hold(): void {
      const startedMs = performance.now();
      while (performance.now() - startedMs < 40);
      turns.push({ startedMs, endedMs: performance.now() });
    },
    /** Compares the pauses with the time that each turn really took: on a machine that stands still that may be any time. */
    expectPauses(count: number): void {
      expect(turns).toHaveLength(count);
      turns.slice(1).forEach(({ startedMs }, n) => {
        const before = turns[n]!;
        // Timers count whole milliseconds and may fire early by a part of one.
        const leastMs = pauseAfter(before.endedMs - before.startedMs) - 2;
        expect(startedMs - before.endedMs).toBeGreaterThanOrEqual(leastMs);
      });
    },
  };
}
