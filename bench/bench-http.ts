import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { variables } from '../src/composition/config.ts';
import { startProxy } from '../test/proxies/start-proxy.ts';
import { startRedisServer } from '../test/support/redis-server.ts';
import { askServer, graphqlRequest, restRequest, type ServerRequest, type WireAnswer } from './ask-server.ts';
import type { BareServerSettings } from './bare-server.ts';
import { benchData, benchRows } from './bench-data.ts';
import {
  type Comparison,
  compareServers,
  compareUnmodified,
  type Gateways,
  printComparisonHead,
} from './compare-servers.ts';
import { type GatewayProcess, startCommand, startGatewayProcess } from './gateway-process.ts';
import { startMercurius } from './mercurius/start-mercurius.ts';
import { cores, moveToCore, onCore } from './on-core.ts';
import { childrenOf } from './process-usage.ts';
import { startSideProcess } from './side-process.ts';

/** Sixty rows in 8 KB, one or two, and the most that a saved query may give, in 140 KB. */
const restQueries: readonly {
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
}[] = [
  { name: 'sixty rows', parameters: { interval: 'minutely' } },
  { name: 'two rows', parameters: { interval: 'hourly' } },
  { name: 'a thousand rows', parameters: { interval: 'minutely', sql: generatedCounts(1000) } },
];

export const project = '.';

/**
 * What a hit costs, beside servers that do less for the same bytes. Each server has the first processor to itself while
 * it is measured; the load generator and Redis share the second. `HITS=Redis` measures those with this in their names.
 */
export async function benchHttp(): Promise<void> {
  printComparisonHead();
  for (const bench of [benchRestHits, benchGraphqlHits, benchRedisHits, benchUnmodified]) {
    const cleanup = new AsyncDisposableStack();
    try {
      await bench(cleanup);
    } finally {
      await cleanup.disposeAsync();
    }
  }
}

/** Those cases that are to be measured, with the names of their rows in the table. */
function askedOf<Case extends { readonly name: string }>(kind: string, cases: readonly Case[]) {
  const { HITS: asked = '' } = process.env;
  return cases
    .map(each => ({ ...each, hit: `${kind}, ${each.name}` }))
    .filter(({ hit }) => hit.includes(asked));
}

async function benchRestHits(cleanup: AsyncDisposableStack): Promise<void> {
  const asked = askedOf('REST from memory', restQueries);
  if (asked.length === 0) return;
  const gateways = await startGateways(cleanup, {});
  for (const { hit, parameters } of asked) {
    const request = restRequest(gateways.silent, 'usage.api-counts', { project, ...parameters });
    const answer = await askHits(gateways, request);
    const bare = cleanup.adopt(await startBareServer(answer), each => each.stop());
    await compareServers(hit, request, gateways, [
      { name: '`node:http`', server: bare, goals: { logging: 0.8, silent: 0.9 } },
      ...(await startAnchors(cleanup, answer)),
    ]);
  }
}

async function benchGraphqlHits(cleanup: AsyncDisposableStack): Promise<void> {
  const asked = askedOf('GraphQL from memory', graphqlOperations);
  if (asked.length === 0) return;
  const gateways = await startGateways(cleanup, {});
  for (const { hit, rows, operation } of asked) {
    const request = graphqlRequest(gateways.silent, operation);
    const answer = await askHits(gateways, request);
    const bare = cleanup.adopt(await startBareServer(answer, { readsBody: true }), each => each.stop());
    const mercurius = cleanup.adopt(await startMercurius(answer.body), each => each.stop());
    await compareServers(hit, request, gateways, [
      { name: '`node:http`', server: bare, goals: { logging: 0.6, silent: 0.7 } },
      { name: 'Mercurius with JIT', server: mercurius, goals: mercuriusGoals(rows) },
    ]);
  }
}

async function benchRedisHits(cleanup: AsyncDisposableStack): Promise<void> {
  const asked = askedOf('REST from Redis', restQueries);
  if (asked.length === 0) return;
  const redis = cleanup.adopt(await startRedisServer(), each => each.stop());
  moveToCore(cores.others, redis.pid);
  const client = cleanup.adopt(new Redis(redis.url), each => each.disconnect());
  const gateways = await startGateways(cleanup, { REDIS_URL: redis.url, CACHE_MEMORY_MB: '0' });
  for (const { hit, name: key, parameters } of asked) {
    const request = restRequest(gateways.silent, 'usage.api-counts', { project, ...parameters });
    const answer = await askHits(gateways, request);
    await client.set(key, answer.body);
    const bare = cleanup.adopt(await startBareServer(answer, { redis: { url: redis.url, key } }), each =>
      each.stop(),
    );
    await compareServers(hit, request, gateways, [
      { name: '`node:http` + `ioredis`', server: bare, goals: { logging: 0.8, silent: 0.9 } },
    ]);
  }
}

