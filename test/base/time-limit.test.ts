import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { startLimit } from '../../src/base/time-limit.ts';

test("a deadline that is over lets go of its caller's signal", () => {
  const { signal } = new AbortController();
  const limit = startLimit({ signal, timeoutMs: 60_000 });
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  limit.clear();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a caller who has left has no time', () => {
  const reason = new Error('gone');
  const limit = startLimit({ signal: AbortSignal.abort(reason), timeoutMs: 60_000 });
  expect(limit.signal.reason).toBe(reason);
  limit.clear();
});
