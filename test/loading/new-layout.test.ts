import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { openCheckingEngine } from '../../src/commands/checks/open-checking-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { prepareData } from '../../src/composition/prepare-data.ts';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const source = (columns: string) =>
  `name: shop.orders\ntime: placed\ncolumns: { placed: TIMESTAMP, ${columns} }\n`;

async function* lines(...texts: string[]) {
  yield* texts;
}

/** A data folder whose rows are in two files, over the nine sources and one with these columns. */
async function openFolder(columns: string) {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  const SOURCES_DIR = join(directory, 'sources');
  await cp(ownSources, SOURCES_DIR, { recursive: true });
  const declare = (text: string) => writeFile(join(SOURCES_DIR, 'shop.orders.yaml'), source(text));
  await declare(columns);
  const config = readConfig({ DATA_DIR: directory, SOURCES_DIR, SAMPLE_ROWS: '0' });
  const deps = { clock: createStandingClock(), emit: () => undefined, onProgress: () => undefined };
  await prepareData(config, deps);
  const sources = readSources(SOURCES_DIR);
  const orders = sources.find(({ name }) => name === 'shop.orders')!;
  await acceptRows({
    folder: rowsFolderOf(databasePath),
    source: orders,
    lines: lines('{"placed":"2026-01-15T10:00:00Z","total":1}'),
  });
  while (await storeAccepted({ databasePath, sources, emit: () => undefined }));
  expect(readCurrent(databasePath).version).not.toBe('');
  return {
    SOURCES_DIR,
    declare,
    start: () => prepareData(config, deps),
    current: () => readCurrent(databasePath),
    /** The columns of a statement, as the commands find them. */
    async check(sql: string) {
      const { engine, close } = await openCheckingEngine(config, deps);
      return engine.describe({ sql, parameters: [] }).finally(close);
    },
    async ask(sql: string) {
      const instance = await DuckDBInstance.create(readCurrent(databasePath).path, {
        access_mode: 'READ_ONLY',
      });
      try {
        return (await (await instance.connect()).runAndReadAll(sql)).getRowObjectsJson();
      } finally {
        instance.closeSync();
      }
    },
  };
}

test('a start over rows in two files has the tables and columns of sources that are new or have grown', async () => {
  const folder = await openFolder('total: INT64');
  await folder.declare('total: INT64, customer: STRING');
  await writeFile(join(folder.SOURCES_DIR, 'shop.visits.yaml'), 'name: shop.visits\ncolumns: { n: INT64 }\n');
  expect(await folder.check('SELECT customer, n FROM `shop.orders`, `shop.visits`')).toHaveLength(2);
  await folder.start();
  expect(await folder.ask('SELECT total, customer FROM "shop.orders"')).toEqual([
    { total: '1', customer: null },
  ]);
  expect(await folder.ask('SELECT n FROM "shop.visits"')).toEqual([]);
});

test('a start over the same sources writes nothing', async () => {
  const folder = await openFolder('total: INT64');
  const before = folder.current();
  await folder.start();
  expect(folder.current()).toEqual(before);
});
