import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { askServer, restRequest } from './ask-server.ts';
import { benchData, benchRows, currentFile } from './bench-data.ts';
import { openDirectDuckDb } from './direct-duckdb.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { childrenOf, cpuSeconds } from './process-usage.ts';
import { median } from './time-blocks.ts';

const [project] = sampleProjects;
const atOnce = [4, 16, 64];
const goal = 0.8;

/** Blocks of each side, in alternation; the first does not count. */
const blocks = 4;
const statementsOfBlock = 64;

/** The token of the caller whose queries are heavy. */
const heavyToken = 'heavy';
const heavyAtOnce = 4;
const lightQuestions = 150;

/** What no cache has: queries with other parameters, or other SQL, each time. */
const kinds = [
  { name: 'logs.all, other time ranges', endpoint: 'logs.all', parametersOf: (n: number) => ({ project, iso_timestamp_start: instant(n) }) },
  { name: 'caller\'s SQL, other texts', endpoint: 'logs.all', parametersOf: (n: number) => ({ project, iso_timestamp_start: instant(0), sql: countBy(n) }) },
  { name: 'usage.api-counts, other patterns', endpoint: 'usage.api-counts', parametersOf: (n: number) => ({ interval: 'minutely', project: `${project}|${n}` }) },
]; // biome-ignore format: a table

const countBy = (n: number) =>
  `select timestamp_trunc(timestamp, hour) as hour, count(*) as requests from edge_logs where id <> '${n}' group by hour`;

/** Three days ago, and some milliseconds later. */
const instant = (n: number) => new Date(startedMs - 3 * 86_400_000 + n).toISOString();
const startedMs = Date.now();

/**
 * Distinct misses at the same time beside the same statements straight on DuckDB, and light queries beside heavy ones. `MISSES=', 4 at'`
 * measures what has this in its name: a kind and how many at a time, or `light`.
 */
export async function benchMisses(): Promise<void> {
  const directory = await benchData();
  const gateway = await startGatewayProcess({
    DATA_DIR: directory,
    SAMPLE_ROWS: String(benchRows),
    TOKEN_HASHES: createHash('sha256').update(heavyToken).digest('hex'),
  });
  try {
    console.log(
      '\n| misses | at a time | DuckDB (a second) | gateway (a second) | gateway / DuckDB | goal | processor time of one: DuckDB (ms) | engine, gateway, client (ms) |\n|---|---|---|---|---|---|---|---|',
    );
    for (const connections of atOnce) {
      for (const kind of kinds) {
        if (!isAsked(`${kind.name}, ${connections} at a time`)) continue;
        await compare(gateway, currentFile(directory), kind, connections);
      }
    }
    if (isAsked('light')) await benchLight(gateway);
  } finally {
    await gateway.stop();
  }
}

function isAsked(name: string): boolean {
  const { MISSES: asked = '' } = process.env;
  return name.includes(asked);
}

async function compare(
  gateway: GatewayProcess,
  file: string,
  { name, endpoint, parametersOf }: (typeof kinds)[number],
  connections: number,
): Promise<void> {
  const direct = await openDirectDuckDb(file, connections);
  const saved = await readFile(`sql/${endpoint}.sql`, 'utf8');
  let n = connections * 1_000_000;
  const sides: Record<'straight' | 'through', () => () => Promise<unknown>> = {
    straight: () => {
      const { sql, ...parameters }: Record<string, string> = parametersOf(n++);
      const compiled = direct.compile(saved, sql);
      return () => direct.runCompiled(compiled, parameters);
    },
    through: () => {
      const request = restRequest(gateway, endpoint, parametersOf(n++));
      return () => askServer(gateway, request);
    },
  };
  const costs = { straight: [] as Cost[], through: [] as Cost[] };
  for (let block = 0; block < blocks; block++) {
    for (const side of ['straight', 'through'] as const) {
      const cost = await costOf(Array.from({ length: statementsOfBlock }, sides[side]), connections, gateway);
      if (block > 0) costs[side].push(cost);
    }
  }
  const medianOf = (side: keyof typeof costs, part: keyof Cost) =>
    median(costs[side].map(cost => cost[part]));
  const [straight, through] = [medianOf('straight', 'rate'), medianOf('through', 'rate')];
  const cells = [straight.toFixed(0), through.toFixed(0), (through / straight).toFixed(2), goal];
  const parts = (['engineMs', 'gatewayMs', 'ownMs'] as const).map(part =>
    medianOf('through', part).toFixed(1),
  );
  cells.push(medianOf('straight', 'ownMs').toFixed(1), parts.join(', '));
  console.log(`| ${name} | ${connections} | ${cells.join(' | ')} |`);
  direct.close();
}

