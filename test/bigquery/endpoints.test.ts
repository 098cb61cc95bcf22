import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { fakeGoogle } from './fake-google.ts';
import { openWarehouse, savedSql } from './scripted-warehouse.ts';

/** Where a query goes, and with what. */
async function askedOf({ endpoint, universe }: { endpoint?: string; universe?: string }) {
  const emulator = await openWarehouse({});
  const google = await fakeGoogle(await openWarehouse({}), universe ? { universe } : {});
  const authorities = getCACertificates();
  for (const [name, value] of Object.entries(google.environment)) vi.stubEnv(name, value);
  setDefaultCACertificates([google.cert]);
  const engine = await createBigQueryEngine({
    project: 'payer',
    location: 'EU',
    ...(endpoint ? { endpoint: endpoint === 'emulator' ? emulator.url : endpoint } : {}),
    mapping: readTableMapping(['cloudflare.logs.prod=acme-prod.logs.edge']),
    sources: [{ name: 'cloudflare.logs.prod', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } }],
    emit: () => undefined,
    random: () => 0.5,
    retryBaseMs: 4,
  });
  onTestFinished(async () => {
    await engine.close();
    await google.close();
    emulator.close();
    vi.unstubAllEnvs();
    setDefaultCACertificates(authorities);
  });
  const statement = { endpoint: 'logs.all', sql: savedSql, parameters: [], maxRows: 10 };
  await engine.run(statement, { signal: new AbortController().signal, timeoutMs: 20_000 });
  const seen = [...google.asked, ...emulator.asked].map(
    ({ host, authorization }) => `${host} ${authorization}`,
  );
  expect(new Set(seen).size).toBe(1);
  return seen[0];
}

test.each<[string, string | undefined, string | undefined, RegExp]>([
  ['of nothing else', undefined, undefined, /^bigquery\.googleapis\.com Bearer t1$/],
  ['of one region', 'https://bigquery.europe-west3.rep.googleapis.com', undefined, /^bigquery\.europe-west3\.rep\.googleapis\.com Bearer t1$/],
  ['of a private network', 'https://bigquery-acme.p.googleapis.com/', undefined, /^bigquery-acme\.p\.googleapis\.com Bearer t1$/],
  ['of the universe that the credentials name', undefined, 'apis-test.example', /^bigquery\.apis-test\.example Bearer ey/],
])('credentials go to the endpoint %s', async (_, endpoint, universe, expected) => {
  expect(await askedOf({ endpoint, universe })).toMatch(expected);
}); // biome-ignore format: a table

test('no credentials go to an emulator, though there are some', async () => {
  expect(await askedOf({ endpoint: 'emulator' })).toMatch(/^127\.0\.0\.1:\d+ undefined$/);
});
