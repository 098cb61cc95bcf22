import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { sampleProjects } from '../../src/sample/vocabulary.ts';
import { startRedisServer } from '../../test/support/redis-server.ts';
import { askServer, graphqlRequest, restRequest } from '../ask-server.ts';
import { benchData, benchRows } from '../bench-data.ts';
import { withoutCache } from '../bench-engine.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.ts';
import { residentMb } from '../process-usage.ts';
import { startSideTask } from '../side-process.ts';
import { median } from '../time-blocks.ts';
import type { EntriesFigures, EntriesSettings } from './cache-entries.ts';
import { manyRows, seedRows } from './many-rows.ts';

/** What was measured at one size of what grows. */
type Point = { readonly size: number; readonly figures: Readonly<Record<string, number>> };

type Curve = {
  /** What grows. */
  readonly what: string;
  readonly sizes: readonly number[];
  readonly measure: (size: number, directory: string) => Promise<Point['figures']>;
};

/** Rows of the longest table: `BENCH_MAX_ROWS`, default ten million. A hundred million take 6 GB and a quarter of an hour to make. */
const maxRows = Number(process.env.BENCH_MAX_ROWS ?? 10_000_000);

const curves: Readonly<Record<string, Curve>> = {
  queries: { what: 'saved queries', sizes: [2, 20, 200, 2000], measure: withQueries },
  tokens: { what: 'tokens', sizes: [1, 100, 10_000, 100_000], measure: withTokens },
  gateways: { what: 'gateways over one Redis', sizes: [1, 2, 4, 8, 16], measure: withGateways },
  memory: { what: 'entries in process', sizes: [1000, 10_000, 100_000, 1_000_000], measure: withEntries },
  redis: { what: 'entries in Redis', sizes: [1000, 10_000, 100_000, 1_000_000], measure: withEntriesInRedis },
  warm: { what: 'warm keys', sizes: [100, 1000, 10_000, 100_000], measure: withWarmKeys },
  rows: { what: 'edge rows of seven days', sizes: [1, 1000, 1_000_000, 10_000_000, 100_000_000].filter(size => size <= maxRows), measure: withRows },
}; // biome-ignore format: a table

/**
 * How what the gateway costs grows with what it serves: a table for each thing that grows, and below it the exponent of each curve.
 * 0 is flat, 1 is linear. `GROWTH=warm` measures one of them, `GROWTH_SIZE=100000` one point.
 */
export async function benchGrowth(): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'bench-growth-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  try {
    for (const [name, { what, sizes, measure }] of Object.entries(curves)) {
      if ((process.env.GROWTH ?? name) !== name) continue;
      const asked = sizes.filter(size => (process.env.GROWTH_SIZE ?? String(size)) === String(size));
      printCurve(what, await measureAt(asked, size => measure(size, directory)));
    }
  } finally {
    await cleanup.disposeAsync();
  }
}

async function measureAt(
  sizes: readonly number[],
  measure: (size: number) => Promise<Point['figures']>,
): Promise<Point[]> {
  const points: Point[] = [];
  for (const size of sizes) points.push({ size, figures: await measure(size) });
  return points;
}

function printCurve(what: string, points: readonly Point[]): void {
  const names = Object.keys(points[0]?.figures ?? {});
  const row = (cells: readonly string[]) => console.log(`| ${cells.join(' | ')} |`);
  console.log('');
  row([what, ...names]);
  row(['', ...names].map(() => '---'));
  for (const { size, figures } of points) {
    row([size.toLocaleString('en'), ...names.map(name => show(figures[name] ?? Number.NaN))]);
  }
  row(['exponent', ...names.map(name => exponent(points, name).toFixed(2))]);
}

const show = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });

