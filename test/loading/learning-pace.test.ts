import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSources } from '../../src/endpoints/sources.ts';
import { readBlocks, rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { learnedFile, readLearned } from '../../src/loading/events/learned-fields.ts';
import { createLearningPace } from '../../src/loading/events/learning-pace.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const source = readSources().find(({ name }) => name === 'deno-relay-logs')!;

/** A folder that takes events one by one. */
async function openFolder() {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  let nowMs = 0;
  const pace = createLearningPace(() => nowMs);
  return {
    databasePath,
    pace,
    waitFor(ms: number) {
      nowMs += ms;
    },
    accept: (metadata: object, more: object = {}) =>
      acceptEvents({
        databasePath,
        folder,
        source,
        body: Buffer.from(JSON.stringify([{ metadata, ...more }])),
        nowMs: Date.now(),
        pace,
      }),
    /** The newest row. */
    async row() {
      const names = (await readdir(folder)).sort();
      let last = '{}';
      for await (const { rows } of readBlocks(folder, names.at(-1)!)) last = rows.at(-1)!;
      return JSON.parse(last);
    },
    learned: () => readLearned(databasePath)[source.name],
  };
}

test('a source whose columns took long to write learns further fields of its records together, later, and keeps the text until then', async () => {
  const folder = await openFolder();
  await folder.accept({ a: 1 });
  folder.pace.rewritten(source.name, 3000);
  for (const metadata of [{ b: 'x' }, { c: { d: 2 } }, { a: 1.5 }])
    expect(await folder.accept(metadata)).toMatchObject({ events: 1, lostValues: 1 });
  expect((await folder.row())._original).toBe('{"metadata":{"a":1.5}}');
  // A column is made at once: no other one is written for it.
  expect(await folder.accept({ a: 2 }, { column: true })).toMatchObject({ lostValues: 0 });
  expect(folder.learned()).toEqual({ metadata: [{ a: 'INT64' }], _original: 'STRING', column: 'BOOL' });
  folder.waitFor(60_000);
  await folder.accept({ a: 3 });
  expect(folder.learned()).toEqual({
    metadata: [{ a: 'FLOAT64', b: 'STRING', c: [{ d: 'INT64' }] }],
    _original: 'STRING',
    column: 'BOOL',
  });
  expect(await folder.accept({ c: { d: 5 } })).toMatchObject({ lostValues: 0 });
});

test('what takes less than a second, and what other sources do, keeps nobody from learning', async () => {
  const folder = await openFolder();
  folder.pace.rewritten(source.name, 900);
  folder.pace.rewritten('postgres.logs', 60_000);
  expect(await folder.accept({ a: 1 })).toMatchObject({ lostValues: 0 });
  expect(folder.learned()).toEqual({ metadata: [{ a: 'INT64' }] });
});

test('events that bring nothing new leave the file of learned fields as it is', async () => {
  const folder = await openFolder();
  await folder.accept({ a: 1 });
  const before = await stat(learnedFile(folder.databasePath));
  await folder.accept({ a: 2 });
  expect((await stat(learnedFile(folder.databasePath))).ino).toBe(before.ino);
});
