import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const loader = fileURLToPath(new URL('../../src/loading/loader-process.ts', import.meta.url));

test('the process that loads rows leaves its modules compiled for the next one, though it is killed', async () => {
  const directory = await temporaryDirectory();
  const cache = join(directory, 'cache');
  const settings = { databasePath: join(directory, 'logs.duckdb'), sourcesDirectory: directory };
  const child = fork(loader, [JSON.stringify(settings)], {
    execArgv: [],
    env: { NODE_COMPILE_CACHE: cache },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.send({ type: 'store', nowMs: Date.now() });
  // At rest: it has read all of its modules.
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const [version = ''] = await readdir(cache);
  expect((await readdir(join(cache, version))).length).toBeGreaterThan(50);
});
