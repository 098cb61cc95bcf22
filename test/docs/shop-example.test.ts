import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { testEndpoints } from '../../src/commands/endpoint-tests.ts';
import { readConfig } from '../../src/composition/config.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const environment = { SOURCES_DIR: 'examples/shop/sources', SQL_DIR: 'examples/shop/sql', SAMPLE_ROWS: '0' };

test('the tests of examples/shop pass', async () => {
  const outcomes = await testEndpoints(readConfig(environment), []);
  expect(outcomes.filter(({ problem }) => problem !== undefined)).toEqual([]);
  expect(outcomes).toHaveLength(5);
});

test('the orders that its script makes are loaded as its page says', async () => {
  const DATA_DIR = join(await temporaryDirectory(), 'data');
  const env = { ...process.env, ...environment, DATA_DIR };
  const command = 'node examples/shop/make-data.ts 200 | node src/cli.ts import shop.orders -';
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { env });
  expect(stdout.trim()).toBe('200 rows imported into shop.orders, 0 left out');
});
