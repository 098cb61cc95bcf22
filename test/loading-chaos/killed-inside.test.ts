import { open, readdir, readFile, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { repairReplicas } from '../../src/duckdb/data-folder/repair-replicas.ts';
import { readCurrent, replicasOf, spareOf } from '../../src/duckdb/replicas.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { createLoader } from '../../src/loading/loader.ts';
import type { LoadingEvent } from '../../src/loading/loading-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { createRandom } from '../support/create-random.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const rounds = Number(process.env.ROUNDS ?? 40);
const seed = Number(process.env.SEED ?? Date.now() % 100_000);

const source = 'gotrue.logs.prod';
const sector = 512;

/** The first word of a message, by which an event is known. */
const nameOf = (message: string) => message.split(' ')[0]!;

/** The loading process of a database that belongs to this one. */
async function loaderOf(databasePath: string): Promise<number | undefined> {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
  const all = (await readdir(`/proc/${process.pid}/task`)).map(thread =>
    readFile(`/proc/${process.pid}/task/${thread}/children`, 'utf8').catch(() => ''),
  );
  for (const pid of [children, ...(await Promise.all(all))].join(' ').split(' ').filter(Boolean)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('loader-process') && command.includes(databasePath)) return Number(pid);
  }
  return undefined;
}

async function ended(pid: number): Promise<void> {
  for (;;) {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    if (text === undefined || / Z /.test(text)) return;
    await delay(5);
  }
}

/**
 * What a loss of power may leave of the file that was being written, and of its log: an end that never came, or sectors that did not. The
 * other file was synced before it became current.
 */
async function tear(spare: string, random: () => number): Promise<string> {
  const torn = random() < 0.5 ? spare : `${spare}.wal`;
  const size = (await stat(torn).catch(() => undefined))?.size ?? 0;
  if (size === 0) return 'nothing to tear';
  if (random() < 0.5) {
    const end = Math.floor(random() * size);
    await truncate(torn, end);
    return `${torn} ends at ${end} of ${size}`;
  }
  const file = await open(torn, 'r+');
  const at = Math.floor((random() * size) / sector) * sector;
  const length = Math.min(size - at, sector * (1 + Math.floor(random() * 16)));
  await file.write(Buffer.alloc(length), 0, length, at);
  await file.close();
  return `${torn} has zeros from ${at} to ${at + length} of ${size}`;
}

test('a loader that is killed inside statements, and torn files, lose no acknowledged event and double none', async () => {
  process.stdout.write(`SEED=${seed} ROUNDS=${rounds}\n`);
  const random = createRandom(seed);
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const events: LoadingEvent[] = [];
  const start = () =>
    createLoader({ databasePath, sourcesDirectory: ownSources, emit: event => void events.push(event) });
  let loader = start();
  onTestFinished(() => loader.close());
  const acknowledged = new Set<string>();
  let [lastId, killed, inside, torn] = [0, 0, 0, 0];

  /** Small requests, and some that take seconds to store; now and then fields that no event had before. */
  async function send(round: number): Promise<void> {
    const count = random() < 0.3 ? 4000 : 1 + Math.floor(random() * 50);
    // Without an id of its own, an event that is stored twice is there twice.
    const hasIds = random() < 0.5;
    const sent = Array.from({ length: count }, () => ({
      ...(hasIds && { id: `own-${lastId + 1}` }),
      event_message: `event-${++lastId} ${'x'.repeat(Math.floor(random() * 300))}`,
      metadata: { level: 'info', [`field_${round % 20}`]: lastId, status: 200 },
    }));
    const body = (async function* () {
      yield Buffer.from(JSON.stringify(sent));
    })();
    const taken = await loader.loadEvents(source, { body, encoding: undefined }).catch(error => {
      if (!(error instanceof GatewayError)) throw error;
      return undefined;
    });
    if (taken) for (const { event_message } of sent) acknowledged.add(nameOf(event_message));
  }

  for (let round = 0; round < rounds; round++) {
    // The loader has started, and begins to store.
    await send(round);
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        await send(round);
        await delay(random() * 50);
      }
    })();
    // What was never shown is not torn: it would be all there is.
    await expect.poll(() => readCurrent(databasePath).version).not.toBe('');
    await delay(300 + random() * 1500);
    const pid = await loaderOf(databasePath);
    if (pid !== undefined) {
      process.kill(pid, 'SIGKILL');
      killed++;
      await ended(pid);
      isOver = true;
      await sending;
      // A request may have started the next one.
      await loader.close();
      const spare = spareOf(databasePath, readCurrent(databasePath));
      if (((await stat(`${spare}.wal`).catch(() => undefined))?.size ?? 0) > 0) inside++;
      if (random() < 0.5) {
        process.stdout.write(`${round}: ${(await tear(spare, random)).replaceAll(databasePath, '')}\n`);
        torn++;
      }
      await repairReplicas(databasePath, Date.now() + round);
      loader = start();
    }
    isOver = true;
    await sending;
  }
  // Whatever the last loader was doing is done again, and both files get all rows.
  await loader.close();
  const sources = readSources();
  const emit = (event: LoadingEvent) => void events.push(event);
  while (await storeAccepted({ databasePath, sources, emit, goesOn: true }));
  for (const path of replicasOf(databasePath)) {
    const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    const ids = (await connection.runAndReadAll(`SELECT event_message FROM "${source}"`))
      .getRows()
      .map(([message]) => nameOf(String(message)));
    connection.closeSync();
    instance.closeSync();
    const there = new Set(ids);
    expect([...acknowledged].filter(id => !there.has(id))).toEqual([]);
    expect(ids.length).toBe(there.size);
  }
  expect(Math.min(inside, torn)).toBeGreaterThan(0);
  const failed = events.filter(({ type }) => type === 'rows.failed');
  expect(failed).toEqual([]);
  const kinds = Object.entries(Object.groupBy(events, ({ type }) => type)).map(
    ([type, all]) => `${all?.length} ${type}`,
  );
  process.stdout.write(
    `${killed} kills, ${inside} with an unfinished log, ${torn} torn; ${acknowledged.size} of ${lastId} events acknowledged and there once; ${kinds.join(', ')}\n`,
  );
}, 1_200_000);
