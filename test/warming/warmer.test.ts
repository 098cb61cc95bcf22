import { LRUCache } from 'lru-cache';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { orAborted } from '../../src/base/time-limit.ts';
import type { RunStatement } from '../../src/batch/run-queries.ts';
import { statementOf } from '../../src/batch/run-queries.ts';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { planWarming } from '../../src/pipeline/plan-request.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createHotKeys } from '../../src/warming/hot-keys.ts';
import { createMemorySchedule } from '../../src/warming/memory-schedule.ts';
import type { WarmEvent } from '../../src/warming/warm-events.ts';
import { createBytesBudget, warmGroup } from '../../src/warming/warm-group.ts';
import { createWarmer } from '../../src/warming/warmer.ts';
import { openCache } from '../cache/open-cache.ts';
import { longestTurn } from '../support/longest-turn.ts';
import { createStandingClock } from '../support/standing-clock.ts';

const header = (warmSeconds: number) => `/*
id: 00000000-0000-0000-0000-000000000001
name: things
description: Test.
parameters:
  thing: { type: string, required: true, description: A thing. }
  kind: { type: string, description: A kind. }
columns:
  n: { type: INT64, description: A number. }
cacheSeconds: 900
warmSeconds: ${warmSeconds}
batch: { parameter: thing, key: thing }
*/
select 1 as n`;
const batchSql = 'select thing, 1 as n from unnest(@things) as thing';

