import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { type EngineChild, EngineGoneError, startEngineChild } from '../../src/duckdb/engine-child.ts';
import type { EngineSettings } from '../../src/duckdb/engine-protocol.ts';
import { publish, replicasOf } from '../../src/duckdb/replicas.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { engineSettings } from './engine-settings.ts';

let databasePath: string;
beforeAll(async () => {
  databasePath = join(await mkdtemp(join(tmpdir(), 'engine-process-')), 'logs.duckdb');
  (await openForWriting(databasePath, readSources())).close();
});
afterAll(() => rm(dirname(databasePath), { recursive: true }));

/** The gate is the compiler, which prints none of what is tried here; this is what holds where it should fail. */
async function startChild(more: Partial<EngineSettings> = {}): Promise<EngineChild> {
  const child = startEngineChild({ ...engineSettings(databasePath), ...more });
  onTestFinished(() => end(child));
  await child.catalog;
  return child;
}

async function end(child: EngineChild): Promise<void> {
  child.kill('closed');
  await child.ended;
}

const rows = async (child: EngineChild, sql: string) => {
  const { rowsJson, body, rowCount } = await child.run({ sql, values: [], maxRows: 1_000_000 }).result;
  const parsed = JSON.parse(rowsJson.toString());
  expect(body?.toString()).toBe(`{"result":${rowsJson}}`);
  expect(parsed).toHaveLength(rowCount);
  return parsed;
};

const endless = 'SELECT count(*)::VARCHAR FROM range(1000000000) a, range(1000) b';

test('reports the tables of its database as they are stored', async () => {
  const child = await startChild();
  const { tables: catalog } = await child.catalog;
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
    maxRows: 10,
  }).result;
  const expected = [2, 1, 0].map(n => ({ n, a: "'; DROP TABLE x", b: null, instant: -1 }));
  expect(JSON.parse(rowsJson.toString())).toEqual(expected);
});

test('a result of several parts arrives whole', async () => {
  const child = await startChild({ maxResultBytes: 3_000_000 });
  const found = await rows(
    child,
    `SELECT to_json(concat(n, repeat('ä', 500)))::VARCHAR FROM range(2500) t(n)`,
  );
  expect(found).toEqual(Array.from({ length: 2500 }, (_, n) => n + 'ä'.repeat(500)));
});

test('one statement runs at a time', async () => {
  const child = await startChild();
  const running = child.run({ sql: endless, values: [], maxRows: 1_000_000 });
  await expect(rows(child, `SELECT '1'`)).rejects.toThrow('another statement is running');
  running.interrupt();
  await expect(running.result).rejects.toThrow(/interrupt/i);
});

test('a statement among many has one thread, and the next one as many as before', async () => {
  const child = await startChild();
  const threads = async (isCrowded: boolean) => {
    const sql = "SELECT current_setting('threads')::VARCHAR";
    const { rowsJson } = await child.run({ sql, values: [], maxRows: 1, isCrowded }).result;
    return JSON.parse(rowsJson.toString());
  };
  const all = await threads(false);
  expect(await threads(true)).toEqual([1]);
  expect(await threads(true)).toEqual([1]);
  expect(await threads(false)).toEqual(all);
});

test('looks at each group of rows for the newest of them only where a table is not very long', async () => {
  const settingOf = async (rowCount: number) => {
    const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
    const { connection, close } = await openForWriting(databasePath, []);
    await connection.run(`CREATE TABLE t AS SELECT true AS a FROM range(${rowCount})`);
    close();
    const child = await startChild({ databasePath });
    return rows(child, "SELECT current_setting('late_materialization_max_rows')::VARCHAR");
  };
  expect(await settingOf(39_999_999)).toEqual([10_000]);
  expect(await settingOf(40_000_000)).toEqual([0]);
});

test.each([
  ['with values', 'SELECT to_json(concat(n, $value))::VARCHAR FROM t'],
  ['without values', 'SELECT to_json(n)::VARCHAR FROM t'],
])('a statement %s that comes again and again has the rows of the file that is current', async (_, sql) => {
  const path = join(await temporaryDirectory(), 'logs.duckdb');
  const replicas = replicasOf(path);
  for (const [n, replica] of replicas.entries()) {
    const { connection, close } = await openForWriting(replica, []);
    await connection.run(`CREATE TABLE t AS SELECT 'file ${n} ' AS n`);
    close();
  }
  const child = await startChild({ databasePath: path });
  const hasValue = sql.includes('$value');
  for (const [run, current] of [0, 0, 0, 1, 1, 1, 0, 1].entries()) {
    await publish(path, { path: replicas[current]!, loads: {} });
    const values = hasValue ? [{ placeholder: 'value', text: String(run) }] : [];
    const { rowsJson } = await child.run({ sql, values, maxRows: 10 }).result;
    expect(JSON.parse(rowsJson.toString())).toEqual([`file ${current} ${hasValue ? run : ''}`]);
    // A writer can have the other file.
    (await openForWriting(replicas[1 - current]!, [])).close();
  }
});

