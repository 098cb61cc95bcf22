import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:34:56.789000Z',
    // A schedule in Redis goes by the clock of Redis.
    environment: { REDIS_URL: '', TOKEN_HASHES: createHash('sha256').update('reader').digest('hex') },
    rows: {
      'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T12:30:00Z', project: 'ours' })],
    },
  });
  return () => gateway.close();
});

const counts = (project: string) =>
  `/api/endpoints/query/usage.api-counts?interval=minutely&project=${project}`;
describe('contract 6.1, in the gateway itself', () => {
  test('contract 6.7: what is read is kept fresh, in one run, and /admin/warm and the metrics say so', async () => {
    const projects = ['ours', 'theirs', 'nobodysatall'];
    for (const project of projects) await gateway.get(counts(project));
    await gateway.get('/api/endpoints/query/logs.all?project=ours');
    await vi.waitFor(async () => expect((await state()).keys).toBe(3));
    const before = runs();

    gateway.clock.advance(301_000);
    await vi.waitFor(async () => expect((await state()).totals.refreshed).toBe(3));
    expect(runs() - before).toBe(1);
    for (const project of projects) {
      const { headers } = await gateway.get(counts(project));
      expect(headers.get('age')).toBe('0');
    }
    expect(runs() - before).toBe(1);
    const { groups, totals } = await state();
    expect(groups).toMatchObject([
      { endpoint: 'usage.api-counts', keys: 3, running: false, failures_in_a_row: 0 },
    ]);
    expect(groups[0].due_in_seconds).toBeGreaterThan(260);
    expect(totals).toMatchObject({ cycles: 1, due: 3, failed: 0, engine_runs: 1, skipped: {} });
    const metrics = await fetch(`${gateway.origin}/metrics`).then(answer => answer.text());
    expect(metrics).toContain('warm_keys 3\n');
    expect(metrics).toContain('warm_keys_total{outcome="refreshed"} 3\n');
    expect(metrics).toContain('cache_warmed_reads_total{endpoint="usage.api-counts"} 3\n');
  });

  test('contract 6.6, 7.4: a thousand projects at three intervals are three runs a cycle, counted by the engine', async () => {
    const own = await openGateway({
      now: '2026-01-15T12:00:00Z',
      environment: { REDIS_URL: '', CACHE_MEMORY_MB: '64' },
    });
    onTestFinished(() => own.close());
    const intervals = ['minutely', 'hourly', 'daily'];
    const projects = Array.from({ length: 1000 }, (_, n) => `project${String(n).padStart(13, '0')}`);
    for (const interval of intervals) {
      for (let at = 0; at < projects.length; at += 50) {
        const fields = projects
          .slice(at, at + 50)
          .map(
            (project, n) =>
              `a${n}: usageApiCounts(project: "${project}", interval: ${interval.toUpperCase()}) { timestamp }`,
          );
        const { body } = await own.graphql(`{ ${fields.join(' ')} }`);
        expect(body.errors).toBeUndefined();
      }
    }
    await vi.waitFor(async () => expect((await state(own)).keys).toBeGreaterThanOrEqual(3000));
    const { refreshed } = (await state(own)).totals;
    const before = await engineRuns(own);
    own.clock.advance(301_000);
    await vi.waitFor(async () =>
      expect((await state(own)).totals.refreshed - refreshed).toBeGreaterThanOrEqual(3000),
    );
    expect((await engineRuns(own)) - before).toBe(3);
    const { headers } = await own.get(
      `/api/endpoints/query/usage.api-counts?interval=daily&project=${projects[500]}`,
    );
    expect([headers.get('x-cache'), headers.get('age')]).toEqual(['HIT', '0']);
  });

  test('contract 6.7: GET /admin/warm is for tokens with the scope admin', async () => {
    const { status, body } = await gateway.get('/admin/warm', { 'x-api-key': 'nobody' });
    expect([status, body.error.code]).toEqual([401, 'unauthorized']);
    const reader = await gateway.get('/admin/warm', { 'x-api-key': 'reader' });
    expect([reader.status, reader.body.error.code]).toEqual([403, 'forbidden']);
  });
});

async function engineRuns(asked: OpenGateway): Promise<number> {
  const text = await fetch(`${asked.origin}/metrics`).then(answer => answer.text());
  return Number(/^engine_queries_total\{endpoint="usage.api-counts",outcome="ok"\} (\d+)$/m.exec(text)?.[1]);
}

const runs = () => gateway.events.filter(({ type }) => type === 'engine.query').length;

async function state(asked = gateway) {
  const { status, body } = await asked.get('/admin/warm');
  expect(status).toBe(200);
  return body;
}

describe('a batch form', () => {
  test('contract 7.1: is held against the engine at the start: its columns are the key and the columns of the query', async () => {
    const saved = `/*
id: 7e57ab1e-0000-4000-8000-000000000006
name: wrong.batch
description: Test.
parameters:
  thing: { type: string, required: true, description: A thing. }
columns:
  n: { type: INT64, description: A number. }
batch: { parameter: thing, key: thing }
*/
select 1 as n`;
    const faultOf = async (batchSql: string) => {
      const { events, close } = await openGateway({
        now: '2026-01-15T12:00:00Z',
        sqlFiles: { 'wrong.batch.sql': saved, 'wrong.batch.batch.sql': batchSql },
      });
      await close();
      return events.flatMap(event => (event.type === 'endpoint.broken' ? [event.message] : [])).join('\n');
    };
    expect(await faultOf('select thing from unnest(@things) as thing')).toContain(
      'wrong.batch.sql:9: batch: its columns must be thing STRING, n INT64; they are thing STRING',
    );
    expect(await faultOf('select thing, 1 as n from unnest(@nothings) as thing')).toContain(
      "batch: line 1 of its file: Query parameter 'nothings' not found",
    );
  });
});
