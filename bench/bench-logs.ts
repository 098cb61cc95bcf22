import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type VectorBatch, vectorBatches } from '../examples/supabase/vector-events.ts';
import { createProgressBar } from '../src/composition/progress-bar.ts';
import { askServer, restRequest } from './ask-server.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { cpuSeconds } from './process-usage.ts';

/** Events a second on average over all seven sources, and for how long. */
const perSecond = Number(process.env.EVENTS_PER_SECOND ?? 2000);
const seconds = Number(process.env.SECONDS ?? 60);

/** Events a second of a burst, for how long, and after how many seconds it begins; with one the other seconds have as many events each. */
const burst = Number(process.env.BURST ?? 0);
const burstSeconds = Number(process.env.BURST_SECONDS ?? 10);
const beforeBurst = 10;

const project = 'default';

/** What pages of a Studio ask, one after the other, two a second. */
const questions = [
  'select id, timestamp, event_message, metadata from edge_logs limit 100',
  'select timestamp_trunc(t.timestamp, minute) as timestamp, count(t.id) as count from edge_logs t group by timestamp order by timestamp desc',
  'select cast(t.timestamp as datetime) as timestamp, t.id, event_message, s.status_code from edge_logs t cross join unnest(metadata) as m cross join unnest(m.response) as s where s.status_code >= 500 order by timestamp desc limit 100',
  'select id, postgres_logs.timestamp, event_message, parsed.error_severity from postgres_logs cross join unnest(metadata) as m cross join unnest(m.parsed) as parsed limit 100',
  'select m.level, count(*) as n from auth_logs t cross join unnest(t.metadata) as m group by m.level',
];

/** Events as the Vector of a self-hosted Supabase sends them, beside a Studio that asks: whether they are taken, and what that costs. */
export async function benchLogs(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-logs-'));
  const gateway = await startGatewayProcess({ COMPAT: 'logflare', DATA_DIR: directory });
  const over = new AbortController();
  const peaks: Peaks = { rss: 0, once: 0, processes: [] };
  try {
    const watching = watchMemory(gateway.pid, over.signal, peaks);
    const asking = askOn(gateway, over.signal);
    const sent = await sendEvents(gateway);
    const sentMs = performance.now();
    await untilSeen(gateway, sent.edge);
    const lagMs = performance.now() - sentMs;
    over.abort();
    const [times] = await Promise.all([asking, watching]);
    const sorted = times.toSorted((a, b) => a - b);
    const cells = [
      sent.events,
      (sent.events / sent.seconds).toFixed(0),
      sent.refused,
      sent.p95Ms.toFixed(0),
      lagMs.toFixed(0),
      (sorted[sorted.length >> 1] ?? Number.NaN).toFixed(0),
      (sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN).toFixed(0),
      peaks.rss.toFixed(0),
      peaks.once.toFixed(0),
      ((await bytesOf(directory)) / 2 ** 20).toFixed(0),
    ];
    console.log(
      '\n| events | a second | refused requests | answer p95 (ms) | all seen after the last (ms) | queries p50 (ms) | p95 (ms) | processes (MB) | shared files counted once (MB) | disk (MB) |\n|---|---|---|---|---|---|---|---|---|---|',
    );
    console.log(`| ${cells.join(' | ')} |`);
    console.log(
      '\n| process, when all took most | resident (MB) | of that its own (MB) | processor time so far (s) |\n|---|---|---|---|',
    );
    for (const { name, rss, own, seconds: used } of peaks.processes) {
      console.log(`| ${[name, rss.toFixed(0), own.toFixed(0), used.toFixed(1)].join(' | ')} |`);
    }
  } finally {
    over.abort();
    await gateway.stop();
    await rm(directory, { recursive: true });
  }
}

/** The requests of all seconds. */
function* batchesFrom(startMs: number): Generator<VectorBatch> {
  const at = (second: number) => startMs + second * 1000;
  if (burst === 0) return yield* vectorBatches({ startMs, endMs: at(seconds), perSecond });
  const [begin, end] = [beforeBurst, beforeBurst + burstSeconds];
  yield* vectorBatches({ startMs, endMs: at(begin), perSecond, isEven: true });
  yield* vectorBatches({ startMs: at(begin), endMs: at(end), perSecond: burst, isEven: true });
  yield* vectorBatches({ startMs: at(end), endMs: at(seconds), perSecond, isEven: true });
}

