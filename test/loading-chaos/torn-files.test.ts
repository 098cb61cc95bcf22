import { randomBytes } from 'node:crypto';
import { cp, open, readdir, stat, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/composition/config.ts';
import { prepareData } from '../../src/composition/prepare-data.ts';
import { claimFolder } from '../../src/duckdb/data-folder/folder-format.ts';
import { readCurrent, replicasOf } from '../../src/duckdb/replicas.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { openGateway } from '../support/open-gateway.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Blocks of a database file between two that are damaged, one case each: `EVERY=1` damages each block. */
const every = Number(process.env.EVERY ?? 3);

const sector = 512;
const headersBytes = 3 * 4096;
const blockBytes = 65_536;

const sources = readSources();

/** A data folder whose two files of the database have all rows but those of one file, which waits for the second of them. */
async function makeFolder(): Promise<string> {
  const path = join(await temporaryDirectory(), 'data', 'logs.duckdb');
  const take = async (name: string, from: number, to: number) => {
    const events = Array.from({ length: to - from }, (_, n) => ({
      id: `${name} ${from + n}`,
      event_message: randomBytes(60).toString('base64'),
      metadata: { learned: from + n },
    }));
    const source = sources.find(each => each.name === name)!;
    const body = Buffer.from(JSON.stringify(events));
    await acceptEvents({ databasePath: path, folder: rowsFolderOf(path), source, body, nowMs: Date.now() });
  };
  const turn = () => storeAccepted({ databasePath: path, sources, emit: () => undefined });
  await take('postgres.logs', 0, 6000);
  await take('gotrue.logs.prod', 0, 3000);
  while (await turn());
  await claimFolder(path);
  await take('postgres.logs', 6000, 6100);
  await turn();
  return dirname(path);
}

type Damage = { readonly what: string; readonly file: string; act(path: string): Promise<void> };

const cut = (file: string, at: number): Damage => ({
  what: `${file} ends at ${at}`,
  file,
  act: path => truncate(path, at),
});

const zero = (file: string, at: number, length = sector): Damage => ({
  what: `${file} has zeros from ${at} to ${at + length}`,
  file,
  async act(path) {
    const handle = await open(path, 'r+');
    await handle.write(Buffer.alloc(length), 0, length, at);
    await handle.close();
  },
});

/** Cuts and zeros in the headers and the blocks of a database file, and in the files beside it. */
async function damagesOf(folder: string): Promise<Damage[]> {
  const damages: Damage[] = [];
  for (const file of replicasOf('logs.duckdb')) {
    const { size } = await stat(join(folder, file));
    damages.push(...[0, 100, 4096, 9000, size - 1].map(at => cut(file, at)));
    damages.push(...[0, 4096, 8192].map(at => zero(file, at)));
    for (let at = headersBytes; at < size; at += every * blockBytes) {
      damages.push(cut(file, at + sector), zero(file, at), zero(file, at + blockBytes / 2, 8 * sector));
    }
  }
  for (const file of ['current.json', 'learned-fields.json', 'format.json']) {
    const { size } = await stat(join(folder, file));
    damages.push(cut(file, 0), cut(file, size - 3), zero(file, 0, size));
  }
  const [waiting = ''] = (await readdir(join(folder, 'rows'))).filter(name => name.endsWith('.rows'));
  const file = join('rows', waiting);
  const { size } = await stat(join(folder, file));
  damages.push(cut(file, 0), cut(file, size - 3), zero(file, size - sector));
  return damages;
}

const count = 'select count(distinct t.id) as n, count(*) as c, count(event_message) as m from';

test('whatever is torn, the damaged file is named, and all that another one has is answered', async () => {
  const folder = await makeFolder();
  const unlike: string[] = [];
  for (const { what, file, act } of await damagesOf(folder)) {
    const copy = join(await temporaryDirectory(), 'data');
    await cp(folder, copy, { recursive: true });
    await act(join(copy, file));
    const isCurrent = readCurrent(join(folder, 'logs.duckdb')).path.endsWith(`/${file}`);
    const outcome = `${what}${isCurrent ? ' (current)' : ''}: ${await judge(copy)}`;
    process.stdout.write(`${outcome}\n`);
    // Nobody else knows whether a newer version wrote the folder.
    if (!/^format\.json.*does not start|\| 200 \| whole/.test(outcome)) unlike.push(outcome);
  }
  expect(unlike).toEqual([]);
}, 900_000);

async function judge(folder: string): Promise<string> {
  const names: string[] = [];
  const gateway = await openGateway({
    environment: { COMPAT: 'logflare', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private', REDIS_URL: '' },
    async fill(directory) {
      await cp(folder, directory, { recursive: true });
      const config = readConfig({
        DATA_DIR: directory,
        SAMPLE_ROWS: '0',
        SOURCES_DIR: ownSources,
        COMPAT: 'logflare',
        LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private',
      });
      await prepareData(config, {
        clock: createStandingClock(),
        onProgress: () => undefined,
        emit: event => void names.push(JSON.stringify(event)),
      });
    },
  }).catch(
    (error: Error) =>
      `does not start: ${error.message} ${JSON.stringify((error as { problems?: unknown }).problems ?? '')}`,
  );
  if (typeof gateway === 'string') return `${gateway} ${names.join(' ')}`;
  try {
    const ask = async (subset: string) => {
      const sql = encodeURIComponent(`${count} ${subset} t`);
      const { status, body } = await gateway.get(
        `/api/endpoints/query/logs.all?project=default&iso_timestamp_end=&sql=${sql}`,
      );
      return `${status} ${JSON.stringify(body.result ?? body.error)}`;
    };
    const all = async () => `${await ask('postgres_logs')} ${await ask('auth_logs')}`;
    const first = await all();
    const sent = await gateway.send('/api/logs?source_name=postgres.logs', {
      method: 'POST',
      body: '[{"event_message":"new"}]',
    });
    let last = '';
    const endMs = Date.now() + 8000;
    while (Date.now() < endMs) {
      last = await all();
      const waits = (await readdir(join(gateway.directory, 'rows'))).some(name => name.endsWith('.rows'));
      if (/"n":6101,.*"n":3000,/.test(last) && !waits) break;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    const said = gateway.events
      .filter(({ type }) => /damaged|unreadable|delayed|failed|stopped|bug/.test(type))
      .map(event => JSON.stringify(event).slice(0, 300));
    const whole = '200 [{"n":6100,"c":6100,"m":6100}] 200 [{"n":3000,"c":3000,"m":3000}]';
    const wholeAfter = whole.replaceAll('6100', '6101');
    return [
      first === whole ? 'whole' : first,
      sent.status,
      last === wholeAfter ? 'whole' : last,
      ...new Set([...names, ...said]),
    ]
      .join(' | ')
      .replaceAll(gateway.directory, '');
  } finally {
    await gateway.close();
  }
}