/** The slope of the logarithms by least squares. */
function exponent(points: readonly Point[], name: string): number {
  const logs = points.map(({ size, figures }) => [Math.log(size), Math.log(figures[name] ?? 0)] as const);
  const mean = (at: 0 | 1) => logs.reduce((sum, log) => sum + log[at], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const above = logs.reduce((sum, log) => sum + (log[0] - x) * (log[1] - y), 0);
  return above / logs.reduce((sum, log) => sum + (log[0] - x) ** 2, 0);
}

const project = '.';

/** The folder of the benches' data, made before the first gateway opens it. */
let made: Promise<string> | undefined;

function data(): Promise<string> {
  made ??= benchData();
  return made;
}

async function startGateway(environment: Record<string, string>): Promise<GatewayProcess> {
  return startGatewayProcess({ DATA_DIR: await data(), SAMPLE_ROWS: String(benchRows), ...environment });
}

/** @returns milliseconds */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

const savedQuery = (n: number, description: string) => `/*
id: 00000000-0000-4000-8000-${String(n).padStart(12, '0')}
name: report.number-${n}
description: ${description}
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  hour: { type: TIMESTAMP, required: true, description: An hour. }
  requests: { type: INT64, required: true, description: Its requests. }
cacheSeconds: 60
*/
select timestamp_trunc(timestamp, hour) as hour, count(*) + ${n} as requests
from \`cloudflare.logs.prod\` where project = @project group by hour order by hour
`;

/** A start, the first request to GraphQL, which builds the schema, a request to REST, and the change of one file until it is served. */
async function withQueries(size: number, parent: string): Promise<Point['figures']> {
  const directory = await mkdtemp(join(parent, 'sql-'));
  const file = (n: number) => join(directory, `report.number-${n}.sql`);
  for (let n = 1; n <= size; n++) await writeFile(file(n), savedQuery(n, 'Requests by hour.'));
  const gateway = await startGateway({ SQL_DIR: directory });
  try {
    const schema = await timeOf(() =>
      askServer(gateway, graphqlRequest(gateway, { query: '{ __typename }' })),
    );
    const path = `report.number-${size}`;
    const plan = await timeOf(() => askServer(gateway, restRequest(gateway, path, { project })));
    const changed = await timeOf(async () => {
      await writeFile(file(1), savedQuery(1, 'It has changed.'));
      const catalogue = { path: '/api/endpoints/report.number-1', headers: { 'x-api-key': gateway.token } };
      while (!(await askServer(gateway, catalogue)).body.includes('It has changed.'));
    });
    return {
      'start (ms)': gateway.readyMs,
      'schema (ms)': schema,
      'first rows (ms)': plan,
      'changed file (ms)': changed,
      'memory (MB)': await residentMb(gateway.pid),
    };
  } finally {
    await gateway.stop();
  }
}

/** A start, and requests with tokens that were not seen before: one that is there, one that is not. */
async function withTokens(size: number, parent: string): Promise<Point['figures']> {
  const directory = await mkdtemp(join(parent, 'tokens-'));
  const secrets = Array.from({ length: size }, () => randomBytes(24).toString('base64url'));
  const records = secrets.map((secret, n) => ({
    id: n.toString(16).padStart(8, '0'),
    name: `number ${n}`,
    hash: createHash('sha256').update(secret).digest('hex'),
    scopes: [],
    createdAt: new Date().toISOString(),
  }));
  const file = join(directory, 'tokens.json');
  await writeFile(file, JSON.stringify(records));
  const gateway = await startGateway({ TOKENS_FILE: file });
  try {
    const asks = 200;
    const ask = async (key: (n: number) => string) => {
      for (let n = 0; n < asks; n++) {
        await fetch(`${gateway.origin}/api/endpoints`, { headers: { 'x-api-key': key(n) } }).then(response =>
          response.text(),
        );
      }
    };
    await ask(() => gateway.token);
    const known = await timeOf(() => ask(n => secrets[n % size]!));
    const unknown = await timeOf(() => ask(n => `unknown-${n}`));
    return {
      'start (ms)': gateway.readyMs,
      'known token (ms)': known / asks,
      'unknown token (ms)': unknown / asks,
      'memory (MB)': await residentMb(gateway.pid),
    };
  } finally {
    await gateway.stop();
  }
}

const keys = 50;
const rounds = 4;
const idleMs = 10_000;

/** What Redis is asked for when each of some keys is asked for several times, the requests in turn by all gateways. */
async function withGateways(size: number): Promise<Point['figures']> {
  const cleanup = new AsyncDisposableStack();
  try {
    const redis = cleanup.adopt(await startRedisServer(), each => each.stop());
    const gateways: GatewayProcess[] = [];
    for (let n = 0; n < size; n++) {
      gateways.push(cleanup.adopt(await startGateway({ REDIS_URL: redis.url }), each => each.stop()));
    }
    const read = async () => {
      const text = await redis.command('INFO stats');
      const stat = (name: string) => Number(new RegExp(`${name}:(\\d+)`).exec(text)?.[1]);
      return { commands: stat('total_commands_processed'), bytes: stat('total_net_output_bytes') };
    };
    const before = await read();
    let requests = 0;
    for (let round = 0; round < rounds; round++) {
      for (let key = 0; key < keys; key++) {
        const gateway = gateways[requests++ % size]!;
        await askServer(
          gateway,
          restRequest(gateway, 'usage.api-counts', { interval: 'hourly', project: `p${key}` }),
        );
      }
    }
    const after = await read();
    await delay(idleMs);
    const idle = await read();
    return {
      'commands a request': (after.commands - before.commands) / requests,
      'KB out of Redis a request': (after.bytes - before.bytes) / requests / 1024,
      'commands a second, idle': (idle.commands - after.commands) / (idleMs / 1000),
      'KB out of Redis a second, idle': (idle.bytes - after.bytes) / (idleMs / 1000) / 1024,
    };
  } finally {
    await cleanup.disposeAsync();
  }
}

/** The cache of one gateway without Redis. */
async function withEntries(size: number): Promise<Point['figures']> {
  const figures = await entriesTask({ size });
  return {
    'make one (µs)': figures.makeMs * 1000,
    'read one (µs)': figures.readMs * 1000,
    'KB of one': figures.bytes / 1024,
  };
}

/** The same with all entries in Redis. */
async function withEntriesInRedis(size: number): Promise<Point['figures']> {
  const redis = await startRedisServer();
  try {
    const stat = async (name: string) =>
      Number(new RegExp(`${name}:([\\d.]+)`).exec(await redis.command('INFO all'))?.[1]);
    const memory = await stat('used_memory');
    const figures = await entriesTask({ size, redisUrl: redis.url });
    const readMicros = (await stat('cmdstat_mget:calls=\\d+,usec=\\d+,usec_per_call')) || 0;
    return {
      'make one (µs)': figures.makeMs * 1000,
      'read one (µs)': figures.readMs * 1000,
      'MGET in Redis (µs)': readMicros,
      'KB of Redis': ((await stat('used_memory')) - memory) / size / 1024,
    };
  } finally {
    await redis.stop();
  }
}

async function entriesTask(settings: EntriesSettings): Promise<EntriesFigures> {
  const { ready, result } = startSideTask<EntriesFigures>('./growth/cache-entries.ts', settings);
  await ready;
  return result;
}

/** Each question as often as makes a median; none is answered by a cache. */
const asks = 7;

async function withRows(size: number, parent: string): Promise<Point['figures']> {
  const sqlFolder = await mkdtemp(join(parent, 'rows-'));
  await withoutCache(sqlFolder);
  // With another rate than that of the file a gateway would remove the sample's rows; a file of copies has none.
  const sampleRows = size > seedRows ? 0 : size;
  const environment = { DATA_DIR: await manyRows(size), SAMPLE_ROWS: String(sampleRows), SQL_DIR: sqlFolder };
  const gateway = await startGatewayProcess(environment);
  const ref = sampleProjects[0];
  const since = new Date(Date.now() - 86_400_000).toISOString();
  const byHour = `select timestamp_trunc(timestamp, hour) as hour, count(*) as requests from edge_logs group by hour order by hour`;
  const questions = {
    'logs.all (ms)': ['logs.all', { project: ref }],
    'usage.api-counts minutely (ms)': ['usage.api-counts', { interval: 'minutely', project: ref }],
    'usage.api-counts daily (ms)': ['usage.api-counts', { interval: 'daily', project: ref }],
    "caller's SQL, one day (ms)": ['logs.all', { project: ref, iso_timestamp_start: since, sql: byHour }],
  } as const;
  try {
    const figures: Record<string, number> = { 'start (ms)': gateway.readyMs };
    for (const [name, [endpoint, parameters]] of Object.entries(questions)) {
      const times: number[] = [];
      for (let n = 0; n < asks; n++) {
        times.push(await timeOf(() => askServer(gateway, restRequest(gateway, endpoint, parameters))));
      }
      const { body } = await askServer(gateway, restRequest(gateway, endpoint, parameters));
      const { result } = JSON.parse(body.toString()) as { result: unknown[] };
      if (result.length === 0 && size >= seedRows) throw new Error(`${name} has no rows of ${size}`);
      figures[name] = median(times);
    }
    return figures;
  } finally {
    await gateway.stop();
  }
}

/** Twenty letters and digits, as references of projects are: other patterns have no batch of a thousand. */
const manyName = (n: number) => `${n.toString(36).padStart(4, '0')}abcdefghijklmnop`;

/** Fields of one operation, and so projects of one query. */
const fieldsAtOnce = 100;
const periodSeconds = 30;

/** One worker that keeps as many projects of one saved query warm: the cycle that refreshes them all. */
async function withWarmKeys(size: number, parent: string): Promise<Point['figures']> {
  const cleanup = new AsyncDisposableStack();
  try {
    const sqlFolder = await mkdtemp(join(parent, 'warm-'));
    for (const file of ['usage.api-counts.sql', 'usage.api-counts.batch.sql']) {
      const text = await readFile(join('sql', file), 'utf8');
      // A key stays for `cacheSeconds` after it was read, which is longer than the bench takes to read them all.
      const shorter = text.replace(/^cacheSeconds: .*$/m, 'cacheSeconds: 1800');
      await writeFile(
        join(sqlFolder, file),
        shorter.replace(/^warmSeconds: .*$/m, `warmSeconds: ${periodSeconds}`),
      );
    }
    const redis = cleanup.adopt(await startRedisServer(), each => each.stop());
    const environment = { REDIS_URL: redis.url, SQL_DIR: sqlFolder, WARM_MAX_KEYS: '200000' };
    const gateway = cleanup.adopt(await startGateway(environment), each => each.stop());
    for (let from = 0; from < size; from += fieldsAtOnce) {
      const fields = Array.from({ length: fieldsAtOnce }, (_, at) => {
        return `f${at}: usageApiCounts(project: "${manyName(from + at)}", interval: HOURLY) { timestamp }`;
      });
      await askServer(gateway, graphqlRequest(gateway, { query: `{ ${fields.join(' ')} }` }));
    }
    const worker = cleanup.adopt(await startWorker(environment), each => each.stop());
    const cycle = await worker.cycleOf(size);
    const memory = await redis.command('INFO memory');
    return {
      'one cycle (s)': cycle.ms / 1000,
      'runs of the engine': cycle.runs,
      'worker (MB)': await residentMb(worker.pid),
      'Redis (MB)': Number(/used_memory:(\d+)/.exec(memory)?.[1]) / 2 ** 20,
    };
  } finally {
    await cleanup.disposeAsync();
  }
}

type WarmCycle = { readonly refreshed: number; readonly runs: number; readonly ms: number };

type WorkerProcess = {
  readonly pid: number;
  /** The first cycle that refreshes this many keys. */
  cycleOf(keys: number): Promise<WarmCycle>;
  stop(): Promise<void>;
};

async function startWorker(environment: Record<string, string>): Promise<WorkerProcess> {
  const child = spawn('node', ['src/worker.ts'], {
    env: { ...process.env, DATA_DIR: await data(), LOG_LEVEL: 'debug', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = createInterface({ input: child.stderr });
  return {
    pid: child.pid!,
    async cycleOf(keys) {
      for await (const line of lines) {
        if (!line.includes('"warm.cycle"')) continue;
        const cycle: WarmCycle = JSON.parse(line);
        if (cycle.refreshed >= keys) return cycle;
      }
      throw new Error('The worker ended');
    },
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
