import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { issueToken } from '../../src/auth/manage-tokens.ts';
import { tokenFile } from '../../src/auth/token-file.ts';
import { readConfig } from '../../src/composition/config.ts';
import { prepareData } from '../../src/composition/prepare-data.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const clock = createStandingClock();

/** What a start over the warehouse, which has its own rows, makes of a data folder. */
async function prepare(environment: Record<string, string>, directory?: string) {
  const DATA_DIR = directory ?? (await temporaryDirectory());
  const warehouse = {
    ENGINE: 'bigquery',
    BIGQUERY_PROJECT: 'project-1',
    BIGQUERY_TABLES: 'postgres.logs=project-1.logs.postgres',
  };
  const config = readConfig({ ...warehouse, DATA_DIR, ...environment });
  const { isOwnToken, accessToken } = await prepareData(config, {
    clock,
    emit: () => undefined,
    onProgress: () => undefined,
  });
  return { isOwnToken, accessToken, files: await readdir(DATA_DIR) };
}

test('a first start makes a token only where nobody else gives one', async () => {
  expect(await prepare({})).toMatchObject({ isOwnToken: true, files: ['sample-token'] });
  const jwt = { JWT_ISSUER: 'i', JWT_AUDIENCE: 'a', JWT_SECRET: 'x'.repeat(32) };
  const all: Record<string, string>[] = [{ ACCESS_TOKEN: 'one' }, { TOKEN_HASHES: 'a'.repeat(64) }, jwt];
  for (const given of all) {
    expect(await prepare(given)).toMatchObject({ isOwnToken: false, files: [] });
  }
  const directory = await temporaryDirectory();
  await issueToken(tokenFile(join(directory, 'tokens.json')), { name: 'x', clock });
  expect(await prepare({}, directory)).toMatchObject({ isOwnToken: false, files: ['tokens.json'] });
});

test('first starts at the same time make one token', async () => {
  const directory = await temporaryDirectory();
  const starts = await Promise.all(Array.from({ length: 5 }, () => prepare({}, directory)));
  expect(new Set(starts.map(({ accessToken }) => accessToken)).size).toBe(1);
});

test('a data folder that is made is open to its owner alone', async () => {
  const directory = join(await temporaryDirectory(), 'made', 'data');
  await prepare({}, directory);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
});