/** Tasks a second, and milliseconds of processor time for each: of this process, of the gateway, and of its engine. */
type Cost = {
  readonly rate: number;
  readonly ownMs: number;
  readonly gatewayMs: number;
  readonly engineMs: number;
};

async function costOf(
  tasks: (() => Promise<unknown>)[],
  count: number,
  gateway: GatewayProcess,
): Promise<Cost> {
  const total = tasks.length;
  const before = await cpuMs(gateway);
  const rate = await rateOf(tasks, count);
  const after = await cpuMs(gateway);
  const ofOne = (part: keyof typeof after) => (after[part] - before[part]) / total;
  return { rate, ownMs: ofOne('own'), gatewayMs: ofOne('gateway'), engineMs: ofOne('engine') };
}

async function cpuMs({ pid }: GatewayProcess) {
  const { user, system } = process.cpuUsage();
  const engine = await Promise.all((await childrenOf(pid)).map(cpuSeconds));
  return {
    own: (user + system) / 1000,
    gateway: 1000 * (await cpuSeconds(pid)),
    engine: 1000 * engine.reduce((sum, seconds) => sum + seconds, 0),
  };
}

/** Runs tasks, so many at a time. @returns tasks a second */
async function rateOf(tasks: (() => Promise<unknown>)[], count: number): Promise<number> {
  const startMs = performance.now();
  const total = tasks.length;
  const work = async () => {
    for (let task = tasks.pop(); task; task = tasks.pop()) await task();
  };
  await Promise.all(Array.from({ length: count }, work));
  return total / ((performance.now() - startMs) / 1000);
}

/** One caller's light queries one after another: alone, and beside another caller's heavy ones. */
async function benchLight(gateway: GatewayProcess): Promise<void> {
  console.log('\n| light queries | p50 (ms) | p99 (ms) | p99 / alone | goal |\n|---|---|---|---|---|');
  const alone = await timeLight(gateway);
  console.log(`| alone | ${alone.p50.toFixed(1)} | ${alone.p99.toFixed(1)} | | |`);
  let isOver = false;
  let n = 0;
  const heavy = Array.from({ length: heavyAtOnce }, async () => {
    while (!isOver) {
      const parameters = { interval: 'daily', project: `${project}|heavy${n++}` };
      await askServer(gateway, restRequest({ token: heavyToken }, 'usage.api-counts', parameters));
    }
  });
  const beside = await timeLight(gateway);
  const heavyRuns = n;
  isOver = true;
  await Promise.all(heavy);
  const cells = [beside.p50.toFixed(1), beside.p99.toFixed(1), (beside.p99 / alone.p99).toFixed(2), 2];
  console.log(`| beside ${heavyAtOnce} heavy at a time (${heavyRuns} runs) | ${cells.join(' | ')} |`);
}

let lightRuns = 0;

async function timeLight(gateway: GatewayProcess): Promise<{ readonly p50: number; readonly p99: number }> {
  const times: number[] = [];
  for (let at = -10; at < lightQuestions; at++) {
    const start = instant(3 * 86_400_000 - 3_600_000 - lightRuns++);
    const startMs = performance.now();
    await askServer(gateway, restRequest(gateway, 'logs.all', { project, iso_timestamp_start: start }));
    if (at >= 0) times.push(performance.now() - startMs);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(times.length / 2)]!, p99: times[Math.floor(times.length * 0.99)]! };
}
