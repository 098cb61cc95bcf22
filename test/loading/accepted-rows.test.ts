import { stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listRowsFiles, removeUnfinished, writeRowsFile } from '../../src/loading/accepted-rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const block = { source: 'numbers', severalElements: [], replaces: false, rows: ['{"n":1}'] };

test('a file whose rows pause for hours is kept', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = await temporaryDirectory();
  const file = await writeRowsFile(folder);
  await file.add(block);
  const unfinished = join(folder, file.name.replace(/rows$/, 'part'));
  await utimes(unfinished, new Date(0), new Date(0));
  await vi.advanceTimersToNextTimerAsync();
  await vi.waitUntil(async () => (await stat(unfinished)).mtimeMs > 0);
  await removeUnfinished(folder, Date.now());
  await file.keep();
  expect((await listRowsFiles(folder)).map(({ name }) => name)).toEqual([file.name]);
  expect(vi.getTimerCount()).toBe(0);
});

test('an unfinished file that nobody writes is removed after an hour', async () => {
  const folder = await temporaryDirectory();
  const file = await writeRowsFile(folder);
  onTestFinished(() => file.discard());
  await file.add(block);
  await removeUnfinished(folder, Date.now() + 7_200_000);
  await expect(file.keep()).rejects.toThrow('ENOENT');
});

test('rows whose writing takes hours wait for a process that knows their source from its end on', async () => {
  const folder = await temporaryDirectory();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(1000);
  const file = await writeRowsFile(folder);
  clock.mockRestore();
  await file.add(block);
  await file.keep();
  const [kept] = await listRowsFiles(folder);
  expect(kept!.name).toMatch(/^0+1000-/);
  expect(kept!.acceptedMs).toBe((await stat(join(folder, file.name))).mtimeMs);
});
