import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createRedisSchedule } from '../../src/warming/redis-schedule.ts';
import { defaultHalfLifeMs } from '../../src/warming/schedule.ts';
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

test('what nobody reads any more leaves nothing in Redis for good, though no worker looks after it', async () => {
  const schedule = await openSchedule({ maxKeys: 10 });
  const [key] = keysOf(1, 'g');
  await schedule.recordReads([key!]);
  await setTimeout(5);
  await schedule.claim('t', 1);
  await schedule.settle('g', 't', { dueInMs: 1, failures: 1, dropped: [], counts: { runs: 1 } });
  await schedule.recordReads([key!]);
  const names = (await redis.command('KEYS *')).match(/sqg:\S+/g) ?? [];
  expect(names).toHaveLength(7);
  const sevenDaysMs = 7 * 86_400_000;
  for (const name of names) {
    const [leftMs] = /-?\d+/.exec(await redis.command(`PTTL ${name}`)) ?? [];
    expect(Number(leftMs), name).toBeGreaterThan(sevenDaysMs);
  }
});

/** Keys that nobody reads again, each in a group of its own or all in one. */
const keysOf = (count: number, group?: string) =>
  Array.from({ length: count }, (_, n) => {
    const digest = `key-${group ?? 'alone'}-${n}`;
    const lifetimeMs = group === undefined ? 1 : 60_000;
    return { digest, group: group ?? digest, endpoint: 'e', payload: '{}', periodMs: 1, lifetimeMs };
  });

/** How many scripts something runs: each may look at some thousand keys, for it holds up all gateways. */
async function scriptsOf(act: () => Promise<unknown>): Promise<number> {
  await redis.command('CONFIG RESETSTAT');
  await act();
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.command('INFO commandstats'))?.[1]);
}

test('contract 11.1: thousands of groups that nobody reads any more are not dropped in one go', async () => {
  const schedule = await openSchedule({ maxKeys: 10_000 });
  await schedule.recordReads(keysOf(3000));
  await schedule.recordReads(keysOf(1, 'g'));
  await setTimeout(20);
  let claim: Awaited<ReturnType<typeof schedule.claim>>;
  const scripts = await scriptsOf(async () => {
    claim = await schedule.claim('t', 60_000);
  });
  expect(claim?.group).toBe('g');
  expect(scripts).toBeGreaterThanOrEqual(6);
  expect((await schedule.state()).keys).toBe(1);
});

test('contract 11.1: thousands of keys of a changed saved query are not dropped in one go', async () => {
  const schedule = await openSchedule({ maxKeys: 10_000 });
  const keys = keysOf(3000, 'g');
  await schedule.recordReads(keys);
  await setTimeout(20);
  await schedule.claim('t', 60_000);
  const dropped = keys.map(({ digest }) => digest);
  const result = { dueInMs: 1, failures: 0, dropped, counts: { runs: 1 } };
  const scripts = await scriptsOf(async () => {
    expect(await schedule.settle('g', 'another', result)).toBe(false);
    expect(await schedule.settle('g', 't', result)).toBe(true);
  });
  expect(scripts).toBeGreaterThanOrEqual(15);
  expect(await schedule.state()).toEqual({ keys: 0, groups: [], totals: { runs: 1 } });
});

test('contract 11.1: a smaller limit of keys is reached by and by', async () => {
  const [before, after] = [await openSchedule({ maxKeys: 10_000 }), await openSchedule({ maxKeys: 10 })];
  await before.recordReads(keysOf(2500, 'g'));
  const left: number[] = [];
  for (let time = 0; time < 3; time++) {
    await after.recordReads(keysOf(1, 'h'));
    left.push((await after.state()).keys);
  }
  expect(left).toEqual([1501, 501, 10]);
});

async function openSchedule(options: { maxKeys: number; halfLifeMs?: number }) {
  const schedule = createRedisSchedule({ ...options, url: redis.url });
  onTestFinished(() => schedule.close());
  // Rejects until it is connected.
  while (!(await schedule.state().then(Boolean, () => false))) await setTimeout(5);
  return schedule;
}

/** Moves all times that Redis keeps back: its clock is the server's own, which nothing but time moves. */
async function passTime(ms: number, halfLifeMs: number): Promise<void> {
  const script = `for name, by in pairs({due = ${ms}, expires = ${ms}, score = ${ms / halfLifeMs}}) do
    local key = 'sqg:2:{warm}:' .. name
    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do redis.call('ZADD', key, string.format('%.17g', all[at + 1] - by), all[at]) end
  end`;
  await redis.command(`EVAL "${script.replaceAll(/\s+/g, ' ')}" 0`);
}

scheduleContract(async options => ({
  schedule: await openSchedule(options),
  advance: ms => passTime(ms, options.halfLifeMs ?? defaultHalfLifeMs),
}));
