import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FleetAnswer } from '../support/fleet.ts';
import { warehouseNames } from './bigquery-environment.ts';
import { startTwins } from './twin-gateways.ts';
import { refusal } from './warehouse-http.ts';

let twins: Awaited<ReturnType<typeof startTwins>>;
beforeAll(async () => {
  twins = await startTwins();
  return twins.stop;
});
afterEach(() => twins.warehouse.interfere(() => undefined));

const rest = (endpoint: string, parameters: Record<string, string>) =>
  `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`;
const logs = (sql?: string) => rest('logs.all', { project: 'ours', ...(sql ? { sql } : {}) });

/** Asks both gateways the same, and gives what the one over BigQuery answered. */
async function bothAnswer(ask: (gateway: typeof twins.embedded) => Promise<FleetAnswer>) {
  const [asWarehouse, asEmbedded] = [await ask(twins.overBigQuery), await ask(twins.embedded)];
  return { asWarehouse, asEmbedded };
}

describe('contract 4.12: a gateway over BigQuery answers what one on the embedded engine does', () => {
  test.each([
    ['logs.all', { project: 'ours' }, 30],
    ['logs.all', { project: 'nobody' }, 0],
    ['logs.all', { project: 'ours', iso_timestamp_start: '2020-01-01', iso_timestamp_end: '' }, 30],
    ['usage.api-counts', { project: 'ours', interval: 'minutely' }, 1],
    ['usage.api-counts', { project: 'ours|theirs', interval: 'hourly' }, 1],
    ['usage.api-counts', { project: 'ours', interval: 'daily' }, 1],
  ])('%s by REST, %o', async (endpoint, parameters, leastRows) => {
    const { asWarehouse, asEmbedded } = await bothAnswer(gateway => gateway.get(rest(endpoint, parameters)));
    expect([asWarehouse.status, asWarehouse.text]).toEqual([200, asEmbedded.text]);
    expect(JSON.parse(asWarehouse.text).result.length).toBeGreaterThanOrEqual(leastRows);
  });

  test.each([
    'select id, event_message, timestamp from postgres_logs',
    'select count(*) as n, timestamp_trunc(timestamp, minute) as minute from edge_logs group by minute order by minute',
    `select t.id, request.path, response.status_code from edge_logs t
     cross join unnest(metadata) as m cross join unnest(m.request) as request
     cross join unnest(m.response) as response where regexp_contains(request.path, '^/rest') order by t.id limit 5`,
    'select id, metadata[safe_offset(0)].project_ref as ref from function_logs union all select id, null from edge_logs where array_length(metadata) = 0',
    'with mine as (select id from edge_logs) select max(id) as last, "x" as x from mine',
  ])("a caller's SQL by REST: %s", async sql => {
    const { asWarehouse, asEmbedded } = await bothAnswer(gateway => gateway.get(logs(sql)));
    expect([asWarehouse.status, asWarehouse.text]).toEqual([200, asEmbedded.text]);
    expect(JSON.parse(asWarehouse.text).result.length).toBeGreaterThan(0);
  });

  test.each([
    ['both saved queries', '{ logsAll(project: "ours") { id timestamp eventMessage metadata } usageApiCounts(project: "ours", interval: DAILY) { timestamp totalRestRequests totalAuthRequests totalStorageRequests totalRealtimeRequests } }'],
    ['many projects in one scan', '{ a: usageApiCounts(project: "ours", interval: MINUTELY) { timestamp totalRestRequests } b: usageApiCounts(project: "theirs", interval: MINUTELY) { timestamp totalRestRequests } }'],
    ["a caller's SQL over typed rows", '{ logsAll(project: "ours", sql: "select id, timestamp from edge_logs order by id") { id timestamp } }'],
    ["a caller's SQL with columns of its own", '{ logsAllSql(project: "ours", sql: "select count(*) as n, [struct(1 as a)] as list from postgres_logs") { columns { name type repeated fields { name type } } rows } }'],
  ])('%s by GraphQL', async (_, query) => {
    const { asWarehouse, asEmbedded } = await bothAnswer(gateway => gateway.post('/graphql', { query }));
    const { data, errors } = JSON.parse(asWarehouse.text);
    expect([errors, data]).toEqual([undefined, JSON.parse(asEmbedded.text).data]);
    expect(Object.values<object[]>(data).flat().length).toBeGreaterThan(0);
  }); // biome-ignore format: a table

  test('a refusal of our own front-end is the same in words and place, and asks the warehouse nothing', async () => {
    const before = twins.warehouse.asked.length;
    const { asWarehouse, asEmbedded } = await bothAnswer(gateway =>
      gateway.get(logs('select id\nfrom nobody')),
    );
    const { request_id: _, ...error } = JSON.parse(asWarehouse.text).error;
    expect(error).toMatchObject({ code: 'sandbox_refused', status: 400 });
    expect(JSON.parse(asEmbedded.text).error).toMatchObject(error);
    expect(twins.warehouse.asked.length).toBe(before);
  });
});

