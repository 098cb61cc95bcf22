import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  countsPath,
  drawnSql,
  endlessSql,
  type FleetGateway,
  freezeEngines,
  runCommand,
  startFleet,
} from '../support/fleet.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

const callers = 250;
const usageId = 'c2b9e7a4-83d6-4f5e-b1a0-7d94e60f3b25';

let gateways: readonly FleetGateway[];
let dataDirectory: string;
let runs: () => Promise<number>;
/** Calls to Redis that failed, or did not answer in time. */
let lateCalls: () => Promise<number>;
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
  const fleet = await startFleet(4, { REDIS_URL: redis.url });
  gateways = fleet.gateways;
  dataDirectory = fleet.directory;
  const sum = async (metric: string) => {
    const counts = await Promise.all(gateways.map(gateway => gateway.metric(metric)));
    return counts.reduce((all, count) => all + count, 0);
  };
  runs = () => sum('engine_queries_total');
  lateCalls = () => sum('cache_store_errors_total');
  return async () => {
    await fleet.stop();
    await redis.stop();
  };
});

/**
 * Expects that something asked one query. Where Redis is late, for the machine is busy, a gateway runs the query itself (contract 5.13): then it is
 * asked again.
 * @param ask asks for what nobody asked for before, and gives what the callers got
 */
async function expectOneRun(ask: (attempt: number) => Promise<string[]>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const [before, lateBefore] = [await runs(), await lateCalls()];
    const answers = await ask(attempt);
    if ((await lateCalls()) > lateBefore && attempt < 4) continue;
    expect(new Set(answers).size).toBe(1);
    expect((await runs()) - before).toBe(1);
    return;
  }
}

/** Asks while the engines of all gateways stand still, until each gateway runs the query or waits for it. */
async function askFrozen<T>(ask: () => Promise<T>): Promise<T> {
  const waitsBefore = await Promise.all(gateways.map(gateway => gateway.metric('cache_waits_total')));
  const thaw = freezeEngines(gateways);
  try {
    const asked = ask();
    await Promise.all(
      gateways.map((gateway, at) =>
        vi.waitFor(async () => {
          const isWaiting = (await gateway.metric('cache_waits_total')) > waitsBefore[at]!;
          expect(isWaiting || (await isRunning(gateway))).toBe(true);
        }),
      ),
    );
    thaw();
    return await asked;
  } finally {
    thaw();
  }
}

