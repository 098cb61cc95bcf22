import { setTimeout as pause } from 'node:timers/promises';
import { expect, vi } from 'vitest';

/** Milliseconds. A condition that holds is seen at once; only one that never holds costs this much. */
const timeoutMs = 60_000;

/** Milliseconds between two looks: a condition that asks a gateway takes the processor from what it waits for. */
const [firstMs, longestMs, growth] = [5, 200, 1.4];

/** Looks again after pauses that grow. */
function paced<Given extends unknown[], T>(
  look: (...given: Given) => T | Promise<T>,
): (...given: Given) => Promise<T> {
  let nextMs = 0;
  return async (...given) => {
    if (nextMs > 0) await pause(nextMs);
    nextMs = Math.min(longestMs, Math.max(firstMs, nextMs * growth));
    return look(...given);
  };
}

const { waitFor } = vi;
const { poll } = expect;

/**
 * Gives every `vi.waitFor` and `expect.poll` the time that a busy machine may need: their own second is too short for a process to start, a
 * reconnect or a flush of the log, and no test means its time-out as a claim about speed. Where time is faked, `waitFor` moves it on instead of
 * pausing.
 */
vi.waitFor = (condition, options) => {
  const { timeout = 0, ...others } = typeof options === 'number' ? { timeout: options } : (options ?? {});
  const most = { ...others, timeout: Math.max(timeout, timeoutMs) };
  return vi.isFakeTimers() || others.interval !== undefined
    ? waitFor(condition, { interval: 20, ...most })
    : waitFor(paced(condition), { interval: 1, ...most });
};
expect.poll = (look, options) =>
  options?.interval === undefined ? poll(paced(look), { ...options, interval: 1 }) : poll(look, options);
