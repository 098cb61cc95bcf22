import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/composition/config.ts';
import { prepareData } from '../../src/composition/prepare-data.ts';
import {
  checkFolderFormat,
  claimFolder,
  folderFormat,
  formatFile,
} from '../../src/duckdb/data-folder/folder-format.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { backUp, restore } from '../../src/loading/back-up.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { openGateway } from '../support/open-gateway.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const folders = fileURLToPath(new URL('data-folders', import.meta.url));

/** Unpacks a data folder that an earlier version has left. */
async function unpack(name: string, target: string): Promise<void> {
  const from = join(folders, name);
  for (const file of await readdir(from, { recursive: true })) {
    if (!file.endsWith('.gz')) continue;
    const path = join(target, file.replace(/\.gz$/, ''));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, gunzipSync(await readFile(join(from, file))));
  }
}

const versions = (await readdir(folders)).sort();

test('every format has a folder', () => {
  const formats = Array.from({ length: folderFormat }, (_, n) => `format-${n + 1}`);
  expect(versions).toEqual(['before-formats', ...formats]);
});

test.each(versions)('a gateway over a folder of %s has every row, and takes further ones', async name => {
  const gateway = await openGateway({
    fill: directory => unpack(name, directory),
    environment: { COMPAT: 'logflare', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' },
  });
  try {
    const ask = async (sql: string) =>
      (await gateway.get(`/api/endpoints/query/logs.all?project=default&sql=${encodeURIComponent(sql)}`)).body
        .result;
    const event = JSON.stringify([{ id: 'g3', event_message: 'new', metadata: { extra: { depth: 2 } } }]);
    const sent = await gateway.send('/api/logs?source_name=gotrue.logs.prod', {
      method: 'POST',
      body: event,
    });
    expect(sent.status).toBe(200);
    await expect
      .poll(() =>
        ask('select t.id, e.depth from auth_logs t, unnest(t.metadata) m, unnest(m.extra) e order by id'),
      )
      .toEqual([
        { id: 'g1', depth: 1 },
        { id: 'g2', depth: 1.5 },
        { id: 'g3', depth: 2 },
      ]);
    const severities = `select t.id, (select string_agg(p.error_severity order by p.error_severity) from unnest(t.metadata) m, unnest(m.parsed) p) as severities
      from postgres_logs t order by id`;
    await expect
      .poll(() => ask(severities))
      .toEqual([
        { id: 'p1', severities: 'LOG' },
        { id: 'p2', severities: 'A,B' },
        { id: 'p3', severities: null },
      ]);
  } finally {
    await gateway.close();
  }
});

describe('a folder of a newer version', () => {
  const newer = async () => {
    const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
    await claimFolder(databasePath);
    await writeFile(formatFile(databasePath), `{"format":${folderFormat + 1}}`);
    return databasePath;
  };
  const message = `has the format ${folderFormat + 1}; this version knows formats up to ${folderFormat}`;
  const sources = readSources();

  test('is refused by a start', async () => {
    const DATA_DIR = dirname(await newer());
    const config = readConfig({ DATA_DIR, SAMPLE_ROWS: '0' });
    const deps = { clock: createStandingClock(), emit: () => undefined, onProgress: () => undefined };
    await expect(prepareData(config, deps)).rejects.toThrow(message);
    expect(await readdir(DATA_DIR)).toEqual(['format.json']);
  });

  test('is written and copied by nobody', async () => {
    const databasePath = await newer();
    const turn = storeAccepted({ databasePath, sources, emit: () => undefined, goesOn: true });
    await expect(turn).rejects.toThrow(message);
    const target = join(await temporaryDirectory(), 'backup');
    await expect(backUp(databasePath, target)).rejects.toThrow(message);
  });

  test('that is a backup is not restored', async () => {
    const databasePath = await newer();
    (await openForWriting(databasePath, [])).close();
    const target = join(await temporaryDirectory(), 'logs.duckdb');
    await expect(restore(target, dirname(databasePath))).rejects.toThrow(message);
  });
});

test.each(['', '{', '[]', '{"format":"1"}'])('a file of the format that holds %j is named', async text => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  await writeFile(formatFile(databasePath), text);
  expect(() => checkFolderFormat(databasePath)).toThrow(`${formatFile(databasePath)} is damaged`);
});

test('a folder gets its format at the first start, and keeps it in a backup', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  await claimFolder(databasePath);
  (await openForWriting(databasePath, [])).close();
  const target = join(await temporaryDirectory(), 'backup');
  await backUp(databasePath, target);
  for (const folder of [dirname(databasePath), target]) {
    expect(await readFile(join(folder, 'format.json'), 'utf8')).toBe(`{"format":${folderFormat}}\n`);
  }
});
