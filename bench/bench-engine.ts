import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { askServer, restRequest } from './ask-server.ts';
import type { BareServerSettings } from './bare-server.ts';
import { benchData, benchRows, currentFile } from './bench-data.ts';
import { type DirectDuckDb, openDirectDuckDb } from './direct-duckdb.ts';
import type { DuckDbServerSettings } from './duckdb-server.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { timeBlocks } from './time-blocks.ts';

const project = sampleProjects[0];

/** Saved queries, and blocks of runs: a millisecond above ten is only seen in many. */
const questions: readonly {
  readonly endpoint: string;
  readonly parameters: Record<string, string>;
  readonly blocks: number;
}[] = [
  { endpoint: 'logs.all', parameters: { project }, blocks: 40 },
  { endpoint: 'logs.all', parameters: { project, ...lastHour() }, blocks: 40 },
  { endpoint: 'usage.api-counts', parameters: { interval: 'minutely', project }, blocks: 40 },
  { endpoint: 'usage.api-counts', parameters: { interval: 'daily', project }, blocks: 10 },
];

/** What somebody would write for DuckDB itself, its rows turned into JSON by its own client; the placeholders are the compiler's. */
const handwritten: Record<string, string> = {
  'logs.all': `SELECT id, timestamp, event_message, metadata FROM "cloudflare.logs.prod"
    WHERE project = $p1 AND ($p2::VARCHAR IS NULL OR timestamp > $p2::TIMESTAMPTZ)
      AND ($p3::VARCHAR IS NULL OR timestamp <= $p3::TIMESTAMPTZ)
    ORDER BY timestamp DESC, id LIMIT 100`,
  'usage.api-counts': `SELECT date_trunc(unit, timestamp AT TIME ZONE 'UTC') AS bucket,
      count(*) FILTER (contains(path, '/rest')), count(*) FILTER (contains(path, '/storage')),
      count(*) FILTER (contains(path, '/auth')), count(*) FILTER (contains(path, '/realtime'))
    FROM (SELECT timestamp, metadata.request.path AS path,
        CASE $p1 WHEN 'minutely' THEN 'minute' WHEN 'hourly' THEN 'hour' ELSE 'day' END AS unit
      FROM "cloudflare.logs.prod"
      WHERE timestamp >= $now::TIMESTAMPTZ - CASE $p1 WHEN 'daily' THEN INTERVAL 7 DAYS ELSE INTERVAL 1 HOUR END
        AND regexp_matches(metadata.request.url, $p2))
    GROUP BY ALL ORDER BY 1`,
};

/**
 * What the gateway adds: the saved queries over REST, beside the same statements straight on DuckDB in this process, in
 * alternating blocks on the same file. Every side ends with the rows as JSON text. Between the two are servers that do less, one step after another:
 * DuckDB in this process and then a bare `node:http` for the same bytes; a bare server with DuckDB in a process of its own; the same with
 * the low priority of the engine's processes. Above its engine is, by the gateway's own metrics, the mean time of a request that is not the engine's.
 */
export async function benchEngine(): Promise<void> {
  const directory = await benchData();
  await withoutCache(join(directory, 'sql'));
  const environment = {
    DATA_DIR: directory,
    SQL_DIR: join(directory, 'sql'),
    SAMPLE_ROWS: String(benchRows),
  };
  const gateway = await startGatewayProcess(environment);
  try {
    const direct = await openDirectDuckDb(currentFile(directory));
    console.log(`\n${benchRows.toLocaleString('en')} edge rows, medians in ms\n`);
    console.log(`| query | DuckDB by hand | DuckDB | then \`node:http\` | in a process of its own | of low priority | gateway | gateway / DuckDB | above DuckDB | above its engine | goal |
|---|---|---|---|---|---|---|---|---|---|---|`);
    for (const question of questions) await compare(gateway, direct, currentFile(directory), question);
  } finally {
    await gateway.stop();
  }
}

async function compare(
  gateway: GatewayProcess,
  direct: DirectDuckDb,
  file: string,
  { endpoint, parameters, blocks }: (typeof questions)[number],
): Promise<void> {
  const sql = await readFile(`sql/${endpoint}.sql`, 'utf8');
  const compiled = direct.compile(sql);
  const straight = () => direct.runCompiled(compiled, parameters);
  const through = () => askServer(gateway, restRequest(gateway, endpoint, parameters));
  const stops: (() => void)[] = [];
  const start = async (module: string, settings: object) => {
    const server = await startServer(module, settings);
    stops.push(server.stop);
    return () => askServer(server, { path: '/', headers: {} });
  };
  const { body } = await through();
  const headers = ['content-length', String(body.length)];
  const send = await start('./bare-server.ts', { headers, body } satisfies BareServerSettings);
  const query = { file, sql, parameters };
  const apart = await start('./duckdb-server.ts', { ...query, isLow: false } satisfies DuckDbServerSettings);
  const low = await start('./duckdb-server.ts', { ...query, isLow: true } satisfies DuckDbServerSettings);
  const before = await secondsOf(gateway);
  const times = await timeBlocks(
    {
      byHand: () => direct.runByHand(handwritten[endpoint] ?? '', compiled, parameters),
      straight,
      served: async () => {
        await straight();
        await send();
      },
      apart,
      low,
      through,
    },
    blocks,
  );
  for (const stop of stops) stop();
  const after = await secondsOf(gateway);
  const runs = after.runs - before.runs;
  const aboveEngine = (1000 * (after.requests - before.requests - (after.queries - before.queries))) / runs;
  const asked = new URLSearchParams(parameters).toString().replace(/project=\w+&?/, '');
  const { byHand, served, through: whole } = times;
  const above = [whole / times.straight, whole - times.straight, aboveEngine];
  const cells = [byHand, times.straight, served, times.apart, times.low, whole, ...above];
  console.log(`| ${endpoint} ${asked} | ${cells.map(value => value.toFixed(2)).join(' | ')} | 1 |`);
}

/** Seconds that a gateway has taken for its GET requests, earlier ones for these figures among them, and that its engine has taken for queries. */
async function secondsOf(gateway: GatewayProcess) {
  const { body } = await askServer(gateway, { path: '/metrics', headers: { 'x-api-key': gateway.token } });
  const sumOf = (name: string) =>
    [...body.toString().matchAll(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  return {
    requests: sumOf('http_request_seconds_sum'),
    queries: sumOf('engine_query_seconds_sum'),
    runs: sumOf('engine_query_seconds_count'),
  };
}

/** Starts a server in a process of its own, which takes its settings as the first message and answers with its port. */
async function startServer(module: string, settings: object) {
  const child = fork(fileURLToPath(new URL(module, import.meta.url)), { serialization: 'advanced' });
  child.send(settings);
  const [port] = await once(child, 'message');
  return { origin: `http://127.0.0.1:${port}`, stop: () => void child.kill() };
}

/** The saved queries with their caches off, so that every request runs. */
export async function withoutCache(directory: string): Promise<void> {
  await cp('sql', directory, { recursive: true });
  for (const { endpoint } of questions) {
    const file = join(directory, `${endpoint}.sql`);
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      text.replace(/^cacheSeconds: .*$/m, 'cacheSeconds: 0').replace(/^warmSeconds: .*$/m, 'warmSeconds: 0'),
    );
  }
}

function lastHour() {
  return { iso_timestamp_start: new Date(Date.now() - 3_600_000).toISOString() };
}
