import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/base/clock.ts';
import { composeGateway } from '../src/composition/composition-root.ts';
import { readConfig } from '../src/composition/config.ts';
import { prepareData } from '../src/composition/prepare-data.ts';
import { createEventLog } from '../src/telemetry/log-events.ts';
import { createLogOutput } from '../src/telemetry/log-output.ts';
import { askServer, graphqlRequest, restRequest } from './ask-server.ts';

const source = new URL('../src/', import.meta.url).href;
const token = 'bench';
const endpoint = 'usage.api-counts';

/** Runs of each path: only files that execute in every run belong to it. */
const rounds = 4;

/** Milliseconds without a request: what runs in each such time are timers, which belong to no path. */
const idleMs = 1200;

/**
 * Counts the files of `src/` in which a function runs for one request, by V8's coverage of the gateway's process with the default
 * settings. What only the first request of its kind does, such as compiling a statement, does not count; what each answer
 * causes does: its log line, its counters; what also runs without a request does not: timers. `PATHS=list` names the files.
 */
export async function benchPaths(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-paths-'));
  try {
    const settings = { DATA_DIR: join(directory, 'data'), SQL_DIR: await writeQueries(directory) };
    await countPaths({ ...settings, SAMPLE_ROWS: '1000', ACCESS_TOKEN: token });
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function countPaths(environment: Record<string, string>): Promise<void> {
  const config = readConfig(environment);
  const log = createLogOutput(new Writable({ write: (_chunk, _encoding, done) => done() }));
  const write = createEventLog(config.LOG_LEVEL, log);
  // Starting to profile holds the event loop, which is an event of its own.
  const emit: typeof write = event => event.type !== 'process.stalled' && write(event);
  const deps = { clock: systemClock, emit, log };
  const { accessToken } = await prepareData(config, { ...deps, onProgress: () => undefined });
  const { server, close } = await composeGateway(config, { ...deps, accessToken });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // It listens on TCP.
  const { port } = server.address() as AddressInfo;
  const gateway = { origin: `http://127.0.0.1:${port}`, token };
  let projects = 0;
  const newProject = () => `project${projects++}`;
  const rest = (project: string) =>
    askServer(gateway, restRequest(gateway, endpoint, { interval: 'minutely', project }));
  const twoAliases = (one: string, other: string) =>
    askServer(gateway, graphqlRequest(gateway, { query: aliases(one, other) }));

  const idle = () => functionsOf(() => setTimeout(idleMs));
  const timers = (await idle()).intersection(await idle()).intersection(await idle());
  const countFiles = (path: string, take: () => Promise<unknown>, isWarming = false) =>
    countPath(path, async () => filesOf((await functionsOf(take)).difference(timers)), isWarming);
  console.log('\n| path | files |\n|---|---|');
  await countFiles('REST, hit', () => rest('ours'));
  await countFiles('REST, miss', () => rest(newProject()));
  await countFiles('GraphQL, two aliases, hit', () => twoAliases('ours', 'theirs'));
  await countFiles('GraphQL, two aliases, miss', () => twoAliases(newProject(), newProject()));
  await countFiles('warm cycle', () => setTimeout(1000 * warmSeconds), true);
  await close({ quietMs: 0, deadlineMs: 1000 });
}

/**
 * @param take takes the path once, and returns the files that executed
 * @param isWarming whether keys are warmed meanwhile; otherwise a run is repeated
 */
async function countPath(
  path: string,
  take: () => Promise<ReadonlySet<string>>,
  isWarming: boolean,
): Promise<void> {
  for (let round = 0; round < rounds; round++) await take();
  let files: ReadonlySet<string> | undefined;
  for (let round = 0; round < rounds; ) {
    const executed = await take();
    if (executed.has('src/warming/warm-group.ts') !== isWarming) continue;
    files = files?.intersection(executed) ?? executed;
    round++;
  }
  const names = [...(files ?? [])].sort();
  console.log(`| ${path} | ${names.length} |`);
  if (process.env.PATHS === 'list') for (const name of names) console.log(`  ${name}`);
}

/** The functions of `src/` that run while a path is taken: each its file, a space, and its place there. */
async function functionsOf(take: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await take();
  // The log line and the counters follow the answer.
  await setTimeout(5);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.disable');
  session.disconnect();
  return new Set(
    result
      .filter(({ url }) => url.startsWith(source))
      .flatMap(({ url, functions }) =>
        functions
          .filter(({ ranges }) => ranges[0]?.count)
          .map(({ ranges }) => `src/${url.slice(source.length)} ${ranges[0]?.startOffset}`),
      ),
  );
}

const filesOf = (functions: ReadonlySet<string>) =>
  new Set([...functions].map(place => place.split(' ')[0]!));

/** Seconds between two warm cycles: short enough for a bench to wait for some. */
const warmSeconds = 1;

/** Copies the saved queries, one of them with a short warm interval. */
async function writeQueries(directory: string): Promise<string> {
  const queries = join(directory, 'sql');
  await cp(fileURLToPath(new URL('../sql', import.meta.url)), queries, { recursive: true });
  const file = join(queries, `${endpoint}.sql`);
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/^warmSeconds: .*$/m, `warmSeconds: ${warmSeconds}`));
  return queries;
}

const aliases = (...projects: string[]) =>
  `{ ${projects.map((project, at) => `f${at}: usageApiCounts(project: "${project}", interval: MINUTELY) { timestamp }`).join(' ')} }`;
