import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { bigqueryEnvironment } from '../test/bigquery/bigquery-environment.ts';
import { askServer, restRequest, type ServerRequest } from './ask-server.ts';
import { type GatewayProcess, startCommand, startGatewayProcess } from './gateway-process.ts';
import type { BareReaderSettings } from './large-results/bare-reader.ts';
import type { LargeCallersResult, LargeCallersSettings } from './large-results/large-callers.ts';
import type { ProberResult, ProberSettings } from './large-results/latency-prober.ts';
import { cores, onCore } from './on-core.ts';
import { peakResidentMb } from './process-usage.ts';
import { startSideProcess, startSideTask } from './side-process.ts';

const run = promisify(execFile);

/** Bytes of a result by default, after which the gateway stops reading. */
const maxBytes = 16 * 2 ** 20;
const seconds = Number(process.env.BENCH_SECONDS ?? 20);
/** Names of those who ask for large results. */
const callers = ['a', 'b', 'c', 'd'];
const forms = ['rows', 'packed', 'value'];

/** What answers the requests: the gateway, or a bare server. */
type Server = Pick<GatewayProcess, 'origin' | 'token'> & { readonly tokens: readonly string[] };

/**
 * How long other requests take while four callers each ask for a gigabyte of the warehouse, over and over. The gateway has a
 * processor to itself; the callers, the prober and the warehouse, whose large results come from a process of their own that gives
 * way to all others, share the other. Beside it a bare `node:http` that throws the same bytes away shows what the machine and the measuring add.
 */
export async function benchLargeResults(): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  try {
    await compareWaits(cleanup);
  } finally {
    await cleanup.disposeAsync();
  }
}

async function compareWaits(cleanup: AsyncDisposableStack): Promise<void> {
  const warehouse = cleanup.adopt(await startWarehouse(), each => each.stop());
  const directory = await mkdtemp(join(tmpdir(), 'bench-large-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const delayFile = join(directory, 'loop-delay');
  const gateway = cleanup.adopt(await startGateway(warehouse.origin, directory, delayFile), each =>
    each.stop(),
  );

  console.log('\n| server | callers of a gigabyte | request | answers | p50 (ms) | p99 (ms) | max (ms) |');
  console.log('|---|---|---|---|---|---|---|');
  const notes: string[] = [];
  const tokens = await Promise.all(callers.map(name => issueToken(name, directory)));
  const bare = cleanup.adopt(await startBare(warehouse.origin), each => each.stop());
  for (const form of ['none', ...forms]) {
    for (const [name, server] of Object.entries({
      gateway: { ...gateway, tokens },
      '`node:http`': { ...bare, token: '', tokens: callers },
    })) {
      const linesBefore = (await readDelays(delayFile)).length;
      const { times, ownStallMs, refused } = await measure(server, form);
      printTimes(`${name} | ${form}`, times);
      const stallMs = Math.max(...(await readDelays(delayFile)).slice(linesBefore));
      const stall = name === 'gateway' ? `, event loop late by ${stallMs.toFixed(0)} ms at most` : '';
      notes.push(
        `${name}, ${form}: ${refused} refused${stall}; the prober's own by ${ownStallMs.toFixed(0)} ms`,
      );
    }
  }
  console.log(`\n${notes.join('\n')}`);
  const peakMb = [gateway, bare].map(async ({ pid }) => `${(await peakResidentMb(pid)).toFixed(0)} MB`);
  console.log(`Resident at most: gateway, \`node:http\`: ${(await Promise.all(peakMb)).join(', ')}`);
}

/** One stretch of probing, with callers of large results or without. */
async function measure(server: Server, form: string): Promise<ProberResult & { readonly refused: number }> {
  const { origin, tokens } = server;
  const settings = { origin, requests: probesOf(server), seconds } satisfies ProberSettings;
  const prober = startSideTask<ProberResult>('./large-results/latency-prober.ts', settings);
  // Callers begin when the prober looks: what their first requests do is seen.
  await prober.ready;
  if (form === 'none') return { ...(await prober.result), refused: 0 };
  const load = { origin, tokens, form, seconds } satisfies LargeCallersSettings;
  const calling = startSideTask<LargeCallersResult>('./large-results/large-callers.ts', load);
  const [probed, { refused, otherwise }] = await Promise.all([prober.result, calling.result]);
  if (otherwise > 0) throw new Error(`${otherwise} large results were not refused`);
  return { ...probed, refused };
}

/** A request of every kind: nothing, a hit by both handlers, and a small query that is run each time. */
function probesOf({ token, origin }: Pick<Server, 'origin' | 'token'>): Record<string, ServerRequest> {
  const gateway = { token, origin } as GatewayProcess; // what a request is made of
  const sql = 'select "1" as x';
  const query = `{ usageApiCountsSql(project: "ours", interval: HOURLY, sql: ${JSON.stringify(sql)}) { rows } }`;
  return {
    '`/livez`': { path: '/livez', headers: {} },
    'hit by REST': restRequest(gateway, 'usage.api-counts', { interval: 'hourly', project: 'ours', sql }),
    'hit by GraphQL': {
      path: '/graphql',
      headers: { 'x-api-key': token, 'content-type': 'application/json' },
      payload: JSON.stringify({ query }),
    },
    'small query': restRequest(gateway, 'logs.all', { project: 'ours', sql }),
  };
}

function printTimes(head: string, times: ProberResult['times']): void {
  for (const [request, measured] of Object.entries(times)) {
    const sorted = measured.toSorted((a, b) => a - b);
    const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]?.toFixed(1);
    console.log(`| ${head} | ${request} | ${sorted.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`);
  }
}

async function startWarehouse() {
  const command = [process.execPath, 'test/bigquery/gigabyte-warehouse.ts', 'yielding'];
  const [program, ...args] = onCore(cores.others, command);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [origin] = await once(createInterface(child.stdout), 'line');
  return {
    origin: String(origin),
    async stop() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

async function startGateway(
  warehouse: string,
  directory: string,
  delayFile: string,
): Promise<GatewayProcess> {
  const module = new URL('large-results/log-loop-delay.ts', import.meta.url);
  const environment = {
    ...bigqueryEnvironment(warehouse),
    DATA_DIR: directory,
    LOOP_DELAY_FILE: delayFile,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${module}`,
  };
  const gateway = await startGatewayProcess(environment, onCore(cores.server, startCommand));
  // The first answers are misses.
  for (const request of Object.values(probesOf(gateway))) await askServer(gateway, request);
  return gateway;
}

/** A token of each caller's own: the gateway shares its turns between tokens. */
async function issueToken(name: string, directory: string): Promise<string> {
  const [program = '', ...args] = packageJson.scripts.token.split(' ');
  const { stdout } = await run(program, [...args, 'issue', '--name', name], {
    env: { ...process.env, DATA_DIR: directory },
  });
  const token = /\bsqg_\S+/.exec(stdout)?.[0];
  if (!token) throw new Error(`No token was issued: ${stdout}`);
  return token;
}

function startBare(warehouse: string) {
  const settings = { origin: warehouse, maxBytes, body: Buffer.from('{"result":[{"x":"1"}]}') };
  return startSideProcess('./large-results/bare-reader.ts', settings satisfies BareReaderSettings);
}

async function readDelays(file: string): Promise<number[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim().split('\n').map(Number);
}
