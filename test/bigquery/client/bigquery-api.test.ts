import { expect, onTestFinished, test } from 'vitest';
import { createBigQueryApi } from '../../../src/bigquery/client/bigquery-api.ts';
import { openWarehouse } from '../scripted-warehouse.ts';

test('HTML is a broken answer, even where an answer may lack every field', async () => {
  const warehouse = await openWarehouse({ table: [{ text: '<html><body>Sign in</body></html>' }] });
  const api = createBigQueryApi({ project: 'payer', endpoint: warehouse.url });
  onTestFinished(() => {
    api.close();
    warehouse.close();
  });
  const table = { project: 'acme-prod', dataset: 'logs', table: 'edge' };
  const layout = api.table(table, new AbortController().signal);
  await expect(layout).rejects.toMatchObject({ reason: 'brokenAnswer' });
});
