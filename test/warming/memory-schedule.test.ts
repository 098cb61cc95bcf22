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