/** What DuckDB holds in memory or on disk, beside data of the tables. */
const held = `SELECT sum(memory_usage_bytes + temporary_storage_bytes)::VARCHAR FROM duckdb_memory() WHERE tag <> 'BASE_TABLE'`;
const large = `SELECT sum(len(m))::VARCHAR FROM (SELECT string_agg(sha256(concat(a, ' ', b, '$'))) AS m FROM range(900) x(a), range(700) y(b) GROUP BY b)`;

test.each([
  ['finished', large, undefined],
  ['failed', `SELECT error('no') FROM (${large})`, 'no'],
  ['failed for memory', large.replace('900', '90000'), 'Out of Memory'],
  ['gave a large result', `SELECT to_json(repeat('x', 10000))::VARCHAR FROM range(2000)`, undefined],
  ['gave too large a result', `SELECT to_json(repeat('x', 10000))::VARCHAR FROM range(4000)`, 'too large'],
])('contract 11.5: after a statement that %s, memory is what it was', async (_, sql, failure) => {
  const child = await startChild({ maxResultBytes: 30_000_000 });
  const before = await rows(child, held);
  for (let times = 0; times < 3; times++) {
    const result = child.run({ sql: sql.replace('$', String(times)), values: [], maxRows: 1_000_000 }).result;
    if (failure) await expect(result).rejects.toThrow(failure);
    else await result;
    expect([times, await rows(child, held)]).toEqual([times, before]);
  }
});

test('after a statement that was interrupted, memory is what it was', async () => {
  const child = await startChild();
  const before = await rows(child, held);
  const run = child.run({ sql: large.replace('900', '20000'), values: [], maxRows: 1_000_000 });
  await new Promise(resolve => setTimeout(resolve, 300)); // so that there is something to give back
  run.interrupt();
  await expect(run.result).rejects.toThrow(/interrupt/i);
  expect(await rows(child, held)).toEqual(before);
});

/** Takes some 100 MB, of which nothing is needed when it ends. */
const list = `SELECT len(list({a: x, s: repeat('x', 100) || x}))::VARCHAR FROM range(400000) t(x)`;

test('contract 11.5: what statements leave to the allocator wears no process out, and an idle one gives it back', async () => {
  const child = await startChild();
  const anonymousMb = () => {
    const [, kilobytes] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1024;
  };
  const readyMb = anonymousMb();
  for (let run = 0; run < 6 || anonymousMb() < readyMb + 64; run++) {
    expect(await rows(child, list)).toEqual([400_000]);
    expect(child.isWorn).toBe(false);
  }
  await expect.poll(anonymousMb, { timeout: 5000 }).toBeLessThan(readyMb + 32);
  expect(await rows(child, list)).toEqual([400_000]);
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
  let child: EngineChild;
  beforeAll(() => {
    child = startEngineChild(engineSettings(databasePath));
  });
  afterAll(() => end(child));

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
    await expect(child.run({ sql, values: [], maxRows: 1_000_000 }).result).rejects.toThrow(/Error/);
    expect(await rows(child, `SELECT '1'`)).toEqual([1]);
  });
});

test('an interrupted statement ends at once, and its connection goes on', async () => {
  const child = await startChild();
  const run = child.run({ sql: endless, values: [], maxRows: 1_000_000 });
  run.interrupt();
  await expect(run.result).rejects.toThrow(/interrupt/i);
  expect(await rows(child, `SELECT '1'`)).toEqual([1]);
});

test('a killed process fails what it owed', async () => {
  const child = await startChild();
  const run = child.run({ sql: endless, values: [], maxRows: 1_000_000 });
  child.kill('closed');
  await expect(run.result).rejects.toThrow(EngineGoneError);
  expect(await child.ended).toBe('SIGKILL');
});

test('a statement that outgrows the memory ends the process, not the gateway', async () => {
  const child = await startChild({ residentLimitMb: 700 });
  const error = await child
    .run({ sql: 'SELECT len(generate_series(1, 300000000))::VARCHAR', values: [], maxRows: 1_000_000 })
    .result.catch((e: Error) => e);
  expect(error).toBeInstanceOf(EngineGoneError);
  expect(error).toMatchObject({ why: 'out of memory' });
});

test('a file that is no database is refused with its own words', async () => {
  const path = join(await temporaryDirectory(), 'logs.duckdb');
  await writeFile(path, 'not a database');
  const child = startEngineChild(engineSettings(path));
  await expect(child.catalog).rejects.toThrow('not a valid DuckDB database');
});
