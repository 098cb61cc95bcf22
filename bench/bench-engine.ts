import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { askServer, restRequest } from './ask-server.ts';
import type { BareServerSettings } from './bare-server.ts';
import { benchData, benchRows, currentFile } from './bench-data.ts';
import { openDirectDuckDb } from './direct-duckdb.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { timeBlocks } from './time-blocks.ts';

const project = sampleProjects[0];

const questions: readonly { endpoint: string; parameters: Record<string, string> }[] = [
  { endpoint: 'logs.all', parameters: { project } },
  { endpoint: 'logs.all', parameters: { project, ...lastHour() } },
  { endpoint: 'usage.api-counts', parameters: { interval: 'minutely', project } },
  { endpoint: 'usage.api-counts', parameters: { interval: 'daily', project } },
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
 * alternating blocks on the same file. Above `node:http` is what it takes beyond DuckDB, then `node:http`. Above its engine is, by the gateway's own metrics, the mean time of a request that is not the engine's. Every side ends with the rows as JSON text. What a bare `node:http` takes to send the same bytes after the
 * statement's run is the least that any server adds.
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
    console.log(`\n${benchRows.toLocaleString('en')} edge rows, medians\n`);
    console.log(
      '| query | DuckDB by hand (ms) | DuckDB (ms) | DuckDB, then `node:http` (ms) | gateway (ms) | gateway / DuckDB | above DuckDB (ms) | above `node:http` (ms) | above its engine (ms) | goal |\n|---|---|---|---|---|---|---|---|---|---|',
    );
    for (const { endpoint, parameters } of questions) {
      const compiled = direct.compile(await readFile(`sql/${endpoint}.sql`, 'utf8'));
      const straight = () => direct.runCompiled(compiled, parameters);
      const through = () => askServer(gateway, restRequest(gateway, endpoint, parameters));
      const bare = await startBareServer((await through()).body);
      const before = await secondsOf(gateway);
      const times = await timeBlocks({
        byHand: () => direct.runByHand(handwritten[endpoint] ?? '', compiled, parameters),
        straight,
        served: async () => {
          await straight();
          await askServer(bare, { path: '/', headers: {} });
        },
        through,
      });
      bare.stop();
      const after = await secondsOf(gateway);
      const runs = after.runs - before.runs;
      const aboveEngine =
        (1000 * (after.requests - before.requests - (after.queries - before.queries))) / runs;
      const asked = new URLSearchParams(parameters).toString().replace(/project=\w+&?/, '');
      const ratio = times.through / times.straight;
      const cells = [
        times.byHand,
        times.straight,
        times.served,
        times.through,
        ratio,
        times.through - times.straight,
        times.through - times.served,
        aboveEngine,
      ];
      console.log(`| ${endpoint} ${asked} | ${cells.map(value => value.toFixed(2)).join(' | ')} | 1 |`);
    }
  } finally {
    await gateway.stop();
  }
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

/** A bare `node:http` in a process of its own that answers every request with this body. */
async function startBareServer(body: Buffer) {
  const child = fork(fileURLToPath(new URL('./bare-server.ts', import.meta.url)), {
    serialization: 'advanced',
  });
  child.send({ headers: ['content-length', String(body.length)], body } satisfies BareServerSettings);
  const [port] = await once(child, 'message');
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.kill() };
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
