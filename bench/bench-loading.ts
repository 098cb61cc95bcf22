import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { askServer, restRequest, type ServerRequest } from './ask-server.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { cpuSeconds, residentMb } from './process-usage.ts';

/** Rows of one request, and milliseconds from one to the next: a thousand rows a second. */
const rowsAtOnce = 500;
const everyMs = 500;

const seconds = 10;
const asks = 100;

/**
 * Rows that are loaded while a gateway serves: what that does to queries, and, in a second load beside ten queries a second that look for
 * them, when they are seen.
 */
export async function benchLoading(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-loading-'));
  const gateway = await startGatewayProcess({ DATA_DIR: directory });
  try {
    await timeQueries(gateway);
    const before = await timeQueries(gateway);
    const [, during] = await Promise.all([
      loadRows(gateway, { isWatched: false }),
      delay(2000).then(() => timeQueries(gateway)),
    ]);
    await delay(3000); // the last turn
    const after = await timeQueries(gateway);
    console.log(
      '\n| query | p50, before, while 1,000 rows a second come, and after (ms) | p95 (ms) | engine (ms) | p50, ratio | engine, ratio |\n|---|---|---|---|---|---|',
    );
    for (const [name, beside] of Object.entries(during)) {
      const all = [before[name]!, beside, after[name]!];
      const cells = [shown(all, 'p50'), shown(all, 'p95'), shown(all, 'engine')];
      // The rows that came stay: half of what they cost is in the mean of before and after.
      const ratio = (key: keyof Timed) =>
        ((2 * beside[key]) / (before[name]![key] + after[name]![key])).toFixed(2);
      console.log(`| ${[name, ...cells, ratio('p50'), ratio('engine')].join(' | ')} |`);
    }
    const delays = await loadRows(gateway, { isWatched: true });
    console.log(
      '\n| rows seen after their 200 | p50 (ms) | p95 (ms) | max (ms) | gateway (MB) |\n|---|---|---|---|---|',
    );
    const cells = [at(delays, 0.5), at(delays, 0.95), at(delays, 1), await residentMb(gateway.pid)];
    console.log(`| ${delays.length * rowsAtOnce} | ${cells.map(cell => cell.toFixed(0)).join(' | ')} |`);
  } finally {
    await gateway.stop();
    await rm(directory, { recursive: true });
  }
}

/** Milliseconds of a query: until its answer, and of processor time in the engine's processes, their turn to another file included. */
type Timed = { readonly p50: number; readonly p95: number; readonly engine: number };

const shown = (all: readonly Timed[], key: keyof Timed) => all.map(timed => timed[key].toFixed(1)).join(', ');

const at = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

/** Queries that no cache answers, one after the other. */
async function timeQueries(gateway: GatewayProcess): Promise<Record<string, Timed>> {
  const project = sampleProjects[0];
  const fresh = (request: ServerRequest): ServerRequest => ({
    ...request,
    headers: { ...request.headers, 'cache-control': 'no-cache' },
  });
  const requests = {
    'logs.all': fresh(restRequest(gateway, 'logs.all', { project })),
    'usage.api-counts daily': fresh(restRequest(gateway, 'usage.api-counts', { interval: 'daily', project })),
  };
  const times: Record<string, Timed> = {};
  for (const [name, request] of Object.entries(requests)) {
    const usedMs = await engineMs(gateway);
    const own: number[] = [];
    for (let n = 0; n < asks; n++) {
      const startedMs = performance.now();
      await askServer(gateway, request);
      own.push(performance.now() - startedMs);
    }
    const engine = ((await engineMs(gateway)) - usedMs) / asks;
    times[name] = { p50: at(own, 0.5), p95: at(own, 0.95), engine };
  }
  return times;
}

/** Milliseconds of processor time that the engine's processes have used so far. */
async function engineMs({ pid }: GatewayProcess): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  let sum = 0;
  for (const child of children.filter(Boolean)) {
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('engine-process')) sum += (await cpuSeconds(Number(child))) * 1000;
  }
  return sum;
}

/** Rows that were sent so far. */
let sent = 0;

/**
 * @param isWatched whether queries look for the rows
 * @returns for each request the milliseconds from its answer until a query counts its rows
 */
async function loadRows(gateway: GatewayProcess, { isWatched }: { isWatched: boolean }): Promise<number[]> {
  const seen: Promise<number>[] = [];
  for (let turn = 0; turn < (seconds * 1000) / everyMs; turn++) {
    const next = delay(everyMs);
    const rows = Array.from({ length: rowsAtOnce }, () => rowOf(sent++));
    const answer = await fetch(`${gateway.origin}/api/sources/cloudflare.logs.prod/rows`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.token },
      body: rows.join('\n'),
    });
    if (answer.status !== 200) throw new Error(`Rows were not taken: ${await answer.text()}`);
    if (isWatched) seen.push(timeUntilSeen(gateway, sent));
    await next;
  }
  return Promise.all(seen);
}

const project = 'benchloadingrows';

function rowOf(n: number): string {
  const request = [
    { method: 'GET', path: '/rest/v1/things', url: `https://${project}.example/rest/v1/things` },
  ];
  const metadata = [{ request, response: [{ status_code: 200 }] }];
  return JSON.stringify({
    id: `loaded-${n}`,
    timestamp: new Date().toISOString(),
    project,
    event_message: 'loaded',
    metadata,
  });
}

async function timeUntilSeen(gateway: GatewayProcess, rows: number): Promise<number> {
  const startedMs = performance.now();
  const request = restRequest(gateway, 'logs.all', { project, sql: 'select count(*) as n from edge_logs' });
  for (;;) {
    const { result } = JSON.parse((await askServer(gateway, request)).body.toString());
    if (result[0].n >= rows) return performance.now() - startedMs;
    await delay(100);
  }
}
