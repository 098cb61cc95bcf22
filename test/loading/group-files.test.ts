import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Source } from '../../src/endpoints/source.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { listRowsFiles, type RowsFile } from '../../src/loading/accepted-rows.ts';
import { groupFiles, sliceFiles } from '../../src/loading/group-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function sourceOf(name: string, fields: number): Source {
  const columns = Array.from({ length: fields - 1 }, (_none, n) => [`c${n}`, 'INT64'] as const);
  return { name, columns: Object.fromEntries(columns) };
}

/** Accepts a file of each of these sources, one after the other. */
async function acceptFiles(sources: readonly Source[]) {
  const folder = join(await temporaryDirectory(), 'rows');
  const files: RowsFile[] = [];
  for (const source of sources) {
    await acceptRows({ folder, source, lines: (async function* () { yield '{}'; })() }); // biome-ignore format: short
    const all = await listRowsFiles(folder);
    files.push(all.find(({ name }) => !files.some(each => each.name === name))!);
  }
  return { folder, files };
}

test('a transaction writes to few fields, of as many sources as that are, each with its files in their order', async () => {
  const [wide, one, other, last] = [
    sourceOf('wide', 90),
    sourceOf('one', 30),
    sourceOf('other', 60),
    sourceOf('last', 20),
  ];
  const { folder, files } = await acceptFiles([one, wide, other, one, last, wide]);
  const groups = await groupFiles(folder, files, [wide, one, other, last]);
  const places = groups.map(group => group.map(file => files.indexOf(file)));
  expect(places).toEqual([[0, 3], [1, 5], [2, 4]]); // biome-ignore format: groups
});

test('files whose source nobody knows, and torn ones, are in some transaction', async () => {
  const { folder, files } = await acceptFiles([sourceOf('one', 3), sourceOf('gone', 3)]);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'torn.rows'), '{"sour');
  const torn = { name: 'torn.rows', bytes: 6, acceptedMs: 0, sender: '' };
  const groups = await groupFiles(folder, [...files, torn], [sourceOf('one', 3)]);
  expect(groups.flat()).toEqual([...files, torn]);
});

test('a transaction ends with the file with which it has four megabytes', async () => {
  const [one, other] = [sourceOf('one', 3), sourceOf('other', 3)];
  const { folder, files: small } = await acceptFiles([one, other, one, other, one]);
  const files = small.map((file, n) => ({ ...file, bytes: [3, 1, 2, 1, 1][n]! * 2 ** 20 }));
  const groups = await groupFiles(folder, files, [one, other]);
  expect(groups.map(group => group.map(file => files.indexOf(file)))).toEqual([[0, 2], [4, 1, 3]]); // biome-ignore format: groups
});

test('files are taken in their order, some megabytes at a time, and one by one where one of them breaks the database', () => {
  const file = (megabytes: number, n: number): RowsFile => ({
    name: `${n}`,
    bytes: megabytes * 2 ** 20,
    acceptedMs: 0,
    sender: '',
  });
  const files = [4, 8, 4, 36, 4].map(file);
  const namesOf = (isAlone: boolean) =>
    [...sliceFiles(files, isAlone)].map(slice => slice.map(({ name }) => name).join());
  expect(namesOf(false)).toEqual(['0,1,2', '3', '4']);
  expect(namesOf(true)).toEqual(['0', '1', '2', '3', '4']);
});
