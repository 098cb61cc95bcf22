import { expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../support/open-gateway.ts';

test('explain=true resolves the saved query, and a caller’s SQL over it, on the embedded engine', async () => {
  const gateway = await openGateway({ now: '2026-01-15T12:00:00Z' });
  onTestFinished(gateway.close);
  const explain = async (sql: string) => {
    const query = new URLSearchParams({ project: 'ours', explain: 'true', sql });
    return (await gateway.get(`/api/endpoints/query/logs.all?${query}`)).body.explain;
  };
  const saved = await explain('');
  expect(saved).toMatchObject({ verdict: 'ok', parameters: { project: 'ours', iso_timestamp_start: null } });
  expect(saved.columns.map(({ name }: { name: string }) => name)).toEqual([
    'id',
    'timestamp',
    'event_message',
    'metadata',
  ]);
  expect(saved.sources).toContain('cloudflare.logs.prod');
  expect((await explain('select count(*) as n from auth_logs')).columns).toEqual([
    { name: 'n', type: 'INT64', mode: 'NULLABLE' },
  ]);
  expect(await explain('select 1 as n from `gotrue.logs.prod`')).toMatchObject({
    verdict: 'refused',
    error: { code: 'sandbox_refused', line: 1, column: 20 },
  });
  expect(await explain('select nothing from edge_logs')).toMatchObject({
    verdict: 'refused',
    error: { code: 'invalid_query', line: 1, column: 8 },
  });
  expect(gateway.events.filter(({ type }) => type === 'engine.query')).toEqual([]);
});