test('the receipt and the labels of a request go with its job', async () => {
  const labels = { 'lf-endpoint-labels': 'team=Web,colour=red' };
  const { headers } = await twins.overBigQuery.get(logs('select count(*) as n from postgres_logs'), labels);
  const job = twins.warehouse.asked.findLast(({ what }) => what === 'insert')!;
  expect(headers['query-receipt']).toBe(
    `bytes-processed=1000, bytes-billed=10000, slot-ms=5, job-id="${job.body.jobReference.jobId}"`,
  );
  expect(job.body.configuration.labels).toEqual({
    endpoint: 'logs_all',
    team: 'web',
    token_id: 'development',
    request_id: headers['x-request-id'],
  });
});

test('explain=true dry-runs and runs nothing', async () => {
  const before = twins.warehouse.asked.length;
  const explain = async (sql: string) =>
    JSON.parse((await twins.overBigQuery.get(`${logs(sql)}&explain=true`)).text).explain;
  expect(await explain('select count(*) as n from auth_logs')).toMatchObject({
    verdict: 'ok',
    estimated_bytes: 1000,
    sources: ['gotrue.logs.prod'],
    columns: [{ name: 'n', type: 'INT64' }],
    parameters: { project: 'ours' },
  });
  expect(await explain('select nothing from edge_logs')).toMatchObject({
    verdict: 'refused',
    error: { code: 'invalid_query', line: 1, column: 8 },
  });
  expect(twins.warehouse.asked.slice(before).map(({ what }) => what)).toEqual(['dryRun']);
});

describe('contract 2.19: what the warehouse says of its own never reaches a caller', () => {
  const graphql = (sql: string) => ({
    query: 'query($sql: String!) { logsAllSql(project: "ours", sql: $sql) { rows } }',
    variables: { sql },
  });

  test.each([
    [403, 'accessDenied', 'Access Denied: Table acme-prod:logs.t0: User does not have permission', 502],
    [404, 'notFound', 'Not found: Table acme-prod:logs.t0 was not found in location EU', 502],
    [403, 'quotaExceeded', 'Quota exceeded: project payer exceeded quota for concurrent queries', 502],
    [400, 'invalidQuery', 'Unrecognized name: hidden in "where project = @project" at [3:9]', 502],
    [400, 'somethingNew', 'select timestamp from `acme-prod.logs.t0` failed', 502],
    [400, 'invalidQuery', 'The project payer has no slots left', 502],
    [400, 'invalidQuery', 'Cannot query over table acme-prod.logs.t0 without a filter', 400],
  ])('%i %s: %s', async (status, reason, message, answered) => {
    twins.warehouse.interfere(({ what }) =>
      what === 'insert' ? refusal(status, reason, message) : undefined,
    );
    const sql = 'select id from postgres_logs';
    const answer = await twins.overBigQuery.get(logs(sql));
    const other = await twins.overBigQuery.post('/graphql', graphql(sql));
    expect([answer.status, JSON.parse(other.text).errors[0].extensions.status]).toEqual([answered, answered]);
    for (const text of [answer.text, JSON.stringify(answer.headers), other.text]) {
      expect(text).not.toMatch(warehouseNames);
      expect(text).not.toMatch(/@project|select timestamp|hidden|concurrent/);
    }
  });

  test("contract 2.17: line and column are those of the caller's own text", async () => {
    twins.warehouse.interfere(({ what, body }) => {
      if (what !== 'insert') return undefined;
      const lines = body.configuration.query.query.split('\n');
      const line = lines.findIndex((text: string) => text.includes('event_message as int64')) + 1;
      return refusal(
        400,
        'invalidQuery',
        `Bad int64 value: x at [${line}:${lines[line - 1].indexOf('cast') + 1}]`,
      );
    });
    const sql = 'select id,\n  safe.length(id) as n,\n  cast(event_message as int64) as n2\nfrom edge_logs';
    const { error } = JSON.parse((await twins.overBigQuery.get(logs(sql))).text);
    expect(error).toMatchObject({
      code: 'invalid_query',
      message: 'Bad int64 value: x at [3:3]',
      errors: [{ line: 3, column: 3 }],
    });
    const { errors } = JSON.parse((await twins.overBigQuery.post('/graphql', graphql(sql))).text);
    expect(errors[0].extensions).toMatchObject({ code: 'invalid_query', line: 3, column: 3 });
  });
});
