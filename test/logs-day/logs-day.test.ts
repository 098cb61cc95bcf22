import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { type VectorBatch, vectorBatches, vectorSources } from '../../examples/supabase/vector-events.ts';
import { readScript } from '../../src/commands/run-script.ts';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Events of a day are 86,400 times this on average. */
const perSecond = Number(process.env.PER_SECOND ?? 1);
const seed = Number(process.env.SEED ?? Date.now() % 100_000);
/** Days that are played for what they take of the disk and of memory: `DAYS=10` for longer. */
const days = Number(process.env.DAYS ?? 5);

const dayMs = 86_400_000;
const project = 'project=default&iso_timestamp_end=';

/** What pages of a Studio ask of rows as Vector sends them. */
const questions = [
  'select id, timestamp, event_message, metadata from edge_logs limit 100',
  'select id, edge_logs.timestamp, event_message, request.method, request.path, response.status_code from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as request cross join unnest(m.response) as response where response.status_code >= 400 order by timestamp desc limit 100',
  'select timestamp_trunc(t.timestamp, hour) as timestamp, count(t.id) as count from edge_logs t group by timestamp order by timestamp desc limit 100',
  'select id, postgres_logs.timestamp, event_message, parsed.error_severity from postgres_logs cross join unnest(metadata) as m cross join unnest(m.parsed) as parsed limit 100',
  'select id, auth_logs.timestamp, event_message, metadata.level, metadata.status, metadata.path from auth_logs cross join unnest(metadata) as metadata limit 100',
  'select id, function_logs.timestamp, event_message, metadata.event_type from function_logs cross join unnest(metadata) as metadata limit 100',
  'select id, storage_logs.timestamp, event_message from storage_logs limit 100',
];

type Gateway = { readonly origin: string; readonly child: ChildProcess };

