import { afterAll, beforeAll, expect, test } from 'vitest';
import { plainQueries } from '../sandbox/plain-queries.ts';
import { bothAnswer, logs, unorderedContentOf } from './compare-gateways.ts';
import { knownDifferences } from './known-differences.ts';
import { startEmulatorTwins } from './start-emulator-twins.ts';

let twins: Awaited<ReturnType<typeof startEmulatorTwins>>;
beforeAll(async () => {
  twins = await startEmulatorTwins();
}, 300_000);
afterAll(() => twins?.stop());

const listed = new Set(knownDifferences.map(({ sql }) => sql));
test.each(plainQueries.filter(sql => !listed.has(sql)))('in any order: %s', async sql => {
  const { overEmulator, embedded } = await bothAnswer(twins, gateway => gateway.get(logs(sql)));
  expect(unorderedContentOf(overEmulator)).toEqual(unorderedContentOf(embedded));
});
