import { randomBytes } from 'node:crypto';
import { open, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { prepareData } from '../../src/composition/prepare-data.ts';
import { readCurrent, spareOf } from '../../src/duckdb/replicas.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { learnedFile } from '../../src/loading/events/learned-fields.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import type { GatewayEvent } from '../../src/telemetry/events.ts';
import { openGateway } from '../support/open-gateway.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { rowsFileOf } from './rows-file-of.ts';

const sources = readSources();
const environment = { COMPAT: 'logflare', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' };

/** Writes zeros over a part of a file, as a sector that never came. */
async function zero(path: string, at: number, length: number): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(length), 0, length, at);
  await file.close();
}

async function take(path: string, name: string, events: readonly object[]): Promise<void> {
  const source = sources.find(each => each.name === name)!;
  const body = Buffer.from(JSON.stringify(events));
  await acceptEvents({ databasePath: path, folder: rowsFolderOf(path), source, body, nowMs: Date.now() });
}

test('after a power cut that tore several files each of them is named, and what others have of it is answered', async () => {
  const events: GatewayEvent[] = [];
  const torn: string[] = [];
  const gateway = await openGateway({
    environment,
    async fill(directory) {
      const path = databasePath({ DATA_DIR: directory });
      const messages = Array.from({ length: 300 }, () => randomBytes(60).toString('base64'));
      await take(
        path,
        'postgres.logs',
        messages.map((event_message, n) => ({ event_message, metadata: { fresh: n } })),
      );
      while (await storeAccepted({ databasePath: path, sources, emit: () => undefined }));
      await take(path, 'gotrue.logs.prod', [{ event_message: 'waits' }]);
      const last = await rowsFileOf(path, () =>
        take(path, 'gotrue.logs.prod', [{ event_message: 'x'.repeat(2000) }]),
      );
      const rows = join(rowsFolderOf(path), last);
      // Its header says how many blocks there are; the one that was written last has the catalogue.
      const current = readCurrent(path).path;
      await zero(current, 4096, 4096);
      await zero(learnedFile(path), 0, (await stat(learnedFile(path))).size);
      await truncate(rows, 1000);
      torn.push(current, learnedFile(path), last);
      await prepareData(readConfig({ ...environment, DATA_DIR: directory, SOURCES_DIR: ownSources }), {
        clock: createStandingClock(),
        onProgress: () => undefined,
        emit: event => void events.push(event),
      });
    },
  });
  try {
    const ask = async (sql: string) => {
      const path = `/api/endpoints/query/logs.all?project=default&iso_timestamp_end=&sql=${encodeURIComponent(sql)}`;
      return (await gateway.get(path)).body;
    };
    const [current = '', learned = '', rows = ''] = torn;
    const named = [...events, ...gateway.events].flatMap(event =>
      event.type === 'database.damaged' || event.type === 'rows.failed' ? [event.file] : [],
    );
    expect(named.sort()).toEqual([current, learned, rows].sort());
    const all = 'select count(*) as n, sum(m.fresh) as fresh from postgres_logs t, unnest(t.metadata) m';
    expect(await ask(all)).toEqual({ result: [{ n: 300, fresh: (300 * 299) / 2 }] });
    const sent = await gateway.send('/api/logs?source_name=postgres.logs', {
      method: 'POST',
      body: '[{"event_message":"new","metadata":{"fresh":1000}}]',
    });
    expect(sent.status).toBe(200);
    await expect.poll(() => ask(all)).toEqual({ result: [{ n: 301, fresh: (300 * 299) / 2 + 1000 }] });
    expect(await ask('select event_message from auth_logs')).toEqual({
      result: [{ event_message: 'waits' }],
    });
    const path = databasePath({ DATA_DIR: gateway.directory });
    // The missing file is made again.
    await expect.poll(async () => (await stat(spareOf(path, readCurrent(path)))).size).toBeGreaterThan(0);
  } finally {
    await gateway.close();
  }
});
