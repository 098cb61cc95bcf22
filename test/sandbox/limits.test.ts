import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { createDuckDbEngine, type DuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { edgeRow } from '../support/edge-row.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { compileCaller, savedSql } from './compile-caller.ts';
import { cutQueries, heavyQueries, refusedQueries } from './heavy-queries.ts';

/** Milliseconds a query may take, and its answer after that: a busy machine is slow to say so. */
const timeoutMs = 300;
const answerMs = 20_000;
/** Milliseconds the compiler may take: it holds up every other caller meanwhile. */
const compileMs = 10_000;

let engine: DuckDbEngine;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'limits-'));
  const databasePath = join(directory, 'logs.duckdb');
  const lines = Array.from({ length: 3000 }, (_, n) => {
    const timestamp = new Date(Date.UTC(2026, 0, 15, 10, 0, n)).toISOString();
    return `${JSON.stringify(edgeRow({ id: `id-${n}`, timestamp, project: 'ours' }))}\n`;
  });
  const source = 'cloudflare.logs.prod';
  const input = Readable.from(lines);
  await importLogs({ databasePath, sources: readSources(), source, input });
  engine = await createDuckDbEngine({
    databasePath,
    clock: createStandingClock(),
    emit: () => undefined,
    // The next query waits until the last has really ended, and meets nothing of it.
    maxConcurrentQueries: 1,
    memoryLimitMb: 256,
    maxResultBytes: 1_000_000,
    graceMs: 100,
  });
  return async () => {
    await engine.close();
    await rm(directory, { recursive: true });
  };
});

function ask(callerSql: string, { limitMs = timeoutMs } = {}) {
  const parameters = [
    { name: 'project', value: 'ours' },
    { name: 'iso_timestamp_start', value: '' },
    { name: 'iso_timestamp_end', value: '' },
  ];
  const statement = { endpoint: 'limits', sql: savedSql, callerSql, parameters, maxRows: 1000 };
  return engine.run(statement, { signal: new AbortController().signal, timeoutMs: limitMs });
}

async function errorOf(callerSql: string): Promise<GatewayError> {
  const error = await ask(callerSql).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof GatewayError) return error;
  throw new Error('The query was answered', { cause: error });
}

async function nextAnswer(): Promise<unknown> {
  const { rowsJson } = await ask('select count(*) as n from edge_logs', { limitMs: answerMs });
  return JSON.parse(rowsJson.toString());
}

test.each(Object.entries(refusedQueries))('refuses %s before anything runs', (_, sql) => {
  const startedMs = performance.now();
  expect(() => compileCaller(sql)).toThrow(expect.objectContaining({ code: 'invalid_query' }));
  expect(performance.now() - startedMs).toBeLessThan(compileMs);
});

test.each(Object.entries(heavyQueries))('ends %s in time, and answers the next', async (_, sql) => {
  const startedMs = performance.now();
  const error = await errorOf(sql);
  expect(performance.now() - startedMs).toBeLessThan(answerMs);
  expect(['invalid_query', 'engine_failed', 'deadline_exceeded']).toContain(error.code);
  expect(error.message).toMatch(
    /too (many|long|complex)|regular expression|out of range|[Oo]verflow|more memory|did not finish|over the limit|too large|exceeds/,
  );
  expect(await nextAnswer()).toEqual([{ n: 3000 }]);
});

test.each(Object.entries(cutQueries))('answers %s, cut to the limit of rows', async (_, sql) => {
  const { rowsJson, rowCount } = await ask(sql, { limitMs: answerMs });
  expect(rowCount).toBeLessThanOrEqual(1000);
  expect(JSON.parse(rowsJson.toString())).toHaveLength(rowCount);
});
