import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
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

test('a Redis that has evicted a part of the schedule gives what is left, and learns again', async () => {
  const key = { digest: 'a', group: 'g', endpoint: 'e', payload: '{}', periodMs: 1, lifetimeMs: 60_000 };
  const schedule = await openSchedule({ maxKeys: 10 });
  for (const lost of ['due', 'claims', 'failures', 'expires', 'score', 'facts', 'members', 'totals']) {
    await schedule.recordReads([key]);
    await redis.command(`DEL sqg:2:{warm}:${lost}`);
    await setTimeout(5);
    const claim = await schedule.claim('t', 1);
    expect([undefined, 'g']).toContain(claim?.group);
    await schedule.state();
    await schedule.recordReads([key]);
    await setTimeout(5);
    expect((await schedule.claim('t', 1))?.keys, lost).toEqual([{ digest: 'a', payload: '{}' }]);
    await setTimeout(5);
  }
});

async function openSchedule(options: { maxKeys: number; halfLifeMs?: number }) {
  const schedule = createRedisSchedule({ ...options, url: redis.url });
  onTestFinished(() => schedule.close());
  // Rejects until it is connected.
  while (!(await schedule.state().then(Boolean, () => false))) await setTimeout(5);
  return schedule;
}

scheduleContract(async options => ({
  schedule: await openSchedule(options),
  // The clock is the server's own, which nothing but time moves.
  advance: ms => setTimeout(ms + 2),
}));
