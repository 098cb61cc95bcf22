import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { startLoopClock } from '../support/loop-clock.ts';
import { openGateway } from '../support/open-gateway.ts';
import { bigqueryEnvironment } from './bigquery-environment.ts';
import {
  complete,
  openScripted,
  openWarehouse,
  type Script,
  type ScriptedEngine,
} from './scripted-warehouse.ts';
import { refusal } from './warehouse-http.ts';

let opened: ScriptedEngine | undefined;
afterEach(() => opened?.close());

async function open(script: Script): Promise<ScriptedEngine> {
  opened = await openScripted(script);
  return opened;
}

test('an engine that closes waits for the cancellation of a job abandoned just before', async () => {
  const { run, engine, asked, held, openSockets } = await open({
    results: ['hang'],
    cancel: [{ json: {}, afterMs: 100 }],
  });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('results'));
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await engine.close();
  expect(asked.at(-1)?.what).toBe('cancel');
  await vi.waitFor(() => expect(held()).toEqual([]));
  await vi.waitFor(async () => expect(await openSockets()).toBe(0));
});

test('an engine that closes ends what it runs, and cancels the job', async () => {
  const { run, engine, asked } = await open({ results: ['hang'] });
  const answer = run({}, { timeoutMs: 20_000 }).catch(error => error.code);
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('results'));
  await engine.close();
  expect(await answer).toBe('unavailable');
  expect(asked.at(-1)?.what).toBe('cancel');
});

test('a job whose start arrives after it was to be cancelled is cancelled all the same', async () => {
  const { run, engine, held, interfere } = await open({ insert: ['hang'] });
  let hasArrived = false;
  const cancelled: boolean[] = [];
  interfere(({ what }) => {
    if (what === 'insert') setTimeout(() => (hasArrived = true), 700);
    if (what !== 'cancel') return undefined;
    cancelled.push(hasArrived);
    return hasArrived ? undefined : refusal(404, 'notFound', 'Not found: Job payer:EU.job_1');
  });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(held()[0]?.what).toBe('insert'));
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await engine.close();
  expect(cancelled.at(-1)).toBe(true);
});

test('closing takes no longer than the cancels of a warehouse that does not answer them', async () => {
  const { run, engine, asked, openSockets } = await open({
    results: [complete(['1']), 'hang'],
    cancel: ['hang'],
  });
  await run();
  const answer = run().catch(error => error.code);
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('results'));
  const tookMs = startLoopClock();
  await engine.close();
  // Three cancels of a second each, and half a second between them; unbounded, they would hang for good.
  expect(tookMs()).toBeLessThan(5000);
  expect(await answer).toBe('unavailable');
  await vi.waitFor(async () => expect(await openSockets()).toBe(0));
});

test('a gateway that stops cancels the job of a refresh that nobody waits for, though the first cancel be lost', async () => {
  const warehouse = await openWarehouse({
    results: [complete(['1'], { schema: { fields: [{ name: 'n', type: 'INTEGER' }] } }), 'hang'],
    cancel: ['reset', { json: {} }],
  });
  onTestFinished(warehouse.close);
  const environment = bigqueryEnvironment(warehouse.url);
  const gateway = await openGateway({ now: '2026-01-15T12:00:00Z', environment });
  const query = { interval: 'hourly', project: 'ours', sql: 'select count(*) as n from requests' };
  const path = `/api/endpoints/query/usage.api-counts?${new URLSearchParams(query)}`;
  await gateway.get(path);
  gateway.clock.advance(910_000);
  expect((await gateway.get(path)).headers.get('x-cache')).toBe('STALE');
  await vi.waitFor(() => expect(warehouse.asked.at(-1)?.what).toBe('results'));
  await gateway.close();
  expect(warehouse.counts().cancel).toBeGreaterThan(1);
  await vi.waitFor(() => expect(warehouse.held()).toEqual([]));
});
