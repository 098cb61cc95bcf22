import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { askServer, restRequest, type ServerRequest } from './ask-server.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { residentMb } from './process-usage.ts';
import { median } from './time-blocks.ts';

/** Rows of one request, and milliseconds from one to the next: a thousand rows a second. */
const rowsAtOnce = 500;
const everyMs = 500;

const seconds = 15;
const asks = 25;

/**
 * Rows that are loaded while a gateway serves: when queries see them, and what that does to the queries. Ten requests a second more,
 * each a query, look for the rows.
 */
export async function benchLoading(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-loading-'));
  const gateway = await startGatewayProcess({ DATA_DIR: directory });
  try {
    await timeQueries(gateway);
    const before = await timeQueries(gateway);
    const [delays, during] = await Promise.all([
      loadRows(gateway),
      delay(2000).then(() => timeQueries(gateway)),
    ]);
    console.log('\n| query | before (ms) | while 1,000 rows a second come (ms) | ratio |\n|---|---|---|---|');
    for (const [name, ms] of Object.entries(before)) {
      const beside = during[name] ?? Number.NaN;
      console.log(`| ${name} | ${ms.toFixed(1)} | ${beside.toFixed(1)} | ${(beside / ms).toFixed(2)} |`);
    }
    const p95 = delays.toSorted((a, b) => a - b)[Math.floor(delays.length * 0.95)] ?? Number.NaN;
    console.log(
      '\n| rows seen after their 200 | p50 (ms) | p95 (ms) | max (ms) | gateway (MB) |\n|---|---|---|---|---|',
    );
    const cells = [median(delays), p95, Math.max(...delays), await residentMb(gateway.pid)];
    console.log(`| ${delays.length * rowsAtOnce} | ${cells.map(cell => cell.toFixed(0)).join(' | ')} |`);
  } finally {
    await gateway.stop();
    await rm(directory, { recursive: true });
  }
}

/** Medians of queries that no cache answers. */
async function timeQueries(gateway: GatewayProcess): Promise<Record<string, number>> {
  const project = sampleProjects[0];
  const fresh = (request: ServerRequest): ServerRequest => ({
    ...request,
    headers: { ...request.headers, 'cache-control': 'no-cache' },
  });
  const requests = {
    'logs.all': fresh(restRequest(gateway, 'logs.all', { project })),
    'usage.api-counts daily': fresh(restRequest(gateway, 'usage.api-counts', { interval: 'daily', project })),
  };
  const times: Record<string, number[]> = {};
  for (let n = 0; n < asks; n++) {
    for (const [name, request] of Object.entries(requests)) {
      const startedMs = performance.now();
      await askServer(gateway, request);
      times[name] = [...(times[name] ?? []), performance.now() - startedMs];
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
}

/** @returns for each request the milliseconds from its answer until a query counts its rows */
async function loadRows(gateway: GatewayProcess): Promise<number[]> {
  const seen: Promise<number>[] = [];
  for (let turn = 0; turn < (seconds * 1000) / everyMs; turn++) {
    const next = delay(everyMs);
    const rows = Array.from({ length: rowsAtOnce }, (_, n) => rowOf(turn * rowsAtOnce + n));
    const sent = await fetch(`${gateway.origin}/api/sources/cloudflare.logs.prod/rows`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.token },
      body: rows.join('\n'),
    });
    if (sent.status !== 200) throw new Error(`Rows were not taken: ${await sent.text()}`);
    seen.push(timeUntilSeen(gateway, (turn + 1) * rowsAtOnce));
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
