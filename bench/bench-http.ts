import { Redis } from 'ioredis';
import { startRedisServer } from '../test/support/redis-server.ts';
import { askServer, graphqlRequest, restRequest, type ServerRequest, type WireAnswer } from './ask-server.ts';
import type { BareServerSettings } from './bare-server.ts';
import { benchData, benchRows } from './bench-data.ts';
import { compareServers, printComparisonHead } from './compare-servers.ts';
import { type GatewayProcess, startCommand, startGatewayProcess } from './gateway-process.ts';
import { startMercurius } from './mercurius/start-mercurius.ts';
import { cores, moveToCore, onCore } from './on-core.ts';
import { startSideProcess } from './side-process.ts';

/** Some 60 rows in 8 KB, and one or two rows. */
const intervals = ['minutely', 'hourly'];
const project = '.';

/**
 * What a hit costs, beside servers that do less for the same bytes. Each server has the first processor to itself while
 * it is measured; the load generator and Redis share the second.
 */
export async function benchHttp(): Promise<void> {
  printComparisonHead();
  for (const bench of [benchMemoryHits, benchRedisHits]) {
    const cleanup = new AsyncDisposableStack();
    try {
      await bench(cleanup);
    } finally {
      await cleanup.disposeAsync();
    }
  }
}

async function benchMemoryHits(cleanup: AsyncDisposableStack): Promise<void> {
  const gateway = cleanup.adopt(await startGateway({}), each => each.stop());
  for (const interval of intervals) {
    const request = restRequest(gateway, 'usage.api-counts', { interval, project });
    const answer = await askHit(gateway, request);
    const bare = cleanup.adopt(await startBareServer(answer), each => each.stop());
    await compareServers(`REST from memory, ${answer.body.length} bytes`, request, gateway, [
      { name: '`node:http`', server: bare, goal: 0.9 },
    ]);
  }
  for (const operation of graphqlOperations) {
    const request = graphqlRequest(gateway, operation);
    const answer = await askHit(gateway, request);
    const bare = cleanup.adopt(await startBareServer(answer, { readsBody: true }), each => each.stop());
    const mercurius = cleanup.adopt(await startMercurius(answer.body), each => each.stop());
    await compareServers(`GraphQL from memory, ${answer.body.length} bytes`, request, gateway, [
      { name: '`node:http`', server: bare, goal: 0.7 },
      { name: 'Mercurius with JIT', server: mercurius, goal: 3 },
    ]);
  }
}

async function benchRedisHits(cleanup: AsyncDisposableStack): Promise<void> {
  const redis = cleanup.adopt(await startRedisServer(), each => each.stop());
  moveToCore(cores.others, redis.pid);
  const client = cleanup.adopt(new Redis(redis.url), each => each.disconnect());
  const environment = { REDIS_URL: redis.url, CACHE_MEMORY_MB: '0' };
  const gateway = cleanup.adopt(await startGateway(environment), each => each.stop());
  for (const interval of intervals) {
    const request = restRequest(gateway, 'usage.api-counts', { interval, project });
    const answer = await askHit(gateway, request);
    const key = `bench:${interval}`;
    await client.set(key, answer.body);
    const bare = cleanup.adopt(await startBareServer(answer, { redis: { url: redis.url, key } }), each =>
      each.stop(),
    );
    await compareServers(`REST from Redis, ${answer.body.length} bytes`, request, gateway, [
      { name: '`node:http` + `ioredis`', server: bare, goal: 0.9 },
    ]);
  }
}

async function startGateway(environment: Record<string, string>): Promise<GatewayProcess> {
  const data = { DATA_DIR: await benchData(), SAMPLE_ROWS: String(benchRows) };
  return startGatewayProcess({ ...data, ...environment }, onCore(cores.server, startCommand));
}

/** The headers that Node writes by itself are left to it. */
function startBareServer({ rawHeaders, body }: WireAnswer, more: Partial<BareServerSettings> = {}) {
  const headers: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    if (!['date', 'connection', 'keep-alive'].includes(name.toLowerCase())) headers.push(name, value);
  }
  return startSideProcess('./bare-server.ts', { headers, body, ...more } satisfies BareServerSettings);
}

const countsQuery = `query Counts($project: String!, $interval: UsageInterval!, $sql: String) {
  usageApiCounts(project: $project, interval: $interval, sql: $sql) {
    timestamp totalRestRequests totalStorageRequests totalAuthRequests totalRealtimeRequests
  }
}`;

/** The saved query's own sixty rows, more of the same kind, and the most that a saved query may give. */
const graphqlOperations = [undefined, 250, 1000].map(rows => ({
  query: countsQuery,
  variables: { project, interval: 'MINUTELY', sql: rows && generatedCounts(rows) },
}));

function generatedCounts(rows: number): string {
  return `select datetime_add(datetime '2026-01-01', interval n minute) as timestamp,
    n as total_rest_requests, n as total_storage_requests, n as total_auth_requests, n as total_realtime_requests
  from unnest(generate_array(1, ${rows})) as n`;
}

/** What the gateway answers when the cache has it. */
async function askHit(gateway: GatewayProcess, request: ServerRequest): Promise<WireAnswer> {
  await askServer(gateway, request);
  return askServer(gateway, request);
}
