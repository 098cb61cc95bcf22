import { vi } from 'vitest';

/** Milliseconds. A condition that holds is seen at once; only one that never holds costs this much. */
const timeoutMs = 60_000;

const { waitFor } = vi;

/**
 * Gives every `vi.waitFor` the time that a busy machine may need: its own second is too short for a process to start, a reconnect or a
 * flush of the log, and no test means its time-out as a claim about speed.
 */
vi.waitFor = (condition, options) => {
  const { timeout = 0, ...others } = typeof options === 'number' ? { timeout: options } : (options ?? {});
  return waitFor(condition, { interval: 20, ...others, timeout: Math.max(timeout, timeoutMs) });
};
