import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { variables } from '../src/composition/config.ts';
import { startRedisServer } from '../test/support/redis-server.ts';
import { askServer, graphqlRequest, restRequest } from './ask-server.ts';
import { benchData, benchRows } from './bench-data.ts';
import { graphqlOperations, project } from './bench-http.ts';
import { loadInTurn, ratioOf } from './compare-servers.ts';
import { startCommand, startGatewayProcess } from './gateway-process.ts';
import { generatorNote } from './load-server.ts';
import { cores, moveToCore, onCore } from './on-core.ts';
import { median } from './time-blocks.ts';

/**
 * What hits cost in this checkout, beside those of another commit, in alternating blocks.
 * @param ref a commit, as Git names it
 * @throws Error where Git knows no such commit, or it runs on other packages
 */
export async function benchAgainst(ref: string): Promise<void> {
  await withCleanup(cleanup => compareWith(ref, cleanup));
}

async function compareWith(ref: string, cleanup: AsyncDisposableStack): Promise<void> {
  const directory = await checkOut(cleanup, ref);
  const redis = cleanup.adopt(await startRedisServer(), each => each.stop());
  moveToCore(cores.others, redis.pid);
  console.log(`\n${generatorNote}\n
| hit | log | this (µs) | ${ref} (µs) | ${ref} / this |
|---|---|---|---|---|`);
  const level = variables.LOG_LEVEL.schema.parse(undefined);
  for (const environment of [{ LOG_LEVEL: 'silent' }, { LOG_LEVEL: level }]) {
    await withCleanup(pair => compareHits(pair, environment, directory, redis.url));
  }
}

async function compareHits(
  cleanup: AsyncDisposableStack,
  environment: { readonly LOG_LEVEL: string },
  directory: string,
  redisUrl: string,
): Promise<void> {
  const start = async (from: string, more: Record<string, string>) => {
    const file = cleanup.adopt(await open(join(directory, 'gateway.log'), 'a'), each => each.close());
    const data = { DATA_DIR: await benchData(), SAMPLE_ROWS: String(benchRows), ...environment, ...more };
    const started = await startGatewayProcess(data, onCore(cores.server, startCommand), file.fd, from);
    return cleanup.adopt(started, each => each.stop());
  };
  const startBoth = async (more: Record<string, string> = {}) =>
    [await start(process.cwd(), more), await start(directory, more)] as const;
  const inMemory = await startBoth();
  const inRedis = await startBoth({ REDIS_URL: redisUrl, CACHE_MEMORY_MB: '0' });
  const rest = restRequest(inMemory[0], 'usage.api-counts', { interval: 'minutely', project });
  const hits = [
    { name: 'REST, 60 rows', request: rest, servers: inMemory },
    ...graphqlOperations.map(({ rows, operation }) => ({
      name: `GraphQL, ${rows} rows`,
      request: graphqlRequest(inMemory[0], operation),
      servers: inMemory,
    })),
    { name: 'REST from Redis', request: rest, servers: inRedis },
  ];
  for (const { name, request, servers } of hits) {
    for (const server of [...servers, ...servers, ...servers]) await askServer(server, request);
    const blocks = await loadInTurn(servers, request);
    const [ours = [], theirs = []] = servers.map(server => blocks.get(server) ?? []);
    const micros = [ours, theirs].map(each => median(each.map(({ cpuMicros }) => cpuMicros)).toFixed(1));
    console.log(
      `| ${name} | ${environment.LOG_LEVEL} | ${micros.join(' | ')} | ${ratioOf(ours, theirs).toFixed(2)} |`,
    );
  }
}

async function withCleanup(run: (cleanup: AsyncDisposableStack) => Promise<void>): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  try {
    await run(cleanup);
  } finally {
    await cleanup.disposeAsync();
  }
}

/** The files of a commit in a folder of their own, with the packages of this checkout. */
async function checkOut(cleanup: AsyncDisposableStack, ref: string): Promise<string> {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' });
  if (git('diff', '--name-only', ref, '--', 'package-lock.json') !== '') {
    throw new Error(`${ref} has another package-lock.json: run the bench in a checkout of each, and compare`);
  }
  const parent = await mkdtemp(join(tmpdir(), 'against-'));
  cleanup.defer(() => rm(parent, { recursive: true }));
  const directory = join(parent, 'checkout');
  git('worktree', 'add', '--quiet', '--detach', directory, ref);
  cleanup.defer(() => void git('worktree', 'remove', '--force', directory));
  await symlink(join(process.cwd(), 'node_modules'), join(directory, 'node_modules'));
  return directory;
}
