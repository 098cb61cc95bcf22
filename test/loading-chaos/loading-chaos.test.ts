import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { readScript } from '../../src/commands/run-script.ts';
import { ownSources } from '../../src/endpoints/sources.ts';
import { createRandom } from '../support/create-random.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const rounds = Number(process.env.ROUNDS ?? 10);
const seed = Number(process.env.SEED ?? Date.now() % 100_000);

/** One row for each group of rows that came in one request, and whether it is whole. */
const sql = `/*
id: 5b6c7d8e-1111-4222-8333-944455556660
name: chaos.counts
description: Rows by request.
columns:
  request: { type: STRING, required: true, description: Request. }
  n: { type: INT64, required: true, description: Rows. }
  different: { type: INT64, required: true, description: Different rows. }
maxRows: 100000
*/
select request, count(*) as n, count(distinct row_number) as different from \`chaos.rows\` group by request order by request
`;

const source = `name: chaos.rows
columns:
  request: { type: STRING, required: true }
  row_number: { type: INT64, required: true }
  text: STRING
`;

type Gateway = { readonly origin: string; readonly child: ChildProcess };

/** A gateway of its own process group, as `npm start` runs it. */
async function startGateway(environment: Record<string, string>): Promise<Gateway> {
  const start = readScript('start');
  const child = spawn('node', start.args, {
    env: {
      ...process.env,
      ...start.environment,
      ...environment,
      PORT: '0',
      LOG_LEVEL: 'warn',
      ACCESS_TOKEN: 'chaos',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  endWithProcess(child);
  let text = '';
  for await (const part of child.stdout!) {
    text += part;
    if (text.includes('Try:')) break;
  }
  return { origin: /gateway at (\S+)/.exec(text)![1]!, child };
}

/** The processes that a gateway has started. */
async function childrenOf(pid: number): Promise<{ pid: number; command: string }[]> {
  const found: { pid: number; command: string }[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    if (Number(/\) \S (\d+)/.exec(stat)?.[1]) !== pid) continue;
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    found.push({ pid: Number(entry), command });
  }
  return found;
}

test('whatever is killed at whatever moment, acknowledged rows are there once, and no part of others', async () => {
  process.stdout.write(`SEED=${seed} ROUNDS=${rounds}\n`);
  const random = createRandom(seed);
  const directory = await temporaryDirectory();
  const [SQL_DIR, SOURCES_DIR] = [join(directory, 'sql'), join(directory, 'sources')];
  await mkdir(SQL_DIR);
  await cp(ownSources, SOURCES_DIR, { recursive: true });
  await writeFile(join(SOURCES_DIR, 'chaos.rows.yaml'), source);
  await writeFile(join(SQL_DIR, 'chaos.counts.sql'), sql);
  const environment = { DATA_DIR: join(directory, 'data'), SQL_DIR, SOURCES_DIR, SAMPLE_ROWS: '100' };
  const gateways = [await startGateway(environment), await startGateway(environment)];
  onTestFinished(() => {
    for (const { child } of gateways) child.kill('SIGKILL');
  });
  const sent = new Map<string, number>();
  const acknowledged = new Set<string>();
  let isOver = false;
  let reads = 0;
  let lastId = 0;
  const headers = { 'x-api-key': 'chaos' };

  async function load(at: number): Promise<void> {
    while (!isOver) {
      const request = `r${++lastId}`;
      const rows = 1 + Math.floor(random() * 200);
      sent.set(request, rows);
      const body = Array.from({ length: rows }, (_, row) =>
        JSON.stringify({ request, row_number: row, text: 'x'.repeat(Math.floor(random() * 500)) }),
      ).join('\n');
      const answer = await fetch(`${gateways[at]!.origin}/api/sources/chaos.rows/rows`, {
        method: 'POST',
        body,
        headers,
      }).catch(() => undefined);
      if (answer?.status === 200) acknowledged.add(request);
      await answer?.arrayBuffer().catch(() => undefined);
      await delay(answer ? random() * 30 : 100);
    }
  }

  async function counts(
    at: number,
  ): Promise<{ request: string; n: number; different: number }[] | undefined> {
    const answer = await fetch(`${gateways[at]!.origin}/api/endpoints/query/chaos.counts`, { headers }).catch(
      () => undefined,
    );
    if (answer?.status !== 200) return undefined;
    return (
      (await answer.json().catch(() => undefined)) as
        | { result: { request: string; n: number; different: number }[] }
        | undefined
    )?.result;
  }

  /** Nothing that was seen goes away, and every request is seen whole. */
  async function read(at: number): Promise<void> {
    while (!isOver) {
      const seen = await counts(at);
      if (seen) reads++;
      for (const { request, n, different } of seen ?? []) {
        if (n !== sent.get(request) || different !== n)
          throw new Error(`${request} has ${n} rows, ${different} different; sent: ${sent.get(request)}`);
      }
      await delay(50);
    }
  }

  const work = [load(0), load(0), load(1), load(1), read(0), read(1)];
  for (const each of work) each.catch(() => undefined);
  for (let round = 0; round < rounds; round++) {
    await delay(500 + random() * 1500);
    const at = random() < 0.5 ? 0 : 1;
    const { child } = gateways[at]!;
    const loaders = (await childrenOf(child.pid!)).filter(({ command }) =>
      command.includes('loader-process'),
    );
    if (random() < 0.6 && loaders[0]) process.kill(loaders[0].pid, 'SIGKILL');
    else {
      child.kill('SIGKILL');
      await once(child, 'exit');
      gateways[at] = await startGateway(environment);
    }
  }
  isOver = true;
  await Promise.all(work);
  expect(reads).toBeGreaterThan(rounds);
  expect(acknowledged.size).toBeGreaterThan(rounds);
  for (const at of [0, 1]) {
    await expect
      .poll(
        async () => {
          const seen = new Map((await counts(at))?.map(each => [each.request, each]));
          return [...acknowledged].filter(request => !seen.has(request)).length;
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe(0);
  }
  const [first, second] = [await counts(0), await counts(1)];
  expect(first).toEqual(second);
  expect(first!.filter(({ request, n, different }) => n !== sent.get(request) || different !== n)).toEqual(
    [],
  );
  process.stdout.write(
    `${acknowledged.size} of ${sent.size} requests acknowledged, ${first!.length} there, ${reads} reads\n`,
  );
  // Both files have everything, and nothing waits.
  await expect
    .poll(
      async () => (await readdir(join(environment.DATA_DIR, 'rows'))).filter(name => name.endsWith('.rows')),
      { timeout: 60_000, interval: 500 },
    )
    .toEqual([]);
}, 600_000);