/** A gateway's cache and a worker over it, an engine that fails for given values, and a standing clock. */
function openWarming({ bytesPerHour = 0, concurrency = 1, random = (): number => 0 } = {}) {
  const clock = createStandingClock();
  const room = 100e6;
  const store = createMemoryStore({ maxBytes: room, clock });
  const { cache } = openCache({ clock, store, memoryBytes: room });
  onTestFinished(() => cache.close());
  const events: WarmEvent[] = [];
  const emit = (event: WarmEvent) => events.push(event);
  const schedule = createMemorySchedule({ clock, maxKeys: 10_000 });
  const hotKeys = createHotKeys({ schedule, emit });
  onTestFinished(() => hotKeys.close());
  const budget = createBytesBudget(bytesPerHour, clock);
  const failed = new LRUCache<string, true>({ max: 100 });
  const runs: string[][] = [];
  const atOnce = { now: 0, most: 0 };
  const bad = new Set<string>();
  const maxValues = new LRUCache<string, number>({ max: 10 });
  /** More values than this are too large a result. */
  const fits = { values: Infinity };
  /** What the next runs wait for. */
  const hold: { until?: Promise<void> | undefined } = {};
  let definition = parseDefinition('things.sql', header(300), batchSql);

  const runStatement: RunStatement = async ({ parameters }, { signal }) => {
    const { value } = parameters.find(({ name }) => name.startsWith('thing'))!;
    const things = typeof value === 'string' ? [value] : [...(value ?? [])];
    runs.push(things);
    atOnce.most = Math.max(atOnce.most, ++atOnce.now);
    await new Promise(setImmediate); // as a query does, it lets others go on
    if (hold.until) await orAborted(hold.until, signal);
    atOnce.now--;
    if (things.length > fits.values) throw new GatewayError('result_too_large', 'The result is too large');
    if (things.some(thing => bad.has(thing))) throw new GatewayError('engine_failed', 'The query failed');
    const rows = things.map(thing => (typeof value === 'string' ? { n: 1 } : { thing, n: 1 }));
    const columns = Object.keys(rows[0]!).map(name => ({ name, type: 'STRING', mode: 'NULLABLE' }) as const);
    const receipt = { bytesProcessed: 1000 };
    return { columns, rowsJson: Buffer.from(JSON.stringify(rows)), rowCount: rows.length, receipt };
  };
  const endpoints = { find: () => definition };
  const planKey = (payload: string) => planWarming({ endpoints, queryTimeoutMs: 1000 }, payload);
  const plan = (thing: string, kind = '') =>
    planKey(JSON.stringify({ endpoint: 'things', parameters: { thing, kind } }))!;
  const warmer = createWarmer({
    schedule,
    clock,
    emit,
    random,
    concurrency,
    warmGroup: (claim, signal) =>
      warmGroup({ schedule, cache, budget, failed, maxValues, runStatement, planKey }, claim, signal),
  });

  /** A caller's read: the state it met. */
  async function read(thing: string, kind?: string): Promise<string> {
    const { query, cacheRequest } = plan(thing, kind);
    const request = cacheRequest((each, options) => runStatement(statementOf(each), options));
    const { state } = await cache.read(request, { signal: new AbortController().signal });
    hotKeys.recordRead(request.key.digest, query);
    await hotKeys.flush();
    return state;
  }
  /** Lets time go on by seconds, the worker looking at each. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1000);
      await warmer.runDue();
    }
  }
  const change = (warmSeconds: number) => {
    definition = parseDefinition('things.sql', header(warmSeconds).replace('select 1', 'select 2'), batchSql);
  };
  return {
    read,
    pass,
    plan,
    runs,
    atOnce,
    bad,
    fits,
    maxValues,
    events,
    schedule,
    change,
    clock,
    warmer,
    hold,
    store,
  };
}

test('contract 6.1: a key that is read at 0 s and at 850 s is warmed every 300 s and never misses, and is dropped 900 s after that', async () => {
  const { read, pass, events, schedule } = openWarming();
  expect(await read('a')).toBe('miss');
  await pass(299);
  expect(events).toEqual([]);
  await pass(551);
  expect(await read('a')).toBe('hit');
  await pass(349);
  expect(events).toHaveLength(3);
  await pass(1);
  expect(events).toHaveLength(4);
  await pass(900);
  // At 1500 it was warmed; at 1750 it had not been read for 900 s, and at 1800 it was not warmed.
  expect(events).toHaveLength(5);
  expect((await schedule.state()).keys).toBe(0);
  expect(events.map(event => event.type === 'warm.cycle' && event.refreshed)).toEqual([1, 1, 1, 1, 1]);
});

test('contract 6.1: a key that nobody reads again is dropped at its lifetime', async () => {
  const { read, pass, runs, schedule } = openWarming();
  await read('a');
  await pass(2000);
  expect(runs).toHaveLength(1 + 2);
  expect((await schedule.state()).keys).toBe(0);
});

test('contract 6.6: keys of one group are one run, others another; a cycle of 1000 things of 3 kinds is 3 runs', async () => {
  const { read, pass, runs, events } = openWarming();
  for (let n = 0; n < 1000; n++) for (const kind of ['x', 'y', 'z']) await read(`thing${n}`, kind);
  runs.length = 0;
  await pass(300);
  expect(runs.map(({ length }) => length)).toEqual([1000, 1000, 1000]);
  expect(events).toMatchObject(
    Array(3).fill({
      type: 'warm.cycle',
      endpoint: 'things',
      keys: 1000,
      refreshed: 1000,
      failed: 0,
      runs: 1,
      bytes: 1000,
    }),
  );
  expect(await read('thing500', 'y')).toBe('hit');
});

test('one bad value does not spoil its batch: the others are refreshed, and it counts as failed', async () => {
  const { read, pass, bad, runs, events } = openWarming();
  for (const thing of ['a', 'b', 'c', 'd']) await read(thing);
  bad.add('c');
  runs.length = 0;
  await pass(300);
  expect(events).toMatchObject([{ keys: 4, refreshed: 3, failed: 1 }]);
  expect(runs.at(-1)).toEqual(['d']);
  expect(await read('c')).toBe('hit');
});

test('contract 6.6: a value that failed runs apart until it succeeds, and the others are one run', async () => {
  const { read, pass, bad, runs } = openWarming();
  for (const thing of ['a', 'b', 'c', 'd']) await read(thing);
  bad.add('c');
  await pass(300);
  runs.length = 0;
  await pass(300);
  expect(runs).toEqual([['a', 'b', 'd'], ['c']]);
  bad.clear();
  for (const thing of ['a', 'b', 'c', 'd']) await read(thing);
  await pass(300);
  runs.length = 0;
  await pass(300);
  expect(runs).toEqual([['a', 'b', 'c', 'd']]);
});

test('contract 6.6: a run whose result was too large is not tried again until that is forgotten', async () => {
  const { read, pass, fits, maxValues, runs, events } = openWarming();
  for (let n = 0; n < 10; n++) await read(`thing${n}`);
  fits.values = 3;
  const lengths = async () => {
    runs.length = 0;
    await pass(300);
    return runs.map(({ length }) => length);
  };
  expect(await lengths()).toEqual([10, 5, 3, 2, 5, 3, 2]);
  for (let n = 0; n < 10; n++) await read(`thing${n}`);
  expect(await lengths()).toEqual([3, 3, 3, 1]);
  expect(events).toMatchObject([
    { refreshed: 10, failed: 0, runs: 7 },
    { refreshed: 10, failed: 0, runs: 4 },
  ]);
  maxValues.clear();
  fits.values = Infinity;
  for (let n = 0; n < 10; n++) await read(`thing${n}`);
  expect(await lengths()).toEqual([10]);
});

test('contract 6.6: a value that failed stays apart while another process is making it', async () => {
  const { read, pass, plan, bad, runs, store } = openWarming();
  for (const thing of ['a', 'b', 'c']) await read(thing);
  bad.add('c');
  await pass(300);
  const { digest } = plan('c').query.key;
  const [value] = (await store.read([digest], [])).values;
  await store.claim(digest, { token: 'other', leaseMs: 1e9, knownVersion: value?.subarray(0, 16) });
  for (const thing of ['a', 'b', 'c']) await read(thing);
  await pass(300);
  await store.release(digest, 'other', '');
  runs.length = 0;
  await pass(300);
  expect(runs).toEqual([['a', 'b'], ['c']]);
});

test('contract 6.1: a group is due a period after its run began, however long that took', async () => {
  const { read, pass, runs, clock, warmer, hold } = openWarming();
  await read('a');
  const gate = Promise.withResolvers<void>();
  hold.until = gate.promise;
  clock.advance(300_000);
  const running = warmer.runDue();
  await vi.waitFor(() => expect(runs).toHaveLength(2));
  clock.advance(2000);
  gate.resolve();
  await running;
  await pass(297);
  expect(runs).toHaveLength(2);
  await pass(1);
  expect(runs).toHaveLength(3);
});

test('a group of which nothing can be refreshed is tried after twice the time, and twice that', async () => {
  const { read, pass, bad, events } = openWarming();
  await read('a');
  bad.add('a');
  await pass(300);
  await read('a');
  await pass(599);
  expect(events).toHaveLength(1);
  await pass(1);
  expect(events).toHaveLength(2);
});

test('contract 6.3: groups that are due together after a pause do not stay together', async () => {
  let draws = 0;
  const random = () => (draws++ * 0.37) % 1;
  const { read, pass, schedule } = openWarming({ random });
  for (let n = 0; n < 20; n++) await read('a', `kind${n}`);
  await pass(300);
  const dues = (await schedule.state()).groups.map(({ dueInMs }) => dueInMs);
  expect(new Set(dues).size).toBe(20);
  expect(Math.max(...dues) - Math.min(...dues)).toBeGreaterThan(20_000);
  expect(Math.min(...dues)).toBeGreaterThanOrEqual(270_000 - 1000);
});

test.each([1, 3])('contract 6.3: %d groups are warmed at a time', async concurrency => {
  const { read, pass, atOnce, events } = openWarming({ concurrency });
  for (let n = 0; n < 10; n++) await read('a', `kind${n}`);
  expect(atOnce.most).toBe(1);
  await pass(300);
  expect([events.length, atOnce.most]).toEqual([10, concurrency]);
});

test('contract 6.4: if the bytes of the hour are used up, nothing is warmed, and the reason is reported', async () => {
  const { read, pass, events } = openWarming({ bytesPerHour: 2000 });
  for (let n = 0; n < 4; n++) await read('a', `kind${n}`);
  await pass(300);
  expect(events.map(event => event.type === 'warm.cycle' && [event.refreshed, event.skipped])).toEqual([
    [1, {}],
    [1, {}],
    [0, { budget: 1 }],
    [0, { budget: 1 }],
  ]);
  await pass(300);
  expect(events.slice(4).map(event => event.type === 'warm.cycle' && event.refreshed)).toEqual([0, 0, 0, 0]);
});

test('what has just been made is not made again where it will be fresh at the next time', async () => {
  const { read, pass, events, runs } = openWarming();
  await read('a');
  await pass(200);
  await read('b');
  runs.length = 0;
  await pass(100);
  expect(runs).toEqual([['a']]);
  expect(events).toMatchObject([{ refreshed: 1, skipped: { fresh: 1 } }]);
});

test('keys of a changed definition are dropped, and said to be outdated', async () => {
  const { read, pass, events, schedule, change } = openWarming();
  await read('a');
  change(300);
  await pass(300);
  expect(events).toMatchObject([{ refreshed: 0, skipped: { outdated: 1 } }]);
  expect((await schedule.state()).keys).toBe(0);
});

test('contract 6.4: the bytes of the hour are counted while a large group is being warmed', async () => {
  const { read, pass, events } = openWarming({ bytesPerHour: 1000 });
  for (let n = 0; n < 1500; n++) await read(`thing${n}`);
  await pass(300);
  expect(events).toMatchObject([{ keys: 1500, refreshed: 1000, skipped: { budget: 500 }, runs: 1 }]);
});

test('contract 6.4: the bytes of the hour end a group whose keys take several runs', async () => {
  const { read, pass, runs, events } = openWarming({ bytesPerHour: 1000 });
  // A run takes 64 KiB of values.
  const long = 'x'.repeat(1000);
  for (let n = 0; n < 200; n++) await read(`${long}${n}`);
  runs.length = 0;
  await pass(300);
  expect(runs).toHaveLength(1);
  const refreshed = runs[0]!.length;
  expect(refreshed).toBeLessThan(100);
  expect(events).toMatchObject([{ refreshed, failed: 0, skipped: { budget: 200 - refreshed } }]);
});

test('a clock that is set back does not prolong an hour whose bytes are used up', async () => {
  const clock = createStandingClock();
  const budget = createBytesBudget(1000, clock);
  budget.spend(1000);
  clock.advance(-1000);
  expect(budget.isUsedUp).toBe(true);
  clock.advance(-86_400_000);
  expect(budget.isUsedUp).toBe(false);
});

test('contract 6.3: a group that takes long holds up no other where several are warmed at a time', async () => {
  const { read, clock, warmer, hold, runs } = openWarming({ concurrency: 2 });
  await read('a', 'long');
  clock.advance(5000);
  await read('b', 'short');
  runs.length = 0;
  const gate = Promise.withResolvers<void>();
  hold.until = gate.promise;
  clock.advance(295_000);
  const first = warmer.runDue();
  await vi.waitFor(() => expect(runs).toEqual([['a']]));
  hold.until = undefined;
  clock.advance(5000);
  const second = warmer.runDue();
  await vi.waitFor(() => expect(runs).toEqual([['a'], ['b']]));
  gate.resolve();
  await Promise.all([first, second]);
});

test('contract 6.2: a worker that stops ends its runs, and what it leaves undone is due at once for others', async () => {
  const { read, clock, warmer, hold, runs, schedule } = openWarming();
  for (let n = 0; n < 1500; n++) await read(`thing${n}`);
  runs.length = 0;
  hold.until = new Promise(() => undefined);
  clock.advance(300_000);
  const running = warmer.runDue();
  await vi.waitFor(() => expect(runs).toHaveLength(1));
  await warmer.close();
  await running;
  expect(runs).toHaveLength(1);
  expect((await schedule.claim('another', 1000))?.keys).toHaveLength(1500);
});

test('contract 11.2: planning the keys of a large group lets others go on', async () => {
  const { schedule } = openWarming();
  const planKey = () => {
    const endMs = performance.now() + 1;
    while (performance.now() < endMs); // as long as a pattern takes to compile
    return undefined;
  };
  const keys = Array.from({ length: 500 }, (_, n) => ({ digest: `${n}`, payload: '{}' }));
  const claim = { group: 'g', keys, next: undefined, lateMs: 0, failures: 0 };
  const { cache } = openCache({ clock: createStandingClock() });
  const deps = { schedule, cache, planKey, runStatement: async () => expect.fail('It runs nothing') };
  const budget = createBytesBudget(0, createStandingClock());
  const { result, turnMs } = await longestTurn(() =>
    warmGroup(
      { ...deps, budget, failed: new LRUCache({ max: 1 }), maxValues: new LRUCache({ max: 1 }) },
      claim,
      new AbortController().signal,
    ),
  );
  expect(result.dropped).toHaveLength(500);
  expect(turnMs).toBeLessThan(100);
});
