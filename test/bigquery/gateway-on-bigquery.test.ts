import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { bigqueryEnvironment, sourceTables } from './bigquery-environment.ts';
import { complete, openWarehouse, type Script } from './scripted-warehouse.ts';
import { type Asked, refusal } from './warehouse-http.ts';

let opened: { warehouse: Awaited<ReturnType<typeof openWarehouse>>; gateway: OpenGateway } | undefined;

afterEach(async () => {
  await opened?.gateway.close();
  opened?.warehouse.close();
  opened = undefined;
});

type OpenOptions = {
  readonly maxBytesBilled?: string;
  /** Limits on what runs and waits. Default: as they are. */
  readonly shares?: Readonly<Record<string, string>>;
};

async function open(
  script: Script,
  sqlFiles: Readonly<Record<string, string>> = {},
  { maxBytesBilled = '1000', shares = {} }: OpenOptions = {},
) {
  const warehouse = await openWarehouse({
    ...script,
  });
  const gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    sqlFiles,
    environment: {
      ...bigqueryEnvironment(warehouse.url),
      BIGQUERY_MAX_BYTES_BILLED: maxBytesBilled,
      ...shares,
      WARM_IN_PROCESS: 'true',
      // Keeps it off Redis, whose own clock says there what is due.
      CACHE_MEMORY_MB: '64',
    },
  });
  opened = { warehouse, gateway };
  return opened;
}

const path = '/api/endpoints/query/logs.all';
const fields = [{ name: 'n', type: 'INTEGER' }];

/** The configuration of the last job. */
function inserted({ asked }: { readonly asked: readonly Asked[] }) {
  return asked.findLast(({ what }) => what === 'insert')?.body.configuration;
}

test("contract 4.9: a caller's SQL goes from the handler to the warehouse and back", async () => {
  const { gateway, warehouse } = await open({
    results: [complete(['9007199254740993'], { schema: { fields } })],
  });
  const sql = encodeURIComponent('select count(*) as n from postgres_logs');
  const { status, text } = await gateway.send(`${path}?project=p1&sql=${sql}`);
  expect([status, text]).toEqual([200, '{"result":[{"n":9007199254740993}]}']);
  const { query, labels } = inserted(warehouse);
  expect(query.query).toMatch(/\)\nselect count\(\*\) as n from postgres_logs$/);
  expect(query.query).not.toContain('cloudflare.logs.prod');
  expect(query.maximumBytesBilled).toBe('1000');
  expect(labels).toMatchObject({ endpoint: 'logs_all' });
});

test("contract 4.9: what has no DuckDB form goes to the warehouse in the caller's own words", async () => {
  const { gateway, warehouse } = await open({
    results: [complete(['7'], { schema: { fields } })],
  });
  const callerSql =
    'select HLL_COUNT.EXTRACT( hll_count.init(Net.Reg_Domain(event_message)) ) as n from postgres_logs';
  const { status, text } = await gateway.send(`${path}?project=p1&sql=${encodeURIComponent(callerSql)}`);
  expect([status, text]).toEqual([200, '{"result":[{"n":7}]}']);
  expect(inserted(warehouse).query.query.split('\n').at(-1)).toBe(callerSql);
});

test.each([
  ['100 GiB where nothing is said', '', '107374182400'],
  ['none where 0 is said', '0', undefined],
])('a query may be billed: %s', async (_, maxBytesBilled, limit) => {
  const script = { results: [complete(['1'], { schema: { fields } })] };
  const { gateway, warehouse } = await open(script, {}, { maxBytesBilled });
  expect((await gateway.send(`${path}?project=p1&sql=select+1+as+n`)).status).toBe(200);
  expect(inserted(warehouse).query.maximumBytesBilled).toBe(limit);
});

test('a query over the limit of bytes is refused with the limit', async () => {
  const { gateway } = await open({
    insert: [
      refusal(
        400,
        'bytesBilledLimitExceeded',
        'Query exceeded limit for bytes billed: 1000. 20971520 or higher required.',
      ),
    ],
  });
  const { status, body } = await gateway.send(`${path}?project=p1`);
  expect([status, body.error.message]).toEqual([
    502,
    'The query would be billed more bytes than it may; the limit is 1000',
  ]);
});

test('contract 2.18, 11.1: a flood of one token at the warehouse gets 429 beyond its share, and another token is served', async () => {
  const { gateway, warehouse } = await open(
    { results: ['hang', 'hang', complete(['1'], { schema: { fields } })] },
    {},
    { shares: { BIGQUERY_MAX_CONCURRENT_QUERIES: '3', MAX_WAITING_PER_TOKEN: '4' } },
  );
  const ask = (n: number, init?: RequestInit) =>
    gateway.send(`${path}?project=p1&sql=select+${n}+as+n`, init);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const refused: unknown[] = [];
  const flood = Array.from({ length: 20 }, (_, n) =>
    ask(n, { signal: leaving.signal }).then(
      ({ status, headers, body }) => refused.push([status, headers.get('retry-after'), body.error.code]),
      () => undefined,
    ),
  );
  // Two run, for the last place is kept for somebody else, and four wait.
  await vi.waitFor(() => expect(warehouse.asked.filter(({ what }) => what === 'results')).toHaveLength(2));
  await expect.poll(() => refused).toEqual(Array(14).fill([429, '1', 'too_many_requests']));
  const other = await ask(20, { headers: { 'x-api-key': await gateway.issue() } });
  expect([other.status, other.text]).toEqual([200, '{"result":[{"n":1}]}']);
  leaving.abort();
  await Promise.all(flood);
});

test('contract 2.16, 2.19: a warehouse that refuses is a 502 that names nothing of it', async () => {
  const { gateway } = await open({
    insert: [refusal(403, 'accessDenied', 'Access Denied: acme-prod:logs.t0')],
  });
  const { status, body, text } = await gateway.send(`${path}?project=p1`);
  expect([status, body.error.code]).toEqual([502, 'engine_failed']);
  expect(text).not.toMatch(/acme|payer|t0/);
});

test('the start asks for every table and every saved query by a dry run, and runs nothing', async () => {
  const { warehouse } = await open({});
  expect(warehouse.counts()).toEqual({});
  expect(warehouse.asked.length).toBeGreaterThanOrEqual(sourceTables.length + 2);
});

test('warming runs within the limit of bytes of the saved query', async () => {
  const warmed = `/*
id: 7e57ab1e-0000-4000-8000-000000000301
name: warmed
description: Test.
columns:
  n: { type: INT64, description: A number. }
cacheSeconds: 900
warmSeconds: 300
maxBytesBilled: 900
*/
select 1 as n`;
  const { gateway, warehouse } = await open(
    { results: [complete(['1'], { schema: { fields } })] },
    { 'warmed.sql': warmed },
  );
  expect((await gateway.get('/api/endpoints/query/warmed')).status).toBe(200);
  await vi.waitFor(async () => expect((await gateway.get('/admin/warm')).body.keys).toBe(1));
  gateway.clock.advance(301_000);
  await vi.waitFor(() => expect(warehouse.counts()).toMatchObject({ insert: 2 }));
  const { query, labels } = inserted(warehouse);
  expect([query.maximumBytesBilled, labels.token_id]).toEqual(['900', 'worker']);
});