describe('contract 5.6: one cold key asked on four gateways runs one query', () => {
  test('1000 callers of a quick query', () =>
    expectOneRun(async attempt => {
      const path = countsPath(`ours|quick${attempt}`);
      const answers = await Promise.all(
        gateways.flatMap(gateway => Array.from({ length: callers }, () => gateway.get(path))),
      );
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
      return answers.map(({ text }) => text);
    }));

  test('1000 callers of a slow query, by name and by UUID, on REST and on GraphQL', async () => {
    const askAll = async (sql: string) => {
      const rest = countsPath('ours', sql);
      const query = `query($sql: String!) { usageApiCountsSql(project: "ours", interval: MINUTELY, sql: $sql) { rows } }`;
      const ask = [
        async (gateway: FleetGateway) => JSON.parse((await gateway.get(rest)).text).result,
        async (gateway: FleetGateway) =>
          JSON.parse((await gateway.get(rest.replace('usage.api-counts', usageId))).text).result,
        async (gateway: FleetGateway) =>
          JSON.parse((await gateway.post('/graphql', { query, variables: { sql } })).text).data
            .usageApiCountsSql.rows,
      ];
      return Promise.all(
        gateways.flatMap(gateway =>
          Array.from({ length: callers }, (_, at) => ask[at % ask.length]!(gateway)),
        ),
      );
    };
    await expectOneRun(async attempt =>
      (await askFrozen(() => askAll(drawnSql(attempt)))).map(rows => JSON.stringify(rows)),
    );
  });

  test('a refused query is refused once, for every caller', async () => {
    const before = await runs();
    const path = countsPath('ours', 'select 1 / (count(*) * 0) as n from unnest([1, 2]) as a');
    const answers = await askFrozen(() =>
      Promise.all(gateways.flatMap(gateway => Array.from({ length: 20 }, () => gateway.get(path)))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
    const messages = answers.map(({ text }) => JSON.parse(text).error.message);
    expect(new Set(messages).size).toBe(1);
    // Another one where a caller comes when it has ended.
    expect((await runs()) - before).toBeLessThan(4);
  });

  test('the first caller leaves while one on another gateway waits', () =>
    expectOneRun(async attempt => {
      const [first, other] = gateways;
      const path = countsPath('ours', drawnSql(100 * attempt));
      const thaw = freezeEngines([first!]);
      onTestFinished(thaw);
      const leaver = new AbortController();
      const left = Promise.allSettled([first!.get(path, {}, leaver.signal)]);
      await vi.waitFor(async () => expect(await isRunning(first!)).toBe(true));
      const waitsBefore = await other!.metric('cache_waits_total');
      const stayed = other!.get(path);
      await vi.waitFor(async () => expect(await other!.metric('cache_waits_total')).toBe(waitsBefore + 1));
      leaver.abort();
      await left;
      expect(await isRunning(first!)).toBe(true);
      thaw();
      return [(await stayed).text];
    }));

  test('the last caller who leaves cancels the query, and gives its lease back', async () => {
    const [gateway, other] = gateways;
    const path = countsPath('ours', endlessSql);
    const waitsBefore = await other!.metric('cache_waits_total');
    const callers = Array.from({ length: 20 }, () => {
      const leaver = new AbortController();
      return { leaver, gone: Promise.allSettled([gateway!.get(path, {}, leaver.signal)]) };
    });
    await vi.waitFor(async () => expect(await isRunning(gateway!)).toBe(true));
    const last = callers.pop()!;
    for (const { leaver } of callers) leaver.abort();
    await Promise.all(callers.map(({ gone }) => gone));
    expect(await isRunning(gateway!)).toBe(true);

    last.leaver.abort();
    await last.gone;
    const cancelled = () => gateway!.metric('engine_queries_total', 'outcome="cancelled"');
    await vi.waitFor(async () => expect(await cancelled()).toBe(1));
    const next = new AbortController();
    const asked = Promise.allSettled([other!.get(path, {}, next.signal)]);
    await vi.waitFor(async () => expect(await isRunning(other!)).toBe(true));
    expect(await other!.metric('cache_waits_total')).toBe(waitsBefore);
    next.abort();
    await asked;
  });
});

/** A query is under way: one was begun and has not been counted yet. */
async function isRunning(gateway: FleetGateway): Promise<boolean> {
  return (await gateway.metric('engine_queries_running')) > 0;
}

describe('invalidation reaches every gateway', () => {
  test('of one entry, of an endpoint', async () => {
    const path = countsPath('ours|invalidated');
    const other = countsPath('ours|other');
    const state = async (gateway: FleetGateway, asked: string) =>
      (await gateway.get(asked)).headers['x-cache'];
    const states = (asked: string) => Promise.all(gateways.map(gateway => state(gateway, asked)));
    /** The message may reach this gateway a moment after the answer of the one that was asked. */
    const misses = (gateway: FleetGateway, asked: string) =>
      expect.poll(() => state(gateway, asked)).toBe('MISS');
    await states(path);
    await states(other);
    expect(await states(path)).toEqual(['HIT', 'HIT', 'HIT', 'HIT']);

    const order = {
      endpoint: 'usage.api-counts',
      parameters: { interval: 'minutely', project: 'ours|invalidated' },
    };
    expect((await gateways[0]!.post('/admin/invalidate', order)).text).toBe('{"invalidated":"entry"}');
    await misses(gateways[1]!, path);
    expect(await states(path)).toEqual(['HIT', 'HIT', 'HIT', 'HIT']);
    expect(await states(other)).toEqual(['HIT', 'HIT', 'HIT', 'HIT']);

    const parameters = ['--param', 'interval=minutely', '--param', 'project=ours|other'];
    const environment = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '1000', DATA_DIR: dataDirectory };
    expect(await runCommand(['cache', 'invalidate', 'usage.api-counts', ...parameters], environment)).toBe(
      'One entry of usage.api-counts is invalidated\n',
    );
    await misses(gateways[1]!, other);

    const all = { endpoint: 'usage.api-counts' };
    expect((await gateways[2]!.post('/admin/invalidate', all)).text).toBe('{"invalidated":"endpoint"}');
    await misses(gateways[3]!, path);
    await misses(gateways[3]!, other);
  });
});
