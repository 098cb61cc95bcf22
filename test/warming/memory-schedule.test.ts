import { createMemorySchedule } from '../../src/warming/memory-schedule.ts';
import { scheduleContract } from './schedule-contract.ts';

scheduleContract(async options => {
  let nowMs = 1_000_000;
  return {
    schedule: createMemorySchedule({ ...options, clock: { now: () => nowMs } }),
    advance: async ms => {
      nowMs += ms;
    },
  };
});
