import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { rowsFolderOf, writeRowsFile } from '../../src/loading/accepted-rows.ts';
import { followLoads } from '../../src/loading/follow-loads.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const block = { source: 'numbers', severalElements: [], replaces: false, rows: ['{"n":1}'] };

test('rows are taken over that wait for long, or from before the clock was set back, but none that just came', async () => {
  const nowMs = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const abandoned: string[] = [];
  for (const [name, agoMs] of [
    ['old', 60_000],
    ['of the future', -3_600_000],
    ['new', 0],
  ] as const) {
    const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
    const folder = rowsFolderOf(databasePath);
    const file = await writeRowsFile(folder);
    await file.add(block);
    await file.keep();
    const at = new Date(nowMs - agoMs);
    await utimes(join(folder, file.name), at, at);
    const follow = { databasePath, onLoaded: () => undefined, onAbandoned: () => abandoned.push(name) };
    onTestFinished(followLoads(follow));
  }
  await expect.poll(() => [...new Set(abandoned)].sort()).toEqual(['of the future', 'old']);
});