async function startGateway(environment: Record<string, string>): Promise<Gateway> {
  const start = readScript('start');
  const child = spawn('node', start.args, {
    env: {
      ...process.env,
      ...start.environment,
      ...environment,
      COMPAT: 'logflare',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithProcess(child);
  let text = '';
  for await (const part of child.stdout!) {
    text += part;
    if (text.includes('Try:')) break;
  }
  return { origin: /gateway at (\S+)/.exec(text)![1]!, child };
}

/** Sends what Vector would, each request until it is answered by 200. @returns the ids of what was acknowledged, by source */
async function play(batches: Iterable<VectorBatch>, origin: () => string, mayGiveUp: () => boolean) {
  const acknowledged = new Map<string, Set<string>>(vectorSources.map(source => [source, new Set()]));
  const queues = new Map<string, Promise<void>>();
  let waiting = 0;
  for (const { source, events } of batches) {
    const send = async () => {
      for (;;) {
        const answer = await fetch(`${origin()}/api/logs?source_name=${source}`, {
          method: 'POST',
          headers: { 'x-api-key': 'public' },
          body: JSON.stringify(events),
          // A sender that is restarted goes away before the answer, and sends again.
          signal: mayGiveUp() ? AbortSignal.timeout(5) : AbortSignal.timeout(60_000),
        }).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => undefined);
        if (answer?.status === 200) break;
        if (answer && answer.status !== 503) throw new Error(`${source}: ${answer.status}`);
        await delay(50);
      }
      for (const { id } of events) acknowledged.get(source)!.add(String(id));
    };
    waiting++;
    const queued = (queues.get(source) ?? Promise.resolve()).then(send).finally(() => waiting--);
    queued.catch(() => undefined);
    queues.set(source, queued);
    while (waiting > 20) await delay(5);
  }
  await Promise.all(queues.values());
  return acknowledged;
}

/** Joins the seconds of a source into requests, as Vector's batches are after a stall. */
function* joined(batches: Iterable<VectorBatch>, size: number): Generator<VectorBatch> {
  const kept = new Map<string, VectorBatch>();
  for (const batch of batches) {
    const own = kept.get(batch.source);
    if (own) own.events.push(...batch.events);
    else kept.set(batch.source, { ...batch, events: [...batch.events] });
    if (kept.get(batch.source)!.events.length < size) continue;
    yield kept.get(batch.source)!;
    kept.delete(batch.source);
  }
  yield* kept.values();
}

async function ask(
  origin: string,
  sql: string,
): Promise<{ result?: unknown[]; error?: { message: string } } | undefined> {
  const url = `${origin}/api/endpoints/query/logs.all?${project}&sql=${encodeURIComponent(sql)}`;
  const answer = await fetch(url, { headers: { 'x-api-key': 'private' } }).catch(() => undefined);
  return answer?.json().catch(() => undefined) as Promise<{ result?: unknown[] } | undefined>;
}

/** The ids of a table, read from the file that queries read. */
async function storedIds(dataDirectory: string, table: string): Promise<string[]> {
  const instance = await DuckDBInstance.create(readCurrent(join(dataDirectory, 'logs.duckdb')).path, {
    access_mode: 'READ_ONLY',
  });
  const connection = await instance.connect();
  const rows = await connection.runAndReadAll(`SELECT id FROM "${table}" ORDER BY id`);
  connection.closeSync();
  instance.closeSync();
  return rows.getRows().map(([id]) => String(id));
}

/** Megabytes of a process and of those that it started, what they share counted once. */
async function residentMb(pid: number): Promise<number> {
  const own = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const below = await Promise.all(
    children
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(child => residentMb(Number(child))),
  );
  return below.reduce((sum, each) => sum + each, Number(/^Pss:\s+(\d+) kB/m.exec(own)?.[1] ?? 0) / 1024);
}

async function diskMb(directory: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(directory, { recursive: true })) {
    const found = await stat(join(directory, name)).catch(() => undefined);
    if (found?.isFile()) sum += found.size / 2 ** 20;
  }
  return sum;
}

/** The events of a day that begins at a time. */
const eventsOf = (day: number, startMs: number) =>
  vectorBatches({
    seed: seed + day,
    startMs: startMs + day * dayMs,
    endMs: startMs + (day + 1) * dayMs,
    perSecond,
    withIds: true,
  });

const nothingWaits = async (dataDirectory: string) =>
  (await readdir(join(dataDirectory, 'rows'))).every(name => !name.endsWith('.rows'));

/** The settings of a gateway over a folder of its own. */
async function newEnvironment() {
  process.stdout.write(`SEED=${seed} PER_SECOND=${perSecond}\n`);
  return {
    DATA_DIR: join(await temporaryDirectory(), 'data'),
    LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public',
    LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private',
    PORT: '0',
  };
}

test('a day of a self-hosted project: whatever restarts, each acknowledged event is there once, and every question is answered', async () => {
  const environment = await newEnvironment();
  const { DATA_DIR } = environment;
  let gateway = await startGateway(environment);
  onTestFinished(() => void gateway.child.kill('SIGKILL'));
  let isOver = false;
  let isRestarting = false;
  const failures: string[] = [];
  let answers = 0;
  const asking = (async () => {
    for (let n = 0; !isOver; n++) {
      const before = gateway;
      const answer = await ask(gateway.origin, questions[n % questions.length]!);
      if (answer?.result) answers++;
      else if (before === gateway && !isRestarting) failures.push(answer?.error?.message ?? 'no answer');
      await delay(100);
    }
  })();
  const restarting = (async () => {
    for (let n = 0; !isOver; n++) {
      await delay(4000);
      if (isOver) return;
      isRestarting = true;
      gateway.child.kill(n % 2 ? 'SIGTERM' : 'SIGKILL');
      await once(gateway.child, 'exit');
      gateway = await startGateway(environment);
      isRestarting = false;
    }
  })();
  let sent = 0;
  const acknowledged = await play(
    joined(eventsOf(0, Date.now() - dayMs), 200),
    () => gateway.origin,
    () => ++sent % 25 === 0,
  );
  isOver = true;
  await Promise.all([asking, restarting]);
  expect(failures).toEqual([]);
  expect(answers).toBeGreaterThan(10);
  await expect.poll(() => nothingWaits(DATA_DIR), { timeout: 120_000, interval: 200 }).toBe(true);
  for (const [source, ids] of acknowledged) {
    expect(await storedIds(DATA_DIR, source), source).toEqual([...ids].sort());
  }
  const total = [...acknowledged.values()].reduce((sum, { size }) => sum + size, 0);
  process.stdout.write(`${total} events acknowledged and there once, ${answers} questions answered\n`);
}, 1_800_000);

/** By how much the most of the later days may be above the most of those before them. */
const growth = 1.15;

test('days with a bound of megabytes: what they take of the disk and of memory stays', async () => {
  const environment = { ...(await newEnvironment()), RETENTION_MB: '1' };
  const gateway = await startGateway(environment);
  onTestFinished(() => void gateway.child.kill('SIGKILL'));
  const startMs = Date.now() - days * dayMs;
  // The most of a day: both rise and fall as rows wait, are loaded and given back, so one look is chance.
  const disk: number[] = [];
  const memory: number[] = [];
  for (let day = 0; day < days; day++) {
    let isOver = false;
    disk.push(0);
    memory.push(0);
    const looking = (async () => {
      while (!isOver) {
        disk[day] = Math.max(disk[day]!, await diskMb(environment.DATA_DIR));
        memory[day] = Math.max(memory[day]!, await residentMb(gateway.child.pid!));
        await delay(250);
      }
    })();
    await play(
      joined(eventsOf(day, startMs), 500),
      () => gateway.origin,
      () => false,
    );
    await expect
      .poll(() => nothingWaits(environment.DATA_DIR), { timeout: 120_000, interval: 200 })
      .toBe(true);
    isOver = true;
    await looking;
    const counts = await ask(gateway.origin, 'select count(*) as n, min(timestamp) as oldest from edge_logs');
    process.stdout.write(
      `day ${day}: ${disk[day]!.toFixed(0)} MB on disk at most, ${memory[day]!.toFixed(0)} MB of memory, ${JSON.stringify(counts?.result)}\n`,
    );
  }
  const half = days >> 1;
  for (const sizes of [disk, memory])
    expect(Math.max(...sizes.slice(half + 1))).toBeLessThan(growth * Math.max(...sizes.slice(1, half + 1)));
}, 1_800_000);
