import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { prepareConnection, readCatalog } from '../src/duckdb/database.ts';
import { readSources } from '../src/duckdb/sources.ts';
import { type CompiledStatement, compileForDuckDb } from '../src/googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../src/googlesql/duckdb-macros.ts';
import { finishRow } from '../src/googlesql/finish-row.ts';
import { createProgressBar } from '../src/progress-bar.ts';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { writeSample } from '../src/sample/write-sample.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';

const rows = Number(process.env.BENCH_ROWS ?? 1_000_000);
const blocks = 5;
const blockRuns = 10;
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
 * alternating blocks on the same file. Every side ends with the rows as JSON text.
 */
export async function benchEngine(): Promise<void> {
  const directory = join(tmpdir(), `saved-query-gateway-bench-${rows}`);
  await mkdir(directory, { recursive: true });
  await writeSample({
    databasePath: join(directory, 'logs.duckdb'),
    sources: readSources(),
    rows,
    nowMs: Date.now(),
    onProgress: createProgressBar(process.stderr, 'Writing sample data'),
  });
  await withoutCache(join(directory, 'sql'));
  const environment = { DATA_DIR: directory, SQL_DIR: join(directory, 'sql'), SAMPLE_ROWS: String(rows) };
  const gateway = await startGatewayProcess(environment);
  try {
    const direct = await openDirect(join(directory, 'logs.duckdb'));
    console.log(
      `\n${rows.toLocaleString('en')} edge rows, medians of ${blocks * blockRuns} runs in alternating blocks\n`,
    );
    console.log(
      '| query | DuckDB by hand (ms) | DuckDB (ms) | gateway (ms) | gateway / DuckDB |\n|---|---|---|---|---|',
    );
    for (const { endpoint, parameters } of questions) {
      const straight = await direct(endpoint, parameters);
      const byHand = await direct(endpoint, parameters, handwritten[endpoint]);
      const times: Record<'byHand' | 'straight' | 'gateway', number[]> = {
        byHand: [],
        straight: [],
        gateway: [],
      };
      for (let block = 0; block < blocks; block++) {
        times.byHand.push(...(await timeBlock(byHand)));
        times.straight.push(...(await timeBlock(straight)));
        times.gateway.push(...(await timeBlock(() => ask(gateway, endpoint, parameters))));
      }
      const [hand, a, b] = [median(times.byHand), median(times.straight), median(times.gateway)];
      const asked = new URLSearchParams(parameters).toString().replace(/project=\w+&?/, '');
      console.log(
        `| ${endpoint} ${asked} | ${hand.toFixed(2)} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(b / a).toFixed(2)} |`,
      );
    }
  } finally {
    await gateway.stop();
  }
}

/** The saved queries with their caches off, so that every request runs. */
async function withoutCache(directory: string): Promise<void> {
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

/** The same statements in this process: prepared anew for each run, as the gateway does. */
async function openDirect(file: string) {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', memory_limit: '1024MB' });
  const connection = await instance.connect();
  await prepareConnection(connection, duckDbMacros);
  const catalog = new Map((await readCatalog(connection)).map(table => [table.name, table]));
  return async (endpoint: string, parameters: Record<string, string>, byHand?: string) => {
    const sql = await readFile(`sql/${endpoint}.sql`, 'utf8');
    const parameterNames = [...new Set([...sql.matchAll(/@(\w+)/g)].map(match => match[1]!))];
    const compiled = compileForDuckDb({ sql, catalog, parameterNames, maxRows: 1000 });
    return async () => {
      const statement = await connection.prepare(byHand ?? compiled.sql);
      for (let at = 1; at <= statement.parameterCount; at++) {
        const parameter = compiled.parameters.find(
          ({ placeholder }) => placeholder === statement.parameterName(at),
        )!;
        const value = parameters[parameter.name];
        if (parameter.kind === 'NOW')
          statement.bindTimestampTZ(at, new DuckDBTimestampTZValue(BigInt(Date.now()) * 1000n));
        else if (value === undefined) statement.bindNull(at);
        else statement.bindVarchar(at, value);
      }
      const rows = await statement.runAndReadAll();
      const text = byHand
        ? JSON.stringify(rows.getRowObjectsJson())
        : joinRows(rows.getRows(), compiled.shape);
      statement.destroySync();
      if (text.length <= 2) throw new Error(`${endpoint} has no rows`);
    };
  };
}

function joinRows(rows: readonly unknown[][], shape: CompiledStatement['shape']): string {
  return `[${rows.map(([row]) => (shape ? finishRow(String(row), shape) : String(row))).join(',')}]`;
}

/** Over one kept connection of `node:http`: fetch would add a millisecond of its own. */
function ask(
  { origin, token }: GatewayProcess,
  endpoint: string,
  parameters: Record<string, string>,
): Promise<void> {
  const url = `${origin}/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`;
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers: { 'x-api-key': token } }, async response => {
      const body = await response.toArray();
      if (response.statusCode === 200) resolve();
      else reject(new Error(Buffer.concat(body).toString()));
    });
    request.on('error', reject);
  });
}

const agent = new Agent({ keepAlive: true });

/** The times of a block's runs, after two that warm the caches which the other side has just used. */
async function timeBlock(run: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let n = -2; n < blockRuns; n++) {
    const ms = await time(run);
    if (n >= 0) times.push(ms);
  }
  return times;
}

async function time(run: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return performance.now() - startedMs;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function lastHour() {
  return { iso_timestamp_start: new Date(Date.now() - 3_600_000).toISOString() };
}
