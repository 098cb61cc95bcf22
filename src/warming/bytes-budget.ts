import type { Clock } from '../base/clock.ts';

/** A limit of the bytes that may be read within any hour. */
export type BytesBudget = { readonly isUsedUp: boolean; spend(bytes: number): void };

const hourMs = 3_600_000;

/** Makes a budget. @param perHour 0 = no limit */
export function createBytesBudget(perHour: number, clock: Clock): BytesBudget {
  let spent: { readonly atMs: number; readonly bytes: number }[] = [];
  return {
    get isUsedUp() {
      // Distance in both directions: if the clock was set back, earlier reads would otherwise count until it has caught up.
      spent = spent.filter(({ atMs }) => Math.abs(clock.now() - atMs) < hourMs);
      return perHour > 0 && spent.reduce((sum, { bytes }) => sum + bytes, 0) >= perHour;
    },
    spend(bytes) {
      if (bytes > 0) spent.push({ atMs: clock.now(), bytes });
    },
  };
}
