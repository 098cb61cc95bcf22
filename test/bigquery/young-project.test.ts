import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { bigqueryEnvironment, sourceTables, warehouseNames } from './bigquery-environment.ts';
import { openExecutingWarehouse } from './executing-warehouse.ts';

/** The tables of a project that has not logged everything yet: columns come with the first row that needs them. */
const young = readSources().map(source => {
  const { event_message: _, ...others } = source.columns;
  if (source.name === 'postgres.logs') return { ...source, columns: others };
  if (source.name !== 'gotrue.logs.prod') return source;
  return { ...source, columns: { ...source.columns, metadata: [{ level: 'STRING' as const }] as const } };
});

/** Sources whose tables are not there yet, or not any more. */
const missing = ['pgbouncer.logs.prod', 'realtime.logs.prod'];

const now = '2026-01-15T12:00:00Z';
const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:30:00Z', project: 'ours' });

let directory: string;
let local: Engine;
let warehouse: Awaited<ReturnType<typeof openExecutingWarehouse>>;
let gateway: OpenGateway;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'young-'));
  const databasePath = join(directory, 'logs.duckdb');
  const input = Readable.from([`${JSON.stringify(row)}\n`]);
  await importLogs({
    databasePath,
    sources: young as ReturnType<typeof readSources>,
    source: 'cloudflare.logs.prod',
    input,
  });
  local = await createDuckDbEngine({
    databasePath,
    clock: createStandingClock(now),
    emit: () => undefined,
  });
  const sourceOf = new Map(sourceTables.map(([source, table]) => [table, source]));
  for (const [table, source] of sourceOf) if (missing.includes(source)) sourceOf.delete(table);
  warehouse = await openExecutingWarehouse({ engine: local, sourceOf, pageRows: 10 });
  gateway = await openGateway({
    now,
    sqlFiles: {
      'parsed.sql': `/*
id: 7e57ab1e-0000-4000-8000-000000000401
name: parsed
description: Reads a field that is not there.
columns:
  user_name: { type: STRING, description: Who. }
sandbox: true
*/
with both as (
  select a.id, m.auth_event from \`gotrue.logs.prod\` as a cross join unnest(a.metadata) as m
),
others as (select id, event_message from \`postgres.logs\`)
select id as user_name from others where event_message is not null`,
      'pooled.sql': `/*
id: 7e57ab1e-0000-4000-8000-000000000402
name: pooled
description: Reads a table that is not there.
columns:
  id: { type: STRING, description: Which. }
*/
select id from \`pgbouncer.logs.prod\``,
    },
    environment: bigqueryEnvironment(warehouse.url),
  });
});
afterAll(async () => {
  await gateway?.close();
  warehouse?.close();
  await local?.close();
  await rm(directory, { recursive: true });
});

const ask = (endpoint: string, parameters: Record<string, string>) =>
  gateway.send(`/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`);

test('a table that lacks a column, or is not there, does not stop the start, and the log says so', () => {
  const found = gateway.events.flatMap(event => (event.type === 'warehouse.warned' ? [event.found] : []));
  expect(found).toEqual([
    expect.stringMatching(/^pgbouncer\.logs\.prod is .*: Not found: Table/),
    expect.stringMatching(/^realtime\.logs\.prod is .*: Not found: Table/),
    expect.stringMatching(
      /^gotrue\.logs\.prod is .*: fields are missing: metadata\.action, .* and \d+ more$/,
    ),
    expect.stringMatching(/^postgres\.logs is .*: column event_message is missing; needed: STRING$/),
  ]);
});

test.each([
  ['the saved queries', 'logs.all', {}, '"id":"a"'],
  ['the saved queries', 'usage.api-counts', { interval: 'hourly' }, '"total_rest_requests":1'],
  ['a subset of a whole table', 'logs.all', { sql: 'select count(*) as n from postgrest_logs' }, '[{"n":0}]'],
])('what does not read it is answered: %s', async (_, endpoint, parameters, found) => {
  const { status, text } = await ask(endpoint, { project: 'ours', ...parameters });
  expect([status, text]).toEqual([200, expect.stringContaining(found)]);
});

test('a table that is not there fails only what reads it', async () => {
  expect((await ask('pooled', {})).status).toBe(404);
  const broken = gateway.events.flatMap(event => (event.type === 'endpoint.broken' ? [event.file] : []));
  expect(broken).toEqual(['pooled.sql']);
  const { status, body, text } = await ask('logs.all', {
    project: 'ours',
    sql: 'select id from realtime_logs',
  });
  expect([status, body.error.code]).toEqual([502, 'engine_failed']);
  expect(text).not.toMatch(warehouseNames);
});

describe('contract 2.19: what reads it is a 502 that names the source and the column, and nothing of the warehouse', () => {
  test.each([
    ['a column', 'logs.all', 'select id from postgres_logs', 'event_message of postgres.logs'],
    [
      'beside others',
      'logs.all',
      'select 1 as n from edge_logs, postgres_logs',
      'event_message of postgres.logs',
    ],
    ['a saved query', 'parsed', '', 'event_message of postgres.logs'],
    ['a field', 'parsed', 'select id from both', 'metadata.auth_event of gotrue.logs.prod'],
  ])('%s', async (_, endpoint, sql, column) => {
    const { status, body, text } = await ask(endpoint, { project: 'ours', sql });
    expect([status, body.error.code]).toEqual([502, 'engine_failed']);
    expect(body.error.message).toBe(`The query reads column ${column}, which the warehouse's table lacks`);
    expect(text).not.toMatch(warehouseNames);
  });
});
