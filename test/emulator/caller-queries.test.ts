import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerQueries } from './caller-queries.ts';
import { bothAnswer, contentOf, logs } from './compare-gateways.ts';
import { startEmulatorTwins } from './start-emulator-twins.ts';

let twins: Awaited<ReturnType<typeof startEmulatorTwins>>;
beforeAll(async () => {
  twins = await startEmulatorTwins();
}, 300_000);
afterAll(() => twins?.stop());

test.each(callerQueries)('%s', async sql => {
  const { overEmulator, embedded } = await bothAnswer(twins, gateway => gateway.get(logs(sql)));
  expect(contentOf(embedded)).toHaveProperty('rows');
  expect(contentOf(overEmulator)).toEqual(contentOf(embedded));
});
