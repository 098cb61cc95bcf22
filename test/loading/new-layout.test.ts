import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openCheckingEngine } from '../../src/commands/checks/open-checking-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { prepareData } from '../../src/composition/prepare-data.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { createLoader } from '../../src/loading/loader.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';

const source = (columns: string, name = 'shop.orders') =>
  `name: ${name}\ntime: placed\ncolumns: { placed: TIMESTAMP, ${columns} }\n`;

async function* lines(...texts: string[]) {
  yield* texts;
}

/** A data folder whose rows are in two files, over the nine sources and one with these columns. */
async function openFolder(columns: string) {
  return openFolderIn(await temporaryDirectory(), columns);
}

async function openFolderIn(directory: string, columns: string) {
  const databasePath = join(directory, 'logs.duckdb');
  const SOURCES_DIR = join(directory, 'sources');
  await cp(ownSources, SOURCES_DIR, { recursive: true });
  const declare = (text: string, name?: string) =>
    writeFile(join(SOURCES_DIR, `${name ?? 'shop.orders'}.yaml`), source(text, name));
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
    directory,
    SOURCES_DIR,
    declare,
    /** Stores rows for each of these sources as it is declared now. */
    async load(rows: Readonly<Record<string, readonly string[]>>) {
      const own = readSources(SOURCES_DIR);
      for (const [of, some] of Object.entries(rows)) {
        const source = own.find(({ name }) => name === of)!;
        await acceptRows({ folder: rowsFolderOf(databasePath), source, lines: lines(...some) });
      }
      const events: object[] = [];
      while (await storeAccepted({ databasePath, sources: own, emit: event => void events.push(event) }));
      expect(events).toEqual([]);
    },
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
        const connection = await instance.connect();
        await connection.run("SET TimeZone = 'UTC'");
        return (await connection.runAndReadAll(sql)).getRowObjectsJson();
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

test('a source that comes while rows are taken has its table at once, one that is wrong waits until it is right, and one that reads files has none', async () => {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  const sourcesDirectory = join(directory, 'sources');
  await mkdir(sourcesDirectory);
  const write = (name: string, text: string) =>
    writeFile(join(sourcesDirectory, `${name}.yaml`), `name: ${name}\n${text}`);
  await write('first', 'columns: { n: INT64 }\n');
  (await openForWriting(databasePath, readSources(sourcesDirectory))).close();
  const loader = createLoader({ databasePath, sourcesDirectory, emit: () => undefined });
  onTestFinished(() => loader.close());
  const tables = () =>
    askFile(
      readCurrent(databasePath).path,
      "SELECT table_name FROM duckdb_tables() WHERE table_name[1] != '_' ORDER BY 1",
    );
  expect(loader.takeNewSources()).toBeUndefined();
  await write('broken', 'columns: { n: INT65 }\n');
  expect(loader.takeNewSources()).toBeUndefined();
  await write('files', 'files: [a.csv]\ncolumns: { n: INT64 }\n');
  await write('first', 'columns: { n: INT64, other: STRING }\n');
  expect(loader.takeNewSources()?.map(({ file }) => file)).toEqual(['first.yaml', 'files.yaml']);
  await write('second', 'columns: { n: INT64 }\n');
  expect(loader.takeNewSources()?.map(({ file }) => file)).toEqual([
    'first.yaml',
    'files.yaml',
    'second.yaml',
  ]);
  await expect.poll(tables).toEqual([['first'], ['second']]);
  await write('broken', 'columns: { n: INT64 }\n');
  expect(loader.takeNewSources()).toHaveLength(4);
  const rows = Readable.from([Buffer.from('{"n":1}')]);
  expect(await loader.load('broken', rows)).toMatchObject({ rows: 1 });
  await expect.poll(tables).toEqual([['broken'], ['first'], ['second']]);
});

test('columns that are declared in another letter case than before are the same ones, records in them too', async () => {
  const folder = await openFolder(
    'total: INT64, items: { type: STRUCT, repeated: true, fields: { Name: STRING } }',
  );
  await folder.declare(
    'Total: INT64, Items: { type: STRUCT, repeated: true, fields: { name: STRING, n: INT64 } }',
  );
  await folder.start();
  await folder.load({
    'shop.orders': ['{"placed":"2026-01-15T11:00:00Z","Total":2,"Items":[{"name":"a","n":1},{"name":"b"}]}'],
  });
  const asked =
    'SELECT total::INT AS total, to_json(list_transform(items, lambda i: i.name)) AS names FROM "shop.orders" ORDER BY 1';
  expect(await folder.ask(asked)).toEqual([
    { total: 1, names: '[]' },
    { total: 2, names: '["a","b"]' },
  ]);
});

/** A type before, another one after it, a value of each in JSON, and both as they are stored then. */
const changes = [
  ['INT64', 'NUMERIC', '7', '"1.5"', ['7.000000000', '1.500000000']],
  ['INT64', 'FLOAT64', '7', '1.5', ['7.0', '1.5']],
  ['DATE', 'TIMESTAMP', '"2026-01-15"', '"2026-01-15T10:00:00Z"', ['2026-01-15 00:00:00+00', '2026-01-15 10:00:00+00']],
  ['DATETIME', 'TIMESTAMP', '"2026-01-15"', '"2026-01-15T10:00:00Z"', ['2026-01-15 00:00:00+00', '2026-01-15 10:00:00+00']],
  ['{ type: STRUCT, repeated: true, fields: { a: STRING } }', '{ type: STRUCT, fields: { a: STRING, b: STRING } }', '[{"a":"x"}]', '{"a":"y","b":"z"}', ["{'_p': true, 'a': x, 'b': NULL}", "{'_p': true, 'a': y, 'b': z}"]],
  ['{ type: STRUCT, fields: { a: STRING } }', '{ type: STRUCT, repeated: true, fields: { a: STRING } }', '{"a":"x"}', '[{"a":"y"},{"a":"z"}]', ["[{'_p': true, 'a': x}]", "[{'_p': true, 'a': y}, {'_p': true, 'a': z}]"]],
  ['STRING', '{ type: STRING, repeated: true }', '"x"', '["a","b"]', ['x', '["a","b"]']],
  ['STRING', '{ type: STRUCT, fields: { a: STRING } }', '"x"', '{"a":"y"}', ['x', '{"a":"y"}']],
] as const; // biome-ignore format: a table

describe('a column that changes its type', () => {
  let directory: string;
  let folder: Awaited<ReturnType<typeof openFolderIn>>;
  const nameOf = (at: number) => `changed.n${at}`;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'new-layout-'));
    folder = await openFolderIn(directory, 'total: INT64');
    // A source for each, so that none has to do with another; two starts for all of them. Each has a row without the value, too.
    for (const step of [0, 1]) {
      for (const [at, change] of changes.entries())
        await folder.declare(`total: INT64, value: ${change[step]}`, nameOf(at));
      await folder.start();
      const rows = changes.map((change, at) => [
        nameOf(at),
        [
          '{"placed":"2026-01-15T09:00:00Z"}',
          `{"placed":"2026-01-15T1${step}:00:00Z","total":${step},"value":${change[2 + step]}}`,
        ],
      ]);
      await folder.load(Object.fromEntries(rows));
    }
  });
  afterAll(() => rm(directory, { recursive: true }));

  test.each(changes.map(([before, after, , , stored], at) => [before, after, stored, at] as const))(
    'a column that was %s and is declared as %s loses nothing of its rows',
    async (_before, _after, stored, at) => {
      const found = await folder.ask(
        `SELECT value::VARCHAR AS value FROM "${nameOf(at)}" WHERE total IS NOT NULL ORDER BY total`,
      );
      expect(found.map(({ value }) => value)).toEqual(stored);
    },
  );
});

