import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { openSampleFolder, type SampleFolder } from './abused-gateway.ts';
import { attacks } from './attacks.ts';
import { launchAttack } from './launch-attack.ts';
import { type PlainRequest, startPlainCallers, untilWarm } from './plain-callers.ts';
import { forgetPeak, type Holdings, peakMb, readHoldings } from './process-tree.ts';
import { timesOf } from './statistics.ts';
import type { OutcomeCounts } from './target.ts';

let folder: SampleFolder;
let redis: RedisServer;
beforeAll(async () => {
  [folder, redis] = await Promise.all([openSampleFolder(), startRedisServer()]);
  return () => Promise.all([folder.remove(), redis.stop()]);
});

const rows: string[] = [];
afterAll(() => {
  const head = 'attack | plain requests | alone p50 / p99 / max (ms) | attacked p50 / p99 / max (ms) | /livez max (ms) | failed | gateway peak, after (MB) | engines peak, after (MB) | ends of the attack';
  process.stdout.write(`\n| ${head} |\n|${'---|'.repeat(head.split('|').length)}\n${rows.join('\n')}\n`);
}); // biome-ignore format: a head of a table

/** Issue's bounds: of one plain request beyond what it takes alone, and of the gateway's resident memory. */
const maxAddedMs = 1000;
const maxGatewayMb = 700;
/** What one gateway may keep afterwards beyond what it had before: V8 gives back late. */
const maxKeptMb = 150;
const aloneMs = 2000;

test.each(attacks.map(attack => [attack.name, attack] as const))(
  'nobody is harmed by %s (contract 11.1, 11.3, 11.4, 11.5)',
  async (name, { needsRedis, seconds = 5 }) => {
    const gateway = await folder.start(needsRedis ? { REDIS_URL: redis.url } : {});
    onTestFinished(gateway.stop);
    const attack = await launchAttack(name, gateway);
    const callers = startPlainCallers(gateway);
    await untilWarm(callers);
    await delay(aloneMs);
    const alone = callers.take();
    const before = await readHoldings(gateway.pid);

    await forgetPeak(gateway.pid);
    const enginePeak = watchEngines(gateway.pid);
    await attack.begin();
    await delay(seconds * 1000);
    const counts = await attack.stop();
    const attacked = callers.take();
    await callers.stop();
    attacked.push(...callers.take());
    const peak = { gatewayMb: await peakMb(gateway.pid), enginesMb: enginePeak() };
    const after = await settled(gateway.pid, before);

    rows.push(rowOf(name, { alone, attacked, peak, after, counts }));
    process.stdout.write(`${rows.at(-1)}\n`);
    expect(failuresOf(attacked)).toEqual([]);
    expect(slowest(attacked, alone)).toEqual([]);
    expect(peak.gatewayMb).toBeLessThan(maxGatewayMb);
    expect(Object.keys(counts).filter(isFault)).toEqual([]);
    // An attack that is refused for its token reaches nothing.
    expect(Object.keys(counts)).not.toEqual(['403 forbidden']);
    expect(gateway.logged('http.bug', 'graphql.bug', 'store.down')).toEqual([]);
    expect(keeps(after, before)).toEqual([]);
  },
  120_000,
);

/** @returns ends the watch, and gives the highest sum of the engine processes' own memory */
function watchEngines(pid: number): () => number {
  let [peak, isOver] = [0, false];
  const watch = async () => {
    while (!isOver) {
      const { enginesMb } = await readHoldings(pid);
      peak = Math.max(peak, enginesMb);
      await delay(50);
    }
  };
  // A gateway that has ended is noticed by all that ask it.
  watch().catch(() => undefined);
  return () => {
    isOver = true;
    return peak;
  };
}

/** What is held when all is back, or fifteen seconds after the attack. */
async function settled(pid: number, before: Holdings): Promise<Holdings> {
  const giveUpMs = performance.now() + 15_000;
  for (;;) {
    const now = await readHoldings(pid);
    if (keeps(now, before).length === 0 || performance.now() > giveUpMs) return now;
    await delay(100);
  }
}

/** What is still held that must not be. */
function keeps(now: Holdings, before: Holdings): string[] {
  // An engine process without a query has 40 MB of its own, and some more that malloc does not give back.
  const mostMb = now.engines * 120;
  const fewest = before.files + 10 * Math.max(0, now.engines - before.engines);
  return [
    ...(now.enginesMb > mostMb ? [`${now.enginesMb.toFixed()} MB in ${now.engines} engine processes`] : []),
    ...(now.gatewayMb > before.gatewayMb + maxKeptMb ? [`${now.gatewayMb.toFixed()} MB in the gateway`] : []),
    ...(now.files > fewest + 5 ? [`${now.files} open files, before ${before.files}`] : []),
  ];
}

function isFault(outcome: string): boolean {
  const isBug = /^50[02] /.test(outcome) && !outcome.endsWith('needs more memory than it may use');
  return isBug || outcome.includes('not JSON');
}

function failuresOf(requests: readonly PlainRequest[]): string[] {
  return requests.flatMap(({ failure }) => failure ?? []);
}

/** The kinds of which one request took more than a second longer than the slowest did alone. */
function slowest(attacked: readonly PlainRequest[], alone: readonly PlainRequest[]): string[] {
  const kinds = [...new Set(attacked.map(({ kind }) => kind))];
  return kinds.flatMap(kind => {
    const [now, then] = [attacked, alone].map(all => timesOf(all.filter(each => each.kind === kind)));
    const isSlow = (now?.max ?? 0) > (then?.max ?? 0) + maxAddedMs;
    return isSlow ? [`${kind}: ${now?.max.toFixed()} ms, alone ${then?.max.toFixed()} ms`] : [];
  });
}

type Outcome = {
  readonly alone: readonly PlainRequest[];
  readonly attacked: readonly PlainRequest[];
  readonly peak: Pick<Holdings, 'gatewayMb' | 'enginesMb'>;
  readonly after: Holdings;
  readonly counts: OutcomeCounts;
};

function rowOf(name: string, { alone, attacked, peak, after, counts }: Outcome): string {
  const times = (requests: readonly PlainRequest[]) =>
    Object.values(timesOf(requests)).map(ms => ms.toFixed()).join(' / '); // biome-ignore format: one list
  const ends = Object.entries(counts).map(([outcome, count]) => `${outcome} × ${count}`);
  const cells = [
    name,
    attacked.length,
    times(alone),
    times(attacked),
    timesOf(attacked.filter(({ kind }) => kind === 'livez')).max.toFixed(),
    failuresOf(attacked).length,
    `${peak.gatewayMb.toFixed()}, ${after.gatewayMb.toFixed()}`,
    `${peak.enginesMb.toFixed()}, ${after.enginesMb.toFixed()}`,
    ends.join('; ').replaceAll('|', '\\|'),
  ];
  return `| ${cells.join(' | ')} |`;
}
