import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';

const script = fileURLToPath(new URL('load-within-limit.ts', import.meta.url));

/**
 * Runs the script where no file may grow beyond a size: a write that needs more fails, as on a full disk.
 * @param kilobytes default: no limit
 */
function run(
  args: readonly string[],
  kilobytes?: number,
): Promise<{ rows?: number; error?: string; events?: object[] }> {
  const limit = kilobytes === undefined ? '' : `ulimit -f ${kilobytes}; `;
  return new Promise((resolve, reject) => {
    const command = `${limit}exec "$@"`;
    execFile('bash', ['-c', command, 'bash', process.execPath, script, ...args], (error, stdout) => {
      // The script ends itself by a signal once it has printed.
      if (stdout === '') reject(error);
      else resolve(JSON.parse(stdout));
    });
  });
}

test('a full disk loses nothing that was acknowledged, says so, and is over when there is room', async () => {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  const count = async () => {
    const sql = 'SELECT count(*), count(DISTINCT n), max(n) FROM numbers';
    return (await askFile(readCurrent(databasePath).path, sql))[0];
  };
  const waiting = async () =>
    (await readdir(join(directory, 'rows'))).filter(name => !name.startsWith('writer'));
  expect(await run(['accept', databasePath, '0', '1000'])).toMatchObject({ rows: 1000 });
  expect(await run(['store', databasePath])).toEqual({ events: [] });
  const before = readCurrent(databasePath);

  // No room to accept: nothing is acknowledged, and nothing is left behind.
  const refused = await run(['accept', databasePath, '1000', '2000'], 100);
  expect(refused.error).toMatch(/EFBIG|ENOSPC/);
  expect(await waiting()).toEqual([]);

  // No room to store: what was acknowledged waits, and queries see what they saw.
  expect(await run(['accept', databasePath, '2000', '12000'])).toMatchObject({ rows: 10_000 });
  const kilobytes = Math.ceil((await stat(before.path)).size / 1024) + 64;
  const delayed = await run(['store', databasePath], kilobytes);
  expect(delayed.error).toMatch(/Failed to commit: .*File too large/);
  expect([(await waiting()).length, readCurrent(databasePath)]).toEqual([1, before]);
  expect(await count()).toEqual(['1000', '1000', '999']);

  expect(await run(['store', databasePath])).toEqual({ events: [] });
  expect(await count()).toEqual(['11000', '11000', '11999']);
  expect(await waiting()).toEqual([]);
});
