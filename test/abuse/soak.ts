import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readScript } from '../../src/commands/run-script.ts';
import { createRandom } from '../support/create-random.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { openSampleFolder } from './abused-gateway.ts';
import { attacks } from './attacks.ts';
import { keptAttacks } from './hostile-attacks.ts';
import { launchAttack } from './launch-attack.ts';
import { type PlainRequest, startPlainCallers } from './plain-callers.ts';
import { childrenOf, type Holdings, readHoldings } from './process-tree.ts';
import { median, timesOf } from './statistics.ts';

/**
 * A gateway with Redis and a worker under steady load, with an attack or a fault every few seconds. Ends with 1 when an innocent
 * request failed, memory grew, or something stayed open.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    /** Callers of each kind. */
    callers: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
  },
});
const durationMs = Number(values.minutes) * 60_000;
const print = (text: string) => process.stdout.write(`${text}\n`);
/** Megabytes by which the middle of the gateway's resident memory may differ between the thirds of the run. */
const maxGrowthMb = 60;

const draw = createRandom(Number(values.seed));
const folder = await openSampleFolder();
let redis: RedisServer = await startRedisServer();
const environment = { REDIS_URL: redis.url };
const gateway = await folder.start(environment);
let isOver = false;
void gateway.ended.then(how => {
  if (isOver) return;
  print(`The gateway ended: ${how}`);
  process.exit(1);
});
let worker = startWorker();

/** What happens to the service, beside attacks; each ends when all is there again. */
const faults: Readonly<Record<string, () => Promise<unknown>>> = {
  async 'Redis frozen for 2 s'() {
    process.kill(redis.pid, 'SIGSTOP');
    await delay(2000);
    process.kill(redis.pid, 'SIGCONT');
  },
  async 'Redis killed, back after 1 s'() {
    await redis.stop();
    await delay(1000);
    redis = await startRedisServer({ port: redis.port });
  },
  async 'an engine process killed'() {
    const engines = await childrenOf(gateway.pid);
    const pid = engines[Math.floor(draw() * engines.length)];
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  },
  async 'all engine processes killed'() {
    for (const pid of await childrenOf(gateway.pid)) process.kill(pid, 'SIGKILL');
  },
  async 'the worker killed, back at once'() {
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    worker = startWorker();
  },
};

function startWorker() {
  const start = readScript('worker');
  const child = spawn('node', start.args, {
    env: { ...process.env, ...start.environment, ...folder.environment, ...environment },
    stdio: 'ignore',
  });
  endWithProcess(child);
  return child;
}

type Event = { name: string; times: number; requests: PlainRequest[] };
const events = new Map<string, Event>();
const samples: Holdings[] = [];
let startedMs = 0;

async function watch(): Promise<void> {
  while (performance.now() - startedMs < durationMs) {
    samples.push(await readHoldings(gateway.pid));
    await delay(250);
  }
}

/** One event of a few seconds: an attack, or a fault without one. */
async function happen(): Promise<string> {
  if (draw() < 0.4) {
    const names = Object.keys(faults);
    const name = names[Math.floor(draw() * names.length)]!;
    await faults[name]!();
    return name;
  }
  const { name, seconds = 6 } = attacks[Math.floor(draw() * attacks.length)]!;
  await attackFor(name, Math.min(seconds, 6));
  return name;
}

async function attackFor(name: string, seconds: number): Promise<void> {
  const attack = await launchAttack(name, gateway);
  await attack.begin();
  await delay(seconds * 1000);
  await attack.stop();
}

/** What is held while nobody is connected. */
async function readIdle(): Promise<Holdings> {
  gateway.disconnect();
  await delay(2000);
  return readHoldings(gateway.pid);
}

