import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { drawSettings } from './draw-settings.ts';

/** What was drawn for a hundred gateways. */
const draw = (stated: Record<string, string> = {}) => Array.from({ length: 100 }, () => drawSettings(stated));

test('gateways of tests have a Redis or none, memory, batch windows and compression as it comes', () => {
  const drawn = draw();
  const valuesOf = (read: (each: (typeof drawn)[number]) => unknown) => [...new Set(drawn.map(read))].sort();
  expect(valuesOf(({ isOnRedis }) => isOnRedis)).toEqual([false, true]);
  expect(valuesOf(({ environment }) => environment.CACHE_MEMORY_MB)).toEqual(['0', '1', '64']);
  expect(valuesOf(({ environment }) => environment.BATCH_WINDOW_MS)).toEqual(['0', '1', '20']);
  expect(valuesOf(({ acceptEncoding }) => acceptEncoding)).toEqual([
    'br',
    'gzip',
    'gzip, deflate, br, zstd',
    'identity',
    'zstd',
  ]);
});

test('what a test states about the settings of its gateway is not drawn', () => {
  const drawn = draw({ CACHE_MEMORY_MB: '8', BATCH_WINDOW_MS: '5' });
  for (const { isOnRedis, environment } of drawn)
    expect([isOnRedis, environment]).toEqual([false, { CACHE_MEMORY_MB: '8', BATCH_WINDOW_MS: '5' }]);
});

const failing = 'draws and fails on purpose';

if (process.env.FAIL_ON_PURPOSE) {
  test(failing, () => {
    drawSettings({});
    expect(0).toBe(1);
  });
}

test('a test that fails prints what was drawn for its gateways, and the seed', async () => {
  const env = { ...process.env, FAIL_ON_PURPOSE: '1', SEED: '7' };
  const [file, ...options] = [import.meta.filename, '-t', failing];
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
  const { stderr } = await promisify(execFile)(process.execPath, [vitest, 'run', file, ...options], {
    env,
  }).then(
    () => ({ stderr: 'it passed' }),
    (failure: { readonly stderr: string }) => failure,
  );
  expect(stderr).toMatch(/SEED=7, settings drawn:\ntest\/support\/draw-settings\.test\.ts 0: \{"isOnRedis":/);
});
