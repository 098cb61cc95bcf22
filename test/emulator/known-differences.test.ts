import { afterAll, beforeAll, expect, test } from 'vitest';
import { bothAnswer, logs, unorderedContentOf } from './compare-gateways.ts';
import { knownDifferences } from './known-differences.ts';
import { startEmulatorTwins } from './start-emulator-twins.ts';

let twins: Awaited<ReturnType<typeof startEmulatorTwins>>;
beforeAll(async () => {
  twins = await startEmulatorTwins();
}, 300_000);
afterAll(() => twins?.stop());

test.each(knownDifferences)('$sql: $reason', async ({ sql, answers }) => {
  const { overEmulator, embedded } = await bothAnswer(twins, gateway => gateway.get(logs(sql)));
  expect(overEmulator.text).toMatch(answers);
  expect(embedded.text).not.toMatch(answers);
  expect(unorderedContentOf(overEmulator)).not.toEqual(unorderedContentOf(embedded));
});
