import { Agent } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startGatewayProcess } from '../support/fleet.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { bigqueryEnvironment, warehouseNames } from './bigquery-environment.ts';
import { openGoogle } from './fake-google.ts';
import { complete } from './scripted-warehouse.ts';

test('a gateway process lives through the end of its token, and through a time in which it has none that is good', async () => {
  const google = await openGoogle({
    results: [complete(['1'])],
  });
  onTestFinished(google.close);
  const agent = new Agent({ keepAlive: true });
  const DATA_DIR = await temporaryDirectory();
  const gateway = await startGatewayProcess(
    { ...bigqueryEnvironment(''), ...google.environment, DATA_DIR },
    agent,
  );
  onTestFinished(async () => {
    agent.destroy();
    await gateway.kill();
  });
  const sql = 'select count(*) as n from postgres_logs';
  const rest = () =>
    gateway.get(`/api/endpoints/query/logs.all?${new URLSearchParams({ project: 'ours', sql })}`);
  const query = 'query($sql: String!) { logsAllSql(project: "ours", sql: $sql) { rows } }';
  const graphql = () => gateway.post('/graphql', { query, variables: { sql } });
  const rows = [
    [200, '{"result":[{"n":1}]}'],
    [200, { logsAllSql: { rows: [{ n: 1 }] } }],
  ];
  async function askBoth() {
    const [byRest, byGraphql] = [await rest(), await graphql()];
    return [
      [byRest.status, byRest.text],
      [byGraphql.status, JSON.parse(byGraphql.text).data],
    ];
  }

  expect(await askBoth()).toEqual(rows);
  google.refuseTokens('t1');
  expect(await askBoth()).toEqual(rows);
  expect(google.given()).toBe(2);

  google.refuseTokens('t1', 't2', 't3', 't4');
  for (const { status, text } of [await rest(), await graphql()]) {
    const { error, errors } = JSON.parse(text);
    expect([status, error?.code ?? errors[0].extensions.code]).toEqual([error ? 502 : 200, 'engine_failed']);
    expect(text).not.toMatch(warehouseNames);
  }
  google.refuseTokens();
  expect(await askBoth()).toEqual(rows);
  // The log is written a moment later.
  await vi.waitFor(() => expect(gateway.logged('warehouse.failed')).toHaveLength(2));
});
