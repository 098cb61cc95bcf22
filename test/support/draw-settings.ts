import { relative } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { propertySeed } from './seed-properties.ts';

/** Settings that no caller may notice, as drawn for one gateway. */
type DrawnSettings = {
  /** Whether the gateway gets a Redis of its own. */
  readonly isOnRedis: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** What callers say in `Accept-Encoding`. */
  readonly acceptEncoding: string;
};

/** What was drawn by each test file so far: a line for each gateway. One process runs many files. */
const drawn = new Map<string, string[]>();

/** What was drawn so far in this test file. */
export function drawnSettings(): readonly string[] {
  return drawn.get(testFile()) ?? [];
}

function testFile(): string {
  return relative(process.cwd(), expect.getState().testPath ?? '');
}

/**
 * Draws the settings of the next gateway of a test file: always the same ones for one seed; `SEED=<n> npm test` draws others.
 * @param stated what the test says itself: it is not drawn
 */
export function drawSettings(stated: Readonly<Record<string, string>>): DrawnSettings {
  const file = testFile();
  const lines = drawn.get(file) ?? [];
  drawn.set(file, lines);
  const place = `${file} ${lines.length}`;
  const seed = [...place].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, propertySeed);
  const [found] = fc.sample(settings('REDIS_URL' in stated || 'CACHE_MEMORY_MB' in stated), {
    seed,
    numRuns: 1,
  });
  const { isOnRedis, environment, acceptEncoding } = found!; // one was asked for
  const all = { isOnRedis, environment: { ...environment, ...stated }, acceptEncoding };
  lines.push(`${place}: ${JSON.stringify(all)}`);
  return all;
}

function settings(isCacheStated: boolean): fc.Arbitrary<DrawnSettings> {
  return fc.boolean().chain(isOn => {
    const isOnRedis = isOn && !isCacheStated;
    return fc.record({
      isOnRedis: fc.constant(isOnRedis),
      environment: fc.record({
        // With none at all, and no Redis, nothing would be cached.
        CACHE_MEMORY_MB: fc.constantFrom(...(isOnRedis ? ['0'] : []), '1', '64'),
        BATCH_WINDOW_MS: fc.constantFrom('0', '1', '20'),
      }),
      acceptEncoding: fc.constantFrom('identity', 'gzip', 'br', 'zstd', 'gzip, deflate, br, zstd'),
    });
  });
}
