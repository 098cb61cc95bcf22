import { expect, test } from 'vitest';
import { createMemorySchedule } from '../../src/warming/memory-schedule.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { scheduleContract } from './schedule-contract.ts';

scheduleContract(async options => {
  const clock = createStandingClock(1_000_000);
  return {
    schedule: createMemorySchedule({ ...options, clock }),
    advance: async ms => clock.advance(ms),
  };
});

test('a clock that is set back makes nothing due later', async () => {
  const clock = createStandingClock(1_000_000_000);
  const schedule = createMemorySchedule({ clock, maxKeys: 10 });
  const key = { digest: 'a', group: 'g', endpoint: 'e', payload: '{}', periodMs: 1000, lifetimeMs: 9000 };
  await schedule.recordReads([key]);
  clock.advance(-3_600_000);
  await schedule.claim('t', 1000);
  clock.advance(999);
  expect(await schedule.claim('t', 1000)).toBeUndefined();
  clock.advance(1);
  expect((await schedule.claim('t', 1000))?.group).toBe('g');
});
