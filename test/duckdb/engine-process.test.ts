import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { type EngineChild, EngineGoneError, startEngineChild } from '../../src/duckdb/engine-child.ts';
import type { EngineSettings } from '../../src/duckdb/engine-protocol.ts';
import { readSources } from '../../src/duckdb/sources.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The gate is the compiler, which prints none of what is tried here; this is what holds where it should fail. */
async function startChild(
  more: Partial<EngineSettings> = {},
): Promise<EngineChild & { databasePath: string }> {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  (await openForWriting(databasePath, readSources())).close();
  const settings = {
    connections: 2,
    macros: [],
    memoryLimitMb: 256,
    residentLimitMb: 4096,
    maxResultBytes: 1_000_000,
  };
  const child = startEngineChild({ databasePath, ...settings, ...more });
  onTestFinished(async () => {
    child.kill('closed');
    await child.ended;
  });
  await child.catalog;
  return { ...child, databasePath };
}

const rows = async (child: EngineChild, sql: string) => {
  const { rowsJson, rowCount } = await child.run({ sql, values: [] }).result;
  const parsed = JSON.parse(rowsJson.toString());
  expect(parsed).toHaveLength(rowCount);
  return parsed;
};

test('tells the tables of its database, as they lie', async () => {
  const child = await startChild();
  const catalog = await child.catalog;
  expect(catalog.map(({ name }) => name)).toContain('cloudflare.logs.prod');
  const metadata = catalog
    .find(({ name }) => name === 'postgres.logs')
    ?.columns.find(({ name }) => name === 'metadata');
  expect(metadata?.type).toMatchObject({
    kind: 'ARRAY',
    single: true,
    element: { kind: 'STRUCT', presence: true },
  });
});

test('rows come back as one JSON array, in order, with bound values', async () => {
  const child = await startChild();
  const { rowsJson } = await child.run({
    sql: `SELECT to_json({n: n, a: $a, b: $b, instant: epoch_us($now)})::VARCHAR FROM range(3) t(n) ORDER BY n DESC`,
    values: [
      { placeholder: 'a', text: "'; DROP TABLE x" },
      { placeholder: 'b', text: null },
      { placeholder: 'now', micros: -1n },
    ],
  }).result;
  const expected = [2, 1, 0].map(n => ({ n, a: "'; DROP TABLE x", b: null, instant: -1 }));
  expect(JSON.parse(rowsJson.toString())).toEqual(expected);
});

test('several statements run side by side, and 2 MB cross the border', async () => {
  const child = await startChild({ maxResultBytes: 3_000_000 });
  const big = `SELECT to_json(repeat('x', 1000))::VARCHAR FROM range(2000)`;
  const [first, second] = await Promise.all([rows(child, big), rows(child, `SELECT '1'`)]);
  expect([first.length, second]).toEqual([2000, [1]]);
});

test('a result beyond the limit is refused', async () => {
  const child = await startChild();
  const result = rows(child, `SELECT to_json(repeat('x', 1000))::VARCHAR FROM range(2000)`);
  await expect(result).rejects.toThrow(
    'Result Error: The result is too large; allowed: 1000000 bytes of JSON',
  );
});

describe('nothing but the database can be reached', () => {
  const file = join(process.cwd(), 'package.json');

  test.each([
    ['a text file', `SELECT content FROM read_text('${file}')`],
    ['a JSON file', `SELECT * FROM read_json('${file}')`],
    ['a file by its name', `SELECT * FROM '${file}'`],
    ['a list of files', `SELECT file FROM glob('/*')`],
    ['another database', `ATTACH '${file}.db' AS other`],
    ['a copy to a file', `COPY (SELECT 1) TO '${file}.csv'`],
    ['an export', `EXPORT DATABASE '${file}.d'`],
    ['an extension', 'INSTALL httpfs'],
    ['a loaded extension', 'LOAD httpfs'],
    ['a secret', 'CREATE SECRET s (TYPE s3)'],
    ['a setting', 'SET enable_external_access = true'],
    ['a reset', 'RESET enable_external_access'],
    ['a pragma', "PRAGMA database_list; SET memory_limit = '1TB'"],
    ['an insert', `INSERT INTO "postgres.logs" (id) VALUES ('x')`],
    ['a delete', 'DELETE FROM "postgres.logs"'],
    ['a new table', 'CREATE TABLE t (a INT)'],
    ['two statements', 'SELECT 1; SELECT 2'],
  ])('%s', async (_what, sql) => {
    const child = await startChild();
    await expect(child.run({ sql, values: [] }).result).rejects.toThrow(/Error/);
    expect(await rows(child, `SELECT '1'`)).toEqual([1]);
  });
});

test('an interrupted statement ends at once, and its connection goes on', async () => {
  const child = await startChild({ connections: 1 });
  const run = child.run({
    sql: 'SELECT count(*)::VARCHAR FROM range(1000000000) a, range(1000) b',
    values: [],
  });
  run.interrupt();
  await expect(run.result).rejects.toThrow(/interrupt/i);
  expect(await rows(child, `SELECT '1'`)).toEqual([1]);
});

test('a killed process fails what it owed', async () => {
  const child = await startChild();
  const run = child.run({
    sql: 'SELECT count(*)::VARCHAR FROM range(1000000000) a, range(1000) b',
    values: [],
  });
  child.kill('closed');
  await expect(run.result).rejects.toThrow(EngineGoneError);
  expect(await child.ended).toBe('SIGKILL');
});

test('a statement that outgrows the memory ends the process, not the gateway', async () => {
  const child = await startChild({ residentLimitMb: 700 });
  const error = await child
    .run({ sql: 'SELECT len(generate_series(1, 300000000))::VARCHAR', values: [] })
    .result.catch((e: Error) => e);
  expect(error).toBeInstanceOf(EngineGoneError);
  expect(error).toMatchObject({ why: 'out of memory' });
});

test('a file that is no database is refused with its own words', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  await writeFile(databasePath, 'not a database');
  const settings = {
    connections: 1,
    macros: [],
    memoryLimitMb: 128,
    residentLimitMb: 4096,
    maxResultBytes: 1000,
  };
  const child = startEngineChild({ databasePath, ...settings });
  await expect(child.catalog).rejects.toThrow('not a valid DuckDB database');
});
