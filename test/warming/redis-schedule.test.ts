import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { createRedisSchedule } from '../../src/warming/redis-schedule.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { scheduleContract } from './schedule-contract.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  await redis.command('FLUSHALL');
});

scheduleContract(async options => {
  const schedule = createRedisSchedule({ ...options, url: redis.url });
  onTestFinished(() => schedule.close());
  // Rejects until it is connected.
  while (!(await schedule.state().then(Boolean, () => false))) await setTimeout(5);
  // The clock is the server's own, which nothing but time moves.
  return { schedule, advance: ms => setTimeout(ms + 2) };
});