test('a source whose name is in another letter case than before holds up no other', async () => {
  const folder = await openFolder('total: INT64');
  await rm(join(folder.SOURCES_DIR, 'shop.orders.yaml'));
  await writeFile(
    join(folder.SOURCES_DIR, 'Shop.Orders.yaml'),
    source('total: INT64, n: INT64').replace('shop.orders', 'Shop.Orders'),
  );
  await folder.start();
  expect(await folder.ask('SELECT total::INT AS total, n FROM "shop.orders"')).toEqual([
    { total: 1, n: null },
  ]);
});

test('a start waits for as long as another process writes, be it a backup of minutes', async () => {
  const folder = await openFolder('total: INT64');
  await folder.declare('total: INT64, customer: STRING');
  const lock = await DuckDBInstance.create(join(folder.directory, 'rows', 'writer.duckdb'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const started = folder.start();
    // That of the loader, which has a task, and nothing to say of it.
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    lock.closeSync();
    await started;
  } finally {
    vi.useRealTimers();
  }
  expect(await folder.ask('SELECT customer FROM "shop.orders"')).toEqual([{ customer: null }]);
});

test('a start over the same sources writes nothing', async () => {
  const folder = await openFolder('total: INT64');
  const before = folder.current();
  await folder.start();
  expect(folder.current()).toEqual(before);
});
