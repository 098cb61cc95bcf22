import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type { AskedRequest, Fault, History, Invalidation } from '../fleet/history.ts';
import { type FleetGateway, startGatewayProcess } from '../support/fleet.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { type Deed, drawSchedule } from './draw-schedule.ts';
import { openRunCounter } from './open-run-counter.ts';

const fleetSize = 3;
const lifetimes = { freshMs: 2000, staleMs: 2000 };
const name = 'counted.runs';
// Entries are kept for longer than they may be served: for an error that never comes.
const sql = `/*
id: 7e57ab1e-0000-4000-8000-0000000000a1
name: ${name}
description: Which query these rows are of.
parameters:
  key: { type: string, required: true, description: Whose rows. }
columns:
  run: { type: INT64, required: true, description: Number of the query. }
cacheSeconds: ${lifetimes.freshMs / 1000}
staleSeconds: ${lifetimes.staleMs / 1000}
staleIfErrorSeconds: 30
*/
select count(*) as run from \`cloudflare.logs.prod\` where project = @key`;

/** Keys that are asked all the time, those that are invalidated too, and those that are past their time when they are asked. */
const keys = {
  hot: ['hot1', 'hot2'],
  invalidated: ['invalidated1', 'invalidated2'],
  rare: ['rare1', 'rare2', 'rare3', 'rare4'],
};

/**
 * Starts gateways as processes over one Redis and one counting warehouse, asks them, invalidates entries, and meanwhile pauses,
 * kills and restarts Redis and gateways and moves their clocks as the seed says.
 * @param tell hears what is done, in words
 */
export async function recordHistory(
  seed: number,
  rounds: number,
  tell: (words: string) => void,
): Promise<History> {
  const fleet = await openRecordedFleet(seed);
  try {
    const stopped = new AbortController();
    const callers = startCallers(fleet, seed, stopped.signal);
    for (const deed of drawSchedule(seed, rounds, fleetSize)) {
      await delay(deed.afterMs);
      tell(wordsOf(fleet.now(), deed));
      await fleet.perform(deed);
    }
    await delay(6000);
    stopped.abort();
    await callers;
    return fleet.history();
  } finally {
    await fleet.close();
  }
}

function wordsOf(nowMs: number, { type, gateway, forMs, offsetMs }: Deed): string {
  const by = offsetMs === 0 ? '' : ` by ${offsetMs} ms`;
  return `${Math.round(nowMs)} ms: ${type}${by} for ${forMs} ms (gateway ${gateway})`;
}

type RecordedFleet = Awaited<ReturnType<typeof openRecordedFleet>>;

