import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readScript } from '../../src/commands/run-script.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { childrenOf } from './children-of.ts';
import { edgeRow } from './edge-row.ts';
import { endWithProcess } from './end-with-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const start = readScript('start');
const token = 'the-token-of-the-fleet';

export type FleetAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  readonly ms: number;
};

/** A gateway in a process of its own. */
export type FleetGateway = {
  readonly pid: number;
  readonly origin: string;
  get(path: string, headers?: Record<string, string>, signal?: AbortSignal): Promise<FleetAnswer>;
  post(
    path: string,
    body: object,
    signal?: AbortSignal,
    headers?: Record<string, string>,
  ): Promise<FleetAnswer>;
  /** The sum of a metric's series whose labels hold this text. */
  metric(name: string, label?: string): Promise<number>;
  /** The events of these types that it has logged; a line comes up to 100 ms after its event. */
  logged(...types: string[]): string[];
  /** Resolves with its exit code or signal, and the end of its log, once it has ended for whatever reason. */
  readonly ended: Promise<string>;
  /** Kills it and waits until it is gone. */
  kill(): Promise<void>;
};

/**
 * Starts gateways as processes over one database of a few rows.
 * @param count how many
 * @param environment beside the data folder and the token
 */
export async function startFleet(count: number, environment: Record<string, string>) {
  const directory = await mkdtemp(join(tmpdir(), 'fleet-'));
  const rows = [
    edgeRow({ id: 'a', timestamp: new Date(Date.now() - 60_000).toISOString(), project: 'ours' }),
  ];
  await importLogs({
    databasePath: join(directory, 'logs.duckdb'),
    sources: readSources(),
    source: 'cloudflare.logs.prod',
    input: Readable.from(rows.map(row => `${JSON.stringify(row)}\n`)),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
  const start = () => startGatewayProcess({ DATA_DIR: directory, ...environment }, agent);
  const started = await Promise.allSettled(Array.from({ length: count }, start));
  const gateways = started.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []));
  const stop = async () => {
    agent.destroy();
    await Promise.all(gateways.map(gateway => gateway.kill()));
    await rm(directory, { recursive: true, force: true });
  };
  const failed = started.find(each => each.status === 'rejected');
  if (failed) {
    await stop();
    throw failed.reason;
  }
  return { gateways, directory, stop };
}

/**
 * Starts one gateway.
 * @param environment the data folder at least
 * @param agent has the connections to it
 * @param onEvent called with the name of each event as soon as it is logged
 */
export async function startGatewayProcess(
  environment: Record<string, string>,
  agent: Agent,
  onEvent?: (event: string) => void,
): Promise<FleetGateway> {
  const child = spawn('node', start.args, {
    cwd: root,
    env: {
      ...process.env,
      ...start.environment,
      PORT: '0',
      SAMPLE_ROWS: '0',
      LOG_LEVEL: 'info',
      ACCESS_TOKEN: token,
      // On a busy machine a Redis that is there may answer after the 50 ms of the default.
      REDIS_TIMEOUT_MS: '1000',
      // The engine's processes have the lower priority: beside others that have work, a second becomes a minute.
      QUERY_TIMEOUT_MS: '300000',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithProcess(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', part => {
    log += part;
    for (const [, event = ''] of String(part).matchAll(/"event":"([^"]+)"/g)) onEvent?.(event);
  });
  const origin = await readOrigin(child, () => log);
  child.stdout.resume();

  const send = (path: string, options: Sending = {}) => sendRequest(origin + path, agent, options);
  return {
    pid: child.pid!,
    origin,
    ended: once(child, 'exit').then(([code, signal]) => `${code ?? signal}: ${log.slice(-2000)}`),
    get: (path, headers, signal) => send(path, { headers, signal }),
    post: (path, body, signal, headers) =>
      send(path, {
        signal,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    async metric(name, label = '') {
      const { text } = await send('/metrics');
      const lines = text.split('\n').filter(line => line.startsWith(`${name}{`) && line.includes(label));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    logged(...types) {
      // The last line may not have come whole.
      const events = log
        .split('\n')
        .slice(0, -1)
        .filter(line => line.startsWith('{'));
      return events.map(line => String(JSON.parse(line).event)).filter(event => types.includes(event));
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function readOrigin(child: ChildProcess, log: () => string): Promise<string> {
  let out = '';
  for await (const part of child.stdout!.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    out += part;
    if (out.includes('Try:')) return /gateway at (\S+)/.exec(out)?.[1] ?? '';
  }
  throw new Error(`The gateway ended: ${log()}`);
}

type Sending = {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};

function sendRequest(
  url: string,
  agent: Agent,
  { method, headers, body, signal }: Sending,
): Promise<FleetAnswer> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent, method, signal, headers: { 'x-api-key': token, ...headers } },
      response => {
        let text = '';
        response.setEncoding('utf8').on('data', part => {
          text += part;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0 } = response;
          // Only Set-Cookie would be a list.
          const given = response.headers as Record<string, string | undefined>;
          resolve({ status, headers: given, text, ms: performance.now() - startedMs });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/**
 * Runs one of the service's commands to its end.
 * @returns what it wrote to standard output
 * @throws Error where it fails
 */
export async function runCommand(
  args: readonly string[],
  environment: Record<string, string>,
): Promise<string> {
  const env = { ...process.env, ...environment };
  const { stdout } = await promisify(execFile)('node', ['src/cli.ts', ...args], { cwd: root, env });
  return stdout;
}

/** The route of a cached saved query, with a caller's SQL where it is given. */
export function countsPath(project: string, sql?: string): string {
  const query = new URLSearchParams({ interval: 'minutely', project, ...(sql === undefined ? {} : { sql }) });
  return `/api/endpoints/query/usage.api-counts?${query}`;
}

/** SQL that keeps the engine busy until nobody waits for it any more. */
export const endlessSql =
  'select count(*) as n from unnest(generate_array(1, 1000000)) as a cross join unnest(generate_array(1, 1000000)) as b where a + b = 7';

/** SQL that has another row at each run; `n` distinguishes such queries. */
export function drawnSql(n: number): string {
  return `select rand() as drawn, ${n} as n`;
}

/**
 * Stops the engine processes of gateways, so that their queries go on for as long as a test needs.
 * @returns a function that lets them run again
 */
export function freezeEngines(gateways: readonly FleetGateway[]): () => void {
  const pids = gateways.flatMap(({ pid }) => childrenOf(pid));
  signal(pids, 'SIGSTOP');
  return () => signal(pids, 'SIGCONT');
}

/** Sends a signal to those of the processes that have not ended. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
}
