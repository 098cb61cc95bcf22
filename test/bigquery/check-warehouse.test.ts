import { expect, test } from 'vitest';
import { startLimit } from '../../src/base/time-limit.ts';
import { adviseOnLayouts, type WarehouseToCheck } from '../../src/bigquery/check-warehouse.ts';
import { createRetryBudget, startRetries } from '../../src/bigquery/client/retries.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';

test('a table whose layout is not told in time is advice, and no reason to stop', async () => {
  const limit = startLimit({ signal: new AbortController().signal, timeoutMs: 1 });
  const warehouse = {
    api: {
      table: () =>
        new Promise((_, reject) => limit.signal.addEventListener('abort', () => reject(limit.signal.reason))),
    },
    place: { project: 'payer' },
    mapping: readTableMapping(['cloudflare.logs.prod=acme.logs.edge']),
    catalog: new Map(),
  } as unknown as WarehouseToCheck;
  const policy = {
    budget: createRetryBudget(),
    random: () => 0,
    maxRetries: 4,
    baseMs: 1,
    onRetry: () => undefined,
  };
  const advice = await adviseOnLayouts(warehouse, { limit, startRetries: () => startRetries(policy, limit) });
  expect(advice).toEqual([
    {
      found:
        "cloudflare.logs.prod is acme.logs.edge: how it is laid out can't be looked at: The query did not finish within 1 ms",
      fix: 'grant the credentials roles/bigquery.dataViewer on acme.logs.edge',
    },
  ]);
});
