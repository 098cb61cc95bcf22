import { expect, test } from 'vitest';
import { openGateway } from '../support/open-gateway.ts';
import { bigqueryEnvironment } from './bigquery-environment.ts';
import { complete, incomplete, openWarehouse } from './scripted-warehouse.ts';
import type { Deed } from './warehouse-http.ts';

const now = '2026-01-15T12:00:00Z';

/** A warehouse whose clock is this many hours behind ours, in every field that holds a time. */
function skewed(hours: number) {
  const theirMs = Date.parse(now) + hours * 3_600_000;
  const headers = { date: new Date(theirMs).toUTCString(), expires: new Date(theirMs).toUTCString() };
  const at = (seconds: number) => String(theirMs + seconds * 1000);
  const times = { creationTime: at(0), startTime: at(1), endTime: at(2) };
  const told = ({ json }: { json: object }): Deed => ({ json: { ...json, ...times }, headers });
  const schema = { fields: [{ name: 'n', type: 'INTEGER' }] };
  // Without a receipt, so that it is read from the job with its times.
  const last = complete(['7'], { schema, totalBytesBilled: undefined });
  const statistics = {
    ...times,
    totalSlotMs: '5',
    query: { statementType: 'SELECT', totalBytesBilled: '20' },
  };
  const jobReference = { projectId: 'payer', jobId: 'job_1', location: 'EU' };
  const job = { json: { jobReference, status: { state: 'DONE' }, statistics } };
  const running = { json: { jobReference, status: { state: 'RUNNING' } } };
  return {
    dryRun: [told(job)],
    insert: [told(running)],
    results: [told(incomplete), told(last)],
    job: [told(job)],
  };
}

/** What a caller gets from a gateway over such a warehouse, at once and when the entry is ten minutes old. */
async function answersWith(hours: number) {
  const warehouse = await openWarehouse(skewed(hours));
  const gateway = await openGateway({
    now,
    environment: bigqueryEnvironment(warehouse.url),
  });
  const sql = 'select count(*) as n from requests';
  const query = new URLSearchParams({ project: 'ours', interval: 'hourly', sql });
  const ask = async () => {
    const { status, text, headers } = await gateway.get(`/api/endpoints/query/usage.api-counts?${query}`);
    const told = ['x-cache', 'cache-status', 'age', 'cache-control', 'query-receipt'];
    // Each job has a name of its own.
    const plain = (value: string | null) => value?.replace(/gateway_[\w-]+/, 'gateway_');
    return { status, text, headers: told.map(name => plain(headers.get(name)) ?? null) };
  };
  const answers = [await ask()];
  gateway.clock.advance(600_000);
  answers.push(await ask());
  const asked = warehouse.asked.map(({ what }) => what);
  await gateway.close();
  warehouse.close();
  return { answers, asked };
}

test.each([-5, 5, 24 * 365])(
  'a warehouse whose clock is %i hours before ours changes no answer',
  async hours => {
    const { answers, asked } = await answersWith(hours);
    expect(answers).toMatchObject([
      { status: 200, text: '{"result":[{"n":7}]}', headers: { 0: 'MISS', 2: '0' } },
      { status: 200, text: '{"result":[{"n":7}]}', headers: { 0: 'HIT', 2: '600' } },
    ]);
    expect({ answers, asked }).toEqual(await answersWith(0));
  },
);