/** Sends each second's requests when they are due, and again where they are refused, as Vector does. */
async function sendEvents(gateway: GatewayProcess) {
  const startMs = Date.now();
  const sent = { events: 0, edge: 0, refused: 0, seconds: 0, p95Ms: 0 };
  const times: number[] = [];
  const pending = new Set<Promise<void>>();
  for (const batch of batchesFrom(startMs)) {
    const early = batch.atMs - Date.now();
    if (early > 0) await delay(early);
    sent.events += batch.events.length;
    if (batch.source === 'cloudflare.logs.prod') sent.edge += batch.events.length;
    const sending = (async () => {
      for (;;) {
        const beganMs = performance.now();
        const answer = await fetch(`${gateway.origin}/api/logs?source_name=${batch.source}`, {
          method: 'POST',
          headers: { 'x-api-key': gateway.token },
          body: JSON.stringify(batch.events),
        });
        const text = await answer.text();
        times.push(performance.now() - beganMs);
        if (answer.status === 200) return;
        if (answer.status !== 503) throw new Error(text);
        sent.refused++;
        await delay(1000 * Number(answer.headers.get('retry-after')));
      }
    })();
    pending.add(sending);
    sending.finally(() => pending.delete(sending)).catch(() => undefined);
  }
  await Promise.all(pending);
  sent.seconds = (Date.now() - startMs) / 1000;
  sent.p95Ms = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;
  return sent;
}

/** Milliseconds without a further event after which no more are expected: a turn of storing takes seconds where all processors are busy. */
const patienceMs = 60_000;

/** Waits until so many edge events are in the answers, which takes minutes where more came than can be stored meanwhile. */
async function untilSeen(gateway: GatewayProcess, total: number): Promise<void> {
  const onProgress = createProgressBar(process.stderr, 'Waiting for edge events');
  let done = 0;
  let progressMs = performance.now();
  while (done < total) {
    const seen = await countEdge(gateway);
    if (seen > done) progressMs = performance.now();
    if (performance.now() - progressMs > patienceMs)
      throw new Error(`Only ${done} of ${total} edge events are there`);
    done = seen;
    onProgress({ done, total });
    await delay(100);
  }
}

async function countEdge(gateway: GatewayProcess): Promise<number> {
  const request = restRequest(gateway, 'logs.all', { project, sql: 'select count(*) as n from edge_logs' });
  return JSON.parse((await askServer(gateway, request)).body.toString()).result[0].n;
}

async function askOn(gateway: GatewayProcess, over: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; !over.aborted; n++) {
    const sql = questions[n % questions.length]!;
    const iso_timestamp_start = new Date(Date.now() - 3_600_000).toISOString();
    const startedMs = performance.now();
    const { body } = await askServer(
      gateway,
      restRequest(gateway, 'logs.all', { project, sql, iso_timestamp_start }),
    );
    if (!body.includes('"result"')) throw new Error(`${sql}: ${body}`);
    times.push(performance.now() - startedMs);
    await delay(500);
  }
  return times;
}

/** What a process has in memory, in megabytes: all of it, what belongs to no file, and of each file; and the seconds of processor time that it has used. */
type Used = { name: string; rss: number; own: number; files: Map<string, number>; seconds: number };
type Peaks = { rss: number; once: number; processes: Used[] };

/** Megabytes of a process and of all that it started, as they grow. */
async function watchMemory(pid: number, over: AbortSignal, peaks: Peaks): Promise<void> {
  while (!over.aborted) {
    const processes = await Promise.all((await treeOf(pid)).map(usedBy));
    peaks.rss = Math.max(peaks.rss, sumOf(processes, 'rss'));
    const once = sumOf(processes, 'own') + filesOnce(processes);
    if (once > peaks.once) Object.assign(peaks, { once, processes });
    await delay(500);
  }
}

const sumOf = (processes: readonly Used[], key: 'rss' | 'own') =>
  processes.reduce((total, each) => total + each[key], 0);

/**
 * Megabytes of the files of which these processes have parts in memory, each file once: as much as the process has that has most of it. The kernel's own
 * shares (Pss) would be smaller wherever other programs use the same files, such as this one, which is Node's as well.
 */
function filesOnce(processes: readonly Used[]): number {
  const most = new Map<string, number>();
  for (const { files } of processes) {
    for (const [path, mb] of files) most.set(path, Math.max(mb, most.get(path) ?? 0));
  }
  return most.values().reduce((total, mb) => total + mb, 0);
}

async function usedBy(pid: number): Promise<Used> {
  const text = await readFile(`/proc/${pid}/smaps`, 'utf8').catch(() => '');
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  const used: Used = {
    name: basename(command.find(word => word.endsWith('.ts')) ?? command[0] ?? ''),
    rss: 0,
    own: 0,
    files: new Map(),
    seconds: await cpuSeconds(pid).catch(() => 0),
  };
  // Each mapping begins with its addresses.
  for (const mapping of text.split(/^(?=[\da-f]+-[\da-f]+ )/m)) {
    const mb = (key: string) =>
      Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(mapping)?.[1] ?? 0) / 1024;
    const [all, own] = [mb('Rss'), mb('Anonymous')];
    const path = /^.* (\/.*)$/m.exec(mapping)?.[1] ?? '';
    used.rss += all;
    used.own += own;
    used.files.set(path, (used.files.get(path) ?? 0) + all - own);
  }
  return used;
}

async function treeOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const below = await Promise.all(
    children
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(child => treeOf(Number(child))),
  );
  return [pid, ...below.flat()];
}

async function bytesOf(directory: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(directory, { recursive: true })) {
    sum += (await stat(join(directory, name)).catch(() => undefined))?.size ?? 0;
  }
  return sum;
}
