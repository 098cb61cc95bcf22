import { vi } from 'vitest';

/**
 * Waits until a check no longer throws. The wait is longer than any busy machine needs, and costs nothing where the check holds:
 * Vitest's own default, a second, does not.
 */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: 20_000, interval: 10 });
}
