import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** Exit code and output of a program. */
async function outcome(command: string, args: readonly string[], environment: Record<string, string> = {}) {
  const env = { ...process.env, REDIS_PASSWORD: '', ...environment };
  return run(command, args, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout = '', stderr = '' }) => ({ code, output: `${stdout}${stderr}` }),
  );
}

/** Whether a program is there; where it is not, the tests that need it say so. */
async function isThere(command: string, ...args: string[]): Promise<boolean> {
  const { code } = await outcome(command, args);
  if (code !== 0) process.stdout.write(`not run: there is no ${command} ${args[0]} on the PATH\n`);
  return code === 0;
}

const hasCompose = await isThere('docker', 'compose', 'version');
const hasPromtool = await isThere('promtool', '--version');

const compose = (files: readonly string[], environment: Record<string, string>) =>
  outcome('docker', ['compose', ...files.flatMap(file => ['-f', file]), 'config'], environment);

test.skipIf(!hasCompose)('Docker Compose takes the files, and demands what they say', async () => {
  const password = { REDIS_PASSWORD: 'of5letters' };
  const own = await compose(['docker-compose.yml'], password);
  expect([own.code, own.output]).toEqual([0, expect.stringContaining('redis://:of5letters@redis:6379')]);
  expect((await compose(['docker-compose.yml'], {})).output).toContain('REDIS_PASSWORD is missing a value');
  const files = ['docker-compose.yml', 'docker-compose.bigquery.yml'];
  const warehouse = { BIGQUERY_PROJECT: 'p', BIGQUERY_TABLES: 'a=b.c.d', CREDENTIALS: 'package.json' };
  const both = await compose(files, { ...password, ...warehouse });
  // Two gateways and a worker, which keep the Redis of the first file.
  expect([both.code, both.output.match(/^ {6}ENGINE: bigquery/gm)?.length]).toEqual([0, 3]);
  expect(both.output.match(/^ {6}REDIS_URL: redis:\/\/:of5letters/gm)).toHaveLength(3);
  for (const [name, value] of Object.entries(warehouse)) {
    const { output } = await compose(files, { ...password, ...warehouse, [name]: '' });
    expect([value, output]).toEqual([value, expect.stringContaining(`${name} is missing a value`)]);
  }
});

test.skipIf(!hasPromtool)('promtool takes the alert rules, and each fires when it should', async () => {
  expect(await outcome('promtool', ['check', 'rules', 'deploy/prometheus-alerts.yaml'])).toMatchObject({
    code: 0,
  });
  expect(await outcome('promtool', ['test', 'rules', 'test/deploy/alert-cases.yaml'])).toMatchObject({
    code: 0,
  });
});
