import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claimFolderId, folderIdFile, readFolderId } from '../../src/duckdb/data-folder/folder-id.ts';
import { backUp, restore } from '../../src/loading/back-up.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const openFolder = async () => join(await temporaryDirectory(), 'logs.duckdb');

test('a data folder has one name, whoever asks for it first', async () => {
  const folder = await openFolder();
  expect(await readFolderId(folder)).toBeUndefined();
  const ids = await Promise.all([claimFolderId(folder), claimFolderId(folder), claimFolderId(folder)]);
  expect(new Set(ids).size).toBe(1);
  expect(await readFolderId(folder)).toBe(ids[0]);
  expect(await claimFolderId(await openFolder())).not.toBe(ids[0]);
});

test('the rows of a backup have another name than those that were here before', async () => {
  const [folder, other] = [await openFolder(), await openFolder()];
  await writeFile(folder, 'rows');
  const [id, ofOther] = [await claimFolderId(folder), await claimFolderId(other)];
  const target = join(await temporaryDirectory(), 'backup');
  await backUp(folder, target);
  expect(await readFolderId(join(target, 'logs.duckdb'))).toBeUndefined();
  await restore(other, target);
  expect([id, ofOther]).not.toContain(await claimFolderId(other));
});

test('a folder whose name was not written to its end gets another', async () => {
  const folder = await openFolder();
  await writeFile(folderIdFile(folder), '\n');
  expect(await claimFolderId(folder)).toMatch(/^[\da-f-]{36}$/);
});
