import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSourceFolder } from '../../src/endpoints/sources.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('a source is that of its file as it is now, in each folder, also after it was broken or away', async () => {
  const [one, other] = [await temporaryDirectory(), await temporaryDirectory()];
  const write = (directory: string, column: string) =>
    writeFile(
      join(directory, 'orders.yaml'),
      `name: orders\ntime: at\ncolumns: { ${column}, at: TIMESTAMP }\n`,
    );
  const read = (directory: string) => {
    const { sources, broken } = readSourceFolder(directory);
    return [sources.map(({ columns }) => Object.keys(columns).join()), broken.length];
  };
  await write(one, 'n: INT64');
  await write(other, 'text: STRING');
  expect([read(one), read(other), read(one)]).toEqual([
    [['n,at'], 0],
    [['text,at'], 0],
    [['n,at'], 0],
  ]);
  await write(one, 'total: INT64');
  expect(read(one)).toEqual([['total,at'], 0]);
  await write(one, 'total: NOTHING');
  expect(read(one)).toEqual([[], 1]);
  expect(read(one)).toEqual([[], 1]);
  await rm(join(one, 'orders.yaml'));
  expect(read(one)).toEqual([[], 0]);
  await write(one, 'total: INT64');
  expect([read(one), read(other)]).toEqual([
    [['total,at'], 0],
    [['text,at'], 0],
  ]);
});

test('paths of files start in the folder of their source, whatever another folder has', async () => {
  const folders = [await temporaryDirectory(), await temporaryDirectory()];
  const text = 'name: orders\ntime: at\nfiles: [rows/*.parquet]\ncolumns: { at: TIMESTAMP }\n';
  const paths = folders.map(async folder => {
    await writeFile(join(folder, 'orders.yaml'), text);
    return readSourceFolder(folder).sources[0]?.files?.paths;
  });
  expect(await Promise.all(paths)).toEqual(folders.map(folder => [join(folder, 'rows/*.parquet')]));
});