/** Callers who have the rows already, beside those who have not: the ratio is of the same gateway. */
async function benchUnmodified(cleanup: AsyncDisposableStack): Promise<void> {
  const asked = askedOf('304 from memory', restQueries);
  if (asked.length === 0) return;
  const { silent, logging } = await startGateways(cleanup, {});
  for (const { hit, parameters } of asked) {
    const request = restRequest(silent, 'usage.api-counts', { project, ...parameters });
    const { rawHeaders } = await askHits({ silent, logging }, request);
    const [, tag = ''] = pairsOf(rawHeaders).find(([name]) => name === 'etag') ?? [];
    const headers = { ...request.headers, 'if-none-match': tag };
    await compareUnmodified(hit, { logging, silent }, request, { ...request, headers });
  }
}

/** The log goes to a file, as a service manager's does. */
async function startGateways(
  cleanup: AsyncDisposableStack,
  environment: Record<string, string>,
): Promise<Gateways & { readonly silent: GatewayProcess; readonly logging: GatewayProcess }> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-log-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const log = cleanup.adopt(await open(join(directory, 'gateway.log'), 'a'), each => each.close());
  const data = { DATA_DIR: await benchData(), SAMPLE_ROWS: String(benchRows), ...environment };
  const command = onCore(cores.server, startCommand);
  const logging = { ...data, LOG_LEVEL: variables.LOG_LEVEL.schema.parse(undefined) };
  return {
    silent: cleanup.adopt(await startGatewayProcess(data, command), each => each.stop()),
    logging: cleanup.adopt(await startGatewayProcess(logging, command, log.fd), each => each.stop()),
  };
}

/** Caches in C that keep the same bytes in memory: what a core can do at most. None where they are not installed, which is said. */
async function startAnchors(cleanup: AsyncDisposableStack, answer: WireAnswer): Promise<Comparison[]> {
  // They keep what is public alone.
  const isOfCaches = (name: string) => /^(cache-control|x-accel-expires|vary|age|set-cookie)$/i.test(name);
  const rawHeaders = pairsOf(answer.rawHeaders).filter(([name]) => !isOfCaches(name));
  const source = await startBareServer({
    ...answer,
    rawHeaders: [...rawHeaders, ['Cache-Control', 'public, max-age=3600']].flat(),
  });
  cleanup.adopt(source, each => each.stop());
  const anchors: Comparison[] = [];
  for (const name of ['nginx', 'varnish'] as const) {
    try {
      const proxy = cleanup.adopt(await startProxy(name, Number(new URL(source.origin).port)), each =>
        each.stop(),
      );
      // Varnish answers by a child of the process that was started.
      const [pid = proxy.pid] = await childrenOf(proxy.pid);
      moveToCore(cores.server, pid);
      anchors.push({ name, server: { origin: proxy.origin, pid } });
    } catch (error) {
      console.error(`Without ${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return anchors;
}

/** The headers that Node writes by itself are left to it. */
function startBareServer({ rawHeaders, body }: WireAnswer, more: Partial<BareServerSettings> = {}) {
  const isOfNode = (name: string) => ['date', 'connection', 'keep-alive'].includes(name.toLowerCase());
  const headers = pairsOf(rawHeaders)
    .filter(([name]) => !isOfNode(name))
    .flat();
  return startSideProcess('./bare-server.ts', { headers, body, ...more } satisfies BareServerSettings);
}

/** Names with their values. */
function pairsOf(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as [string, string]] : [],
  );
}

const countsQuery = `query Counts($project: String!, $interval: UsageInterval!, $sql: String) {
  usageApiCounts(project: $project, interval: $interval, sql: $sql) {
    timestamp totalRestRequests totalStorageRequests totalAuthRequests totalRealtimeRequests
  }
}`;

/** The saved query's own sixty rows, more of the same kind, and the most that a saved query may give. */
export const graphqlOperations = [60, 250, 1000].map(rows => ({
  name: `${rows} rows`,
  rows,
  operation: {
    query: countsQuery,
    variables: { project, interval: 'MINUTELY', ...(rows > 60 && { sql: generatedCounts(rows) }) },
  },
}));

/** At sixty rows bare `node:http` itself answers less than three times as many. */
function mercuriusGoals(rows: number): { logging: number; silent: number } {
  const goal = rows < 250 ? 2 : rows < 1000 ? 3 : 3.5;
  return { logging: goal, silent: goal };
}

function generatedCounts(rows: number): string {
  return `select datetime_add(datetime '2026-01-01', interval n minute) as timestamp,
    n as total_rest_requests, n as total_storage_requests, n as total_auth_requests, n as total_realtime_requests
  from unnest(generate_array(1, ${rows})) as n`;
}

/** What the gateways answer when their caches have it. */
async function askHits({ silent, logging }: Gateways, request: ServerRequest): Promise<WireAnswer> {
  for (const gateway of [silent, logging, logging]) await askServer(gateway, request);
  return askServer(silent, request);
}