// The process that loads rows starts with the first of them, and stays.
const row = { id: 'first', timestamp: '2026-01-01T00:00:00Z', project: 'ours' };
const loaded = await fetch(`${gateway.origin}/api/sources/postgres.logs/rows`, {
  method: 'POST',
  headers: { 'x-api-key': gateway.tokens.write },
  body: JSON.stringify(row),
});
if (!loaded.ok) throw new Error(`No row was loaded: ${await loaded.text()}`);
const warming = startPlainCallers(gateway);
await delay(10_000);
await warming.stop();
const before = await readIdle();
// All that is kept fills up first: what grows later is what has no bound.
for (const { name } of keptAttacks) await attackFor(name, 6);
print(`seed ${values.seed}; before: ${shown(before)}`);

startedMs = performance.now();
const callers = startPlainCallers(gateway, { paceMs: 200, each: Number(values.callers) });
const watching = watch();
while (performance.now() - startedMs < durationMs) {
  const { length } = samples;
  const name = await happen();
  await delay(1000);
  const highestMb = Math.max(...samples.slice(length).map(({ gatewayMb }) => gatewayMb));
  const requests = callers.take();
  const event = events.get(name) ?? { name, times: 0, requests: [] };
  event.times++;
  event.requests.push(...requests);
  events.set(name, event);
  const failures = requests.flatMap(({ failure }) => failure ?? []);
  const at = ((performance.now() - startedMs) / 1000).toFixed();
  print(
    `${at} s: ${name}: ${highestMb.toFixed()} MB, ${requests.length} requests, ${failures.length} failed ${failures.slice(0, 3).join('; ')}`,
  );
}
await Promise.all([callers.stop(), watching]);
// Engine processes end after an idle minute, and memory is given back; the load is over.
await delay(65_000);
const after = await readIdle();

print(
  '\n| attack or fault | times | plain requests | p50 / p99 / max (ms) | failed |\n|---|---|---|---|---|',
);
const failed = (requests: readonly PlainRequest[]) => requests.filter(({ failure }) => failure !== undefined);
const all = [...events.values()];
for (const { name, times, requests } of [
  ...all,
  { name: 'all', times: 1, requests: all.flatMap(each => each.requests) },
]) {
  const { p50, p99, max } = timesOf(requests);
  print(
    `| ${name} | ${times} | ${requests.length} | ${[p50, p99, max].map(ms => ms.toFixed()).join(' / ')} | ${failed(requests).length} |`,
  );
}
const thirds = [0, 1, 2].map(third => {
  const part = samples.slice((third * samples.length) / 3, ((third + 1) * samples.length) / 3);
  return {
    middleMb: median(part.map(each => each.gatewayMb)),
    peakMb: Math.max(...part.map(each => each.gatewayMb)),
  };
});
print('\n| third of the run | gateway, median (MB) | gateway, highest (MB) |\n|---|---|---|');
for (const [at, { middleMb, peakMb }] of thirds.entries())
  print(`| ${at + 1} | ${middleMb.toFixed()} | ${peakMb.toFixed()} |`);
print(`\nbefore: ${shown(before)}\nafter: ${shown(after)}`);

const growthMb = thirds[2]!.middleMb - thirds[1]!.middleMb;
// Each process of the engine has pipes to the gateway.
const filesOfEngines = 3 * Math.max(0, after.engines - before.engines);
const problems = [
  ...(failed(all.flatMap(each => each.requests)).length > 0 ? ['innocent requests failed'] : []),
  ...(growthMb > maxGrowthMb ? [`memory grew by ${growthMb.toFixed()} MB`] : []),
  ...(after.files > before.files + filesOfEngines ? ['files or sockets stayed open'] : []),
];
print(problems.length === 0 ? 'No problem.' : `Problems: ${problems.join(', ')}.`);

isOver = true;
worker.kill('SIGKILL');
await gateway.stop();
await redis.stop();
await folder.remove();
process.exit(problems.length === 0 ? 0 : 1);

function shown({ gatewayMb, engines, enginesMb, files }: Holdings): string {
  return `gateway ${gatewayMb.toFixed()} MB, ${engines} engine processes with ${enginesMb.toFixed()} MB of their own, ${files} open files and sockets`;
}
