import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import type { LoadingEvent } from '../../src/loading/loading-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { createUpkeep } from '../../src/loading/upkeep.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

const source = (name: string, time: string) =>
  parseSource(
    `${name}.yaml`,
    `name: ${name}\ntime: at\nretentionDays: 2\ncolumns: { n: INT64, at: ${time} }\n`,
    '/',
  );

test('a source on which retention and sorting fail is named, and others are stored and kept small in the same turn', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  // Its time was text before its file was changed: what is stored can't be compared with a time.
  const textual = parseSource('broken.yaml', 'name: broken\ncolumns: { n: INT64, at: STRING }\n', '/');
  const { connection, close } = await openForWriting(databasePath, [textual]);
  await connection.run(`INSERT INTO broken VALUES (0, 'noon')`);
  close();
  const sources = [source('broken', 'TIMESTAMP'), source('whole', 'TIMESTAMP')];
  const events: LoadingEvent[] = [];
  const emit = (event: LoadingEvent) => void events.push(event);
  const upkeep = createUpkeep(emit);
  const accept = (name: string, rows: readonly object[]) =>
    acceptRows({
      folder: rowsFolderOf(databasePath),
      source: sources.find(each => each.name === name)!,
      lines: (async function* () {
        for (const row of rows) yield JSON.stringify(row);
      })(),
    });
  await accept('whole', [
    { n: 1, at: daysAgo(3) },
    { n: 2, at: daysAgo(1) },
  ]);
  await accept('broken', [{ n: 3, at: daysAgo(1) }]);
  while (await storeAccepted({ databasePath, sources, emit, upkeep }));
  const failed = { type: 'upkeep.failed', source: 'broken', message: expect.stringContaining('VARCHAR') };
  expect(events).toEqual([
    { ...failed, task: 'retention' },
    { ...failed, task: 'sorting' },
  ]);
  const sql = 'SELECT n::INT FROM whole UNION ALL SELECT n::INT FROM broken';
  const rows = await askFile(readCurrent(databasePath).path, sql);
  expect(rows.flat().sort()).toEqual([0, 2, 3]);
});

test('a damaged block that upkeep meets is reported for repair; a lack of memory goes to a turn that has more', async () => {
  const events: LoadingEvent[] = [];
  const upkeep = createUpkeep(event => void events.push(event));
  const failing = (message: string, isLast = false) =>
    upkeep.run('sorting', message.slice(0, 5), isLast, () => Promise.reject(new Error(message)));
  const damaged =
    'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at location 77824';
  await failing(damaged);
  expect(events.map(({ type }) => type)).toEqual(['upkeep.failed', 'database.unreadable']);
  expect(events[1]).toEqual({ type: 'database.unreadable', place: 77824 });
  await expect(failing('Out of Memory Error: 160 MB')).rejects.toThrow('Out of Memory');
  await failing('Out of Memory Error: 1 GB', true);
  expect(events).toHaveLength(3);
  // It rests.
  expect(await upkeep.run('sorting', 'Out o', false, async () => true)).toBeUndefined();
  expect(await upkeep.run('retention', 'Out o', false, async () => true)).toBe(true);
});
