import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test, vi } from 'vitest';
import { endWithProcess } from '../support/end-with-process.ts';
import { type FleetGateway, startFleet } from '../support/fleet.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const periodMs = 4000;
const keys = 24;

/** A query that no batch form answers: each key is a group, and a run of its own that takes a part of a second. */
const saved = `/*
id: 7e57ab1e-0000-4000-8000-000000000005
name: warm.keys
description: Counts for a while.
parameters:
  key: { type: string, required: true, description: Any text. }
columns:
  n: { type: INT64, description: A number. }
cacheSeconds: 600
warmSeconds: ${periodMs / 1000}
*/
select count(*) as n
from unnest(generate_array(1, 1000)) as a
cross join unnest(generate_array(1, 1500)) as b
where mod(a * b, 7) = 3 and @key is not null`;

type Worker = { readonly child: ChildProcess; readonly cycles: () => { atMs: number; refreshed: number }[] };

let redis: RedisServer;
let gateway: FleetGateway;
let workers: Worker[];
beforeAll(async () => {
  const sqlFolder = await mkdtemp(join(tmpdir(), 'sql-'));
  await writeFile(join(sqlFolder, 'warm.keys.sql'), saved);
  redis = await startRedisServer();
  const environment = { REDIS_URL: redis.url, SQL_DIR: sqlFolder };
  const fleet = await startFleet(1, environment);
  gateway = fleet.gateways[0]!;
  workers = await Promise.all(
    [0, 1, 2].map(() => startWorker({ DATA_DIR: fleet.directory, ...environment })),
  );
  return async () => {
    for (const { child } of workers) child.kill('SIGKILL');
    await fleet.stop();
    await redis.stop();
    await rm(sqlFolder, { recursive: true });
  };
});

async function startWorker(environment: Record<string, string>): Promise<Worker> {
  const child = spawn('node', ['src/worker.ts'], {
    cwd: root,
    env: { ...process.env, LOG_LEVEL: 'debug', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithProcess(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', part => {
    log += part;
  });
  await once(child.stdout, 'data');
  const cycles = () =>
    log
      .split('\n')
      .filter(line => line.includes('"warm.cycle"') && line.endsWith('}'))
      .map(line => JSON.parse(line))
      .map(({ time, refreshed }) => ({ atMs: Date.parse(time), refreshed }));
  return { child, cycles };
}

const read = (key: number) => gateway.get(`/api/endpoints/query/warm.keys?key=${key}`);
const stored = async (key: number) => Number((await read(key)).headers.age);

test('contract 6.2: three workers share the keys, none does one twice, and what a killed one had comes back', async () => {
  await Promise.all(Array.from({ length: keys }, (_, key) => read(key)));
  // Rounds take as long as the machine needs for their queries.
  const waiting = { timeout: 200_000 };
  const count = () => workers.reduce((sum, { cycles }) => sum + cycles().length, 0);
  // Two rounds: each key is done about once in a period by one of the three.
  const startMs = performance.now();
  await vi.waitFor(() => expect(count()).toBeGreaterThanOrEqual(keys * 2), waiting);
  const rounds = (performance.now() - startMs) / (periodMs * 0.9);
  expect(count()).toBeLessThanOrEqual(keys * (Math.ceil(rounds) + 1));
  for (const { cycles } of workers) expect(cycles().length).toBeGreaterThan(0);

  // One is killed in the middle of its work.
  const [victim, ...others] = workers;
  victim!.child.kill('SIGKILL');
  await once(victim!.child, 'exit');
  const killedMs = Date.now();
  const isNew = async () => {
    for (let key = 0; key < keys; key++) {
      expect((await stored(key)) * 1000).toBeLessThanOrEqual(Date.now() - killedMs);
    }
  };
  await vi.waitFor(isNew, waiting);
  const after = others.flatMap(({ cycles }) => cycles().filter(({ atMs }) => atMs > killedMs));
  expect(after.every(({ refreshed }) => refreshed <= 1)).toBe(true);
});
