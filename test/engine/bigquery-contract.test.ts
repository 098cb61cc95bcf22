import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, test, vi } from 'vitest';
import { openExecutingWarehouse } from '../bigquery/executing-warehouse.ts';
import { fakeGoogle } from '../bigquery/fake-google.ts';
import { startLoopClock } from '../support/loop-clock.ts';
import { engineContract } from './engine-contract.ts';
import { openContractWarehouse } from './open-contract-engine.ts';

const authorities = getCACertificates();

/** At Google itself, in a region whose jobs are not found unless it is named; the engine is not told which. */
const open = () =>
  openContractWarehouse(async (engine, { table, source }) => {
    const options = { engine, sourceOf: new Map([[table, source]]), pageRows: 10 };
    const google = await fakeGoogle(await openExecutingWarehouse({ ...options, location: 'europe-west3' }));
    for (const [name, value] of Object.entries(google.environment)) vi.stubEnv(name, value);
    setDefaultCACertificates([google.cert]);
    const close = async () => {
      await google.close();
      vi.unstubAllEnvs();
      setDefaultCACertificates(authorities);
    };
    return { ...google, endpoint: undefined, close };
  });

engineContract(open);

test('a caller who leaves cancels the job within a second, and an answer says what it cost', async () => {
  const { engine, warehouse, close } = await open();
  const statement = { endpoint: 'contract', parameters: [], maxRows: 10 };
  const { receipt } = await engine.run(
    { ...statement, sql: 'select id from `cloudflare.logs.prod`' },
    { signal: new AbortController().signal, timeoutMs: 5000 },
  );
  expect(receipt).toMatchObject({ bytesProcessed: 1000, bytesBilled: 10_000, slotMs: 5 });
  const caller = new AbortController();
  const sql =
    'select count(*) as n from unnest(generate_array(1, 100000)) as a, unnest(generate_array(1, 100000)) as b where a * b > 7';
  const running = engine.run({ ...statement, sql }, { signal: caller.signal, timeoutMs: 20_000 });
  const jobs = () => warehouse.asked.filter(({ what }) => what === 'insert').length;
  await vi.waitFor(() => expect(jobs()).toBe(2));
  caller.abort(new Error('gone'));
  await expect(running).rejects.toThrow();
  const tookMs = startLoopClock();
  while (!warehouse.asked.some(({ what }) => what === 'cancel'))
    await new Promise(resolve => setTimeout(resolve, 10));
  expect(tookMs()).toBeLessThan(1000);
  await close();
});
