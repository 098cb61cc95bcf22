import { expect, test } from 'vitest';
import { createBackoff } from '../../src/cache/loader.ts';
import { createStandingClock } from '../support/standing-clock.ts';

test('a clock that is set back prolongs no back-off', () => {
  const clock = createStandingClock();
  const backoff = createBackoff(clock, () => 0.999);
  for (let failures = 0; failures < 10; failures++) backoff.failed('a');
  clock.advance(59_000);
  expect(backoff.isActive('a')).toBe(true);
  clock.advance(-3_600_000);
  expect(backoff.isActive('a')).toBe(false);
});
