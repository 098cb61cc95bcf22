import { beforeEach, expect, test, vi } from 'vitest';
import { childrenOf } from '../support/children-of.ts';
import { countsPath, drawnSql, type FleetGateway, signal, startFleet } from '../support/fleet.ts';
import { startRedisServer } from '../support/redis-server.ts';

let gateways: readonly FleetGateway[];
/** Engine processes that stand still. */
let frozen: number[];
beforeEach(async () => {
  frozen = [];
  const redis = await startRedisServer();
  const fleet = await startFleet(3, { REDIS_URL: redis.url });
  gateways = fleet.gateways;
  return async () => {
    // They can't see that their gateway has gone.
    signal(frozen, 'SIGKILL');
    await fleet.stop();
    await redis.stop();
  };
});
const path = countsPath('ours', drawnSql(3));

/** Asks one gateway, whose engine stands still so that the query goes on, waits until it runs, then asks the others. */
async function askHolderFirst() {
  const [holder, ...others] = gateways;
  frozen = childrenOf(holder!.pid);
  signal(frozen, 'SIGSTOP');
  const held = holder!.get(path);
  held.catch(() => undefined);
  await vi.waitFor(async () => expect(await holder!.metric('engine_queries_running')).toBe(1));
  const answers = Promise.all(others.flatMap(gateway => Array.from({ length: 20 }, () => gateway.get(path))));
  await vi.waitFor(async () => {
    for (const gateway of others) expect(await gateway.metric('cache_waits_total')).toBe(1);
  });
  return { holder: holder!, others, held, answers };
}

const runsOf = async (some: readonly FleetGateway[]) => {
  const counts = await Promise.all(some.map(gateway => gateway.metric('engine_queries_total')));
  return counts.reduce((sum, count) => sum + count, 0);
};

test('where the gateway that runs the query is killed, exactly one other runs it again', async () => {
  const { holder, others, answers } = await askHolderFirst();
  await holder.kill();
  const taken = await answers;
  expect(taken.filter(({ status }) => status !== 200)).toEqual([]);
  expect(new Set(taken.map(({ text }) => text)).size).toBe(1);
  expect(await runsOf(others)).toBe(1);
});

test('the rows of a gateway that was frozen past its lease are not stored over those of its successor', async () => {
  const { holder, others, held, answers } = await askHolderFirst();
  process.kill(holder.pid, 'SIGSTOP');
  const taken = await answers.finally(() => signal([holder.pid, ...frozen], 'SIGCONT'));
  const stored = taken[0]!.text;
  expect(new Set(taken.map(({ text }) => text))).toEqual(new Set([stored]));
  expect(await runsOf(others)).toBe(1);

  const late = await held;
  expect(late.status).toBe(200);
  expect(late.text).not.toBe(stored);
  expect(await holder.metric('cache_refused_writes_total')).toBe(1);
  for (const gateway of gateways) {
    const { headers, text } = await gateway.get(path);
    expect([headers['x-cache'], text]).toEqual(['HIT', stored]);
  }
  expect(await runsOf(others)).toBe(1);
});
