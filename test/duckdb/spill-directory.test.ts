import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { newSpillDirectory, removeLeftSpills } from '../../src/duckdb/spill-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('removes the folders of processes that have ended, and no others', async () => {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  const own = basename(newSpillDirectory(databasePath));
  const { pid: ended } = spawnSync('true');
  const folderOf = (pid: number) => own.replace(`-${process.pid}-`, `-${pid}-`);
  const left = [own, folderOf(ended)];
  const others = [
    folderOf(process.ppid),
    own.replace(hostname(), 'elsewhere'),
    `other.${own}`,
    'logs.duckdb.tmp',
    'logs.duckdb.wal',
  ];
  for (const name of [...left, ...others]) {
    await mkdir(join(directory, name, 'inside'), { recursive: true });
  }
  await removeLeftSpills(databasePath);
  expect((await readdir(directory)).toSorted()).toEqual(others.toSorted());
});
