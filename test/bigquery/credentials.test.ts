import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, expect, test, vi } from 'vitest';
import { type BigQueryEngine, createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { jobResource } from './bigquery-resources.ts';
import { type CredentialsKind, openGoogle } from './fake-google.ts';
import { complete, savedSql } from './scripted-warehouse.ts';
import { refusal } from './warehouse-http.ts';

const authorities = getCACertificates();
let opened: { google: Awaited<ReturnType<typeof openGoogle>>; engine: BigQueryEngine } | undefined;

/** An engine on its way to Google. */
async function open(kind?: CredentialsKind) {
  const google = await openGoogle({ results: [complete(['1'])] }, kind);
  for (const [name, value] of Object.entries(google.environment)) vi.stubEnv(name, value);
  setDefaultCACertificates([google.cert]);
  const engine = await createBigQueryEngine({
    project: 'payer',
    mapping: readTableMapping(['cloudflare.logs.prod=acme-prod.logs.edge']),
    sources: [{ name: 'cloudflare.logs.prod', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } }],
    emit: () => undefined,
    random: () => 0.5,
    retryBaseMs: 4,
  });
  opened = { google, engine };
  const run = (timeoutMs = 5000) => {
    const statement = { endpoint: 'logs.all', sql: savedSql, parameters: [], maxRows: 10 };
    return engine.run(statement, { signal: new AbortController().signal, timeoutMs });
  };
  /** The tokens that jobs were started with. */
  const tokens = () =>
    google.asked.filter(({ what }) => what === 'insert').map(({ authorization }) => authorization);
  return { google, run, tokens };
}

afterEach(async () => {
  await opened?.engine.close();
  await opened?.google.close();
  opened = undefined;
  vi.unstubAllEnvs();
  setDefaultCACertificates(authorities);
});

test('one token serves all requests', async () => {
  const { google, run } = await open();
  expect((await run()).rowCount).toBe(1);
  await Promise.all([run(), run()]);
  expect(new Set(google.asked.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer t1']));
  expect(google.given()).toBe(1);
});

test.each<[string, CredentialsKind]>([
  ['the key file of a service account', 'key'],
  ['a gcloud login', 'login'],
  ['the identity of another cloud', 'workload'],
  ['the service account of the machine', 'machine'],
])(
  'with %s a token that BigQuery calls expired, although our clock does not, is replaced once',
  async (_, kind) => {
    const { google, run, tokens } = await open(kind);
    await run();
    google.refuseTokens('t1');
    expect((await run()).rowCount).toBe(1);
    await run();
    expect(tokens().slice(1)).toEqual(['Bearer t1', 'Bearer t2', 'Bearer t2']);
    expect(google.given()).toBe(2);
  },
);

test('an answer that refuses a token is read to its end: its connection is used again', async () => {
  const { google, run } = await open();
  await run();
  const before = google.connections();
  google.refuseTokens('t1');
  await run();
  expect([google.given(), google.connections()]).toEqual([2, before]);
});

test('requests that meet an expired token together share the new one', async () => {
  const { google, run } = await open();
  await run();
  google.refuseTokens('t1');
  const results = await Promise.all(Array.from({ length: 10 }, () => run()));
  expect(results.map(({ rowCount }) => rowCount)).toEqual(Array(10).fill(1));
  expect(google.given()).toBe(2);
});

test('where the new token is refused as well, the failure says so, and no third is fetched', async () => {
  const { google, run, tokens } = await open();
  await run();
  google.refuseTokens('t1', 't2');
  await expect(run()).rejects.toMatchObject({
    code: 'engine_failed',
    message: 'The warehouse does not accept the credentials of the gateway',
  });
  expect(tokens().slice(1)).toEqual(['Bearer t1', 'Bearer t2']);
  expect(google.given()).toBe(2);
});

test('where no new token is given, the failure says so', async () => {
  const { google, run } = await open();
  await run();
  google.refuseTokens('t1');
  google.refuseCredentials();
  await expect(run()).rejects.toMatchObject({
    code: 'engine_failed',
    message: 'The warehouse does not accept the credentials of the gateway',
  });
});

test('a refusal for other reasons fetches no token', async () => {
  const { google, run } = await open();
  google.interfere(({ what }) => (what === 'insert' ? refusal(403, 'accessDenied') : undefined));
  await expect(run()).rejects.toMatchObject({ code: 'engine_failed' });
  expect(google.given()).toBe(1);
});

test('internalError of a job that has ended when its start is answered: another one is started at once', async () => {
  const { google, run } = await open();
  let starts = 0;
  google.interfere(({ what, body }) => {
    if (what !== 'insert' || starts++ > 0) return undefined;
    const failure = { reason: 'internalError', message: 'An internal error occurred' };
    return { json: jobResource({ reference: { location: 'EU', ...body.jobReference }, failure }) };
  });
  expect((await run()).rowCount).toBe(1);
  const inserted = google.asked.filter(({ what }) => what === 'insert');
  expect(new Set(inserted.map(({ body }) => body.jobReference.jobId)).size).toBe(2);
  expect(google.counts()).toMatchObject({ insert: 2, results: 1 });
});
