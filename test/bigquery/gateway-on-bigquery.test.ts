import { afterEach, expect, test } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { bigqueryEnvironment, sourceTables } from './bigquery-environment.ts';
import { complete, openWarehouse, type Script } from './scripted-warehouse.ts';
import { refusal } from './warehouse-wire.ts';

let opened: { warehouse: Awaited<ReturnType<typeof openWarehouse>>; gateway: OpenGateway } | undefined;

afterEach(async () => {
  await opened?.gateway.close();
  opened?.warehouse.close();
  opened = undefined;
});

async function open(script: Script) {
  const warehouse = await openWarehouse({
    dryRun: [{ json: { statistics: { query: { statementType: 'SELECT' } } } }],
    ...script,
  });
  const gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    environment: {
      ...bigqueryEnvironment(warehouse.url),
      BIGQUERY_MAX_BYTES_BILLED: '1000',
    },
  });
  opened = { warehouse, gateway };
  return opened;
}

const path = '/api/endpoints/query/logs.all';
const fields = [{ name: 'n', type: 'INTEGER' }];

test("a caller's SQL goes from the door to the warehouse and back", async () => {
  const { gateway, warehouse } = await open({
    query: [complete(['9007199254740993'], { schema: { fields } })],
  });
  const sql = encodeURIComponent('select count(*) as n from postgres_logs');
  const { status, text } = await gateway.send(`${path}?project=p1&sql=${sql}`);
  expect([status, text]).toEqual([200, '{"result":[{"n":9007199254740993}]}']);
  const { body } = warehouse.asked.at(-1)!;
  expect(body.query).toMatch(/\)\nselect count\(\*\) as n from postgres_logs$/);
  expect(body.query).not.toContain('cloudflare.logs.prod');
  expect(body.maximumBytesBilled).toBe('1000');
  expect(body.labels).toMatchObject({ endpoint: 'logs-all' });
});

test('contract section 2: a warehouse that refuses is a 502 that names nothing of it', async () => {
  const { gateway } = await open({
    query: [refusal(403, 'accessDenied', 'Access Denied: acme-prod:logs.t0')],
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