async function openRecordedFleet(seed: number) {
  const directory = await mkdtemp(join(tmpdir(), 'histories-'));
  await mkdir(join(directory, 'sql'));
  await writeFile(join(directory, 'sql', `${name}.sql`), sql);
  const beganMs = performance.now();
  const now = () => performance.now() - beganMs;
  const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
  const requests: AskedRequest[] = [];
  const invalidations: Invalidation[] = [];
  const faults: Fault[] = [];
  let redis = await startRedisServer();
  const counter = await openRunCounter({ gateways: fleetSize, seed, now });
  const clockFiles = Array.from({ length: fleetSize }, (_, at) => join(directory, `clock${at}`));
  const gateways: FleetGateway[] = [];
  for (const file of clockFiles) await writeFile(file, '0');
  for (let at = 0; at < fleetSize; at++) gateways.push(await startRecorded(at));

  async function startRecorded(gateway: number) {
    let downAt: number | undefined;
    return startGatewayProcess(
      {
        ...counter.environmentOf(gateway),
        DATA_DIR: directory,
        SQL_DIR: join(directory, 'sql'),
        REDIS_URL: redis.url,
        LOG_LEVEL: 'debug',
        CLOCK_OFFSET_FILE: clockFiles[gateway]!,
        NODE_OPTIONS: `--import=${fileURLToPath(new URL('../support/move-clock.ts', import.meta.url))}`,
      },
      agent,
      event => {
        if (event === 'store.up' && downAt !== undefined) {
          faults[downAt] = { ...faults[downAt]!, untilMs: now() };
          downAt = undefined;
        }
        if (event !== 'store.failed' && event !== 'store.down') return;
        const untilMs = event === 'store.down' ? Infinity : now();
        // What it waited for in vain, it was late to say.
        const count = faults.push({ type: 'store lost', gateway, fromMs: now() - 200, untilMs });
        if (event === 'store.down') downAt = count - 1;
      },
    );
  }

  /** Notes a fault as one without an end before it is done, and its end when it is over. */
  async function during(fault: Fault, act: () => Promise<void>): Promise<void> {
    const at = faults.push({ ...fault, fromMs: now(), untilMs: Infinity }) - 1;
    await act();
    faults[at] = { ...faults[at]!, untilMs: now() };
  }

  const deeds: Record<Deed['type'], (deed: Deed) => Promise<void>> = {
    'pause redis': ({ forMs }) => during({ type: 'redis paused', ...noTime }, () => pause(redis.pid, forMs)),
    'kill redis': ({ forMs }) =>
      during({ type: 'redis killed', ...noTime }, async () => {
        await redis.stop();
        await delay(forMs);
        redis = await startRedisServer({ port: redis.port });
      }),
    'pause a gateway': ({ gateway, forMs }) =>
      during({ type: 'gateway paused', gateway, ...noTime }, () => pause(gateways[gateway]!.pid, forMs)),
    async 'pause a gateway that holds a lease'({ forMs }) {
      const gateway = await counter.nextRun();
      await during({ type: 'gateway paused', gateway, ...noTime }, () =>
        pause(gateways[gateway]!.pid, forMs),
      );
    },
    'kill a gateway': ({ gateway, forMs }) =>
      during({ type: 'gateway killed', gateway, ...noTime }, async () => {
        await gateways[gateway]!.kill();
        await delay(forMs);
        gateways[gateway] = await startRecorded(gateway);
      }),
    'move a clock': ({ gateway, forMs, offsetMs }) =>
      during({ type: 'clock moved', gateway, offsetMs, ...noTime }, async () => {
        await writeFile(clockFiles[gateway]!, String(offsetMs));
        await delay(forMs);
        await writeFile(clockFiles[gateway]!, '0');
      }),
  };

  return {
    now,
    gateways,
    requests,
    invalidations,
    perform: (deed: Deed) => deeds[deed.type](deed),
    history: (): History => ({ ...lifetimes, requests, invalidations, faults, runs: counter.runs() }),
    async close() {
      agent.destroy();
      await Promise.all(gateways.map(gateway => gateway.kill()));
      await redis.stop();
      counter.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const noTime = { fromMs: 0, untilMs: 0 };

async function pause(pid: number, forMs: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await delay(forMs).finally(() => process.kill(pid, 'SIGCONT'));
}

/** Asks until it is stopped; resolves when all have their answers. */
async function startCallers(fleet: RecordedFleet, seed: number, signal: AbortSignal): Promise<void> {
  const draws = fc.sample(fc.nat(1_000_000), { seed, numRuns: 4096 });
  let drawn = 0;
  const below = (limit: number) => draws[drawn++ % draws.length]! % limit;
  const pending = new Set<Promise<void>>();
  const send = (act: Promise<void>) => {
    pending.add(act);
    void act.finally(() => pending.delete(act));
  };
  const every = async (leastMs: number, mostMs: number, act: () => Promise<void>) => {
    while (!signal.aborted) {
      send(act());
      await delay(leastMs + below(mostMs - leastMs));
    }
  };
  const asking = [...keys.hot, ...keys.invalidated].map(key =>
    every(40, 120, () => ask(fleet, below(fleetSize), key)),
  );
  const { freshMs, staleMs } = lifetimes;
  const rare = keys.rare.map(key =>
    every(freshMs + 500, freshMs + staleMs + 3000, () => ask(fleet, below(fleetSize), key)),
  );
  const voiding = every(700, 1500, () => {
    const key = below(10) === 0 ? undefined : keys.invalidated[below(keys.invalidated.length)];
    return invalidate(fleet, below(fleetSize), key);
  });
  await Promise.all([...asking, ...rare, voiding]);
  await Promise.all(pending);
}

async function ask(fleet: RecordedFleet, gateway: number, key: string): Promise<void> {
  const sentMs = fleet.now();
  const answer = await fleet.gateways[gateway]!.get(`/api/endpoints/query/${name}?key=${key}`).catch(
    () => undefined,
  );
  const { status = 0, headers = {}, text = '{}' } = answer ?? {};
  const run = JSON.parse(text).result?.[0]?.run ?? 0;
  const state = headers['x-cache'] ?? '';
  fleet.requests.push({ gateway, key, sentMs, endedMs: fleet.now(), status, state, run });
}

async function invalidate(fleet: RecordedFleet, gateway: number, key: string | undefined): Promise<void> {
  const sentMs = fleet.now();
  const order = { endpoint: name, ...(key === undefined ? {} : { parameters: { key } }) };
  const answer = await fleet.gateways[gateway]!.post('/admin/invalidate', order).catch(() => undefined);
  fleet.invalidations.push({ gateway, key, sentMs, endedMs: fleet.now(), status: answer?.status ?? 0 });
}
