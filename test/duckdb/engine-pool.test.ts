import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { EngineGoneError, runUntil } from '../../src/duckdb/engine-child.ts';
import type { EngineEvent } from '../../src/duckdb/engine-events.ts';
import { createEnginePool } from '../../src/duckdb/engine-pool.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { engineSettings } from './engine-settings.ts';

/** DuckDB looks for an interrupt between two vectors of rows: this one has many. */
const endless = 'SELECT count(*)::VARCHAR FROM range(1000000000) a, range(1000) b';
/** Sorts more than fits into 64 MB. */
const spilling = `SELECT count(*)::VARCHAR FROM (SELECT row_number() OVER (ORDER BY s) FROM (SELECT sha256(n::VARCHAR) AS s FROM range(600000) t(n)))`;
const answer = "SELECT '42'";

const never = new AbortController().signal;

async function openPool({
  maxProcesses = 3,
  idleMs = 60_000,
  spillLimitMb = 1000,
  memoryLimitMb = 128,
  keptLimitMb = 128,
} = {}) {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  (await openForWriting(databasePath, [])).close();
  const events: EngineEvent[] = [];
  const pool = createEnginePool({
    settings: { ...engineSettings(databasePath), memoryLimitMb, keptLimitMb, spillLimitMb },
    maxProcesses,
    emit: event => events.push(event),
    idleMs,
  });
  onTestFinished(() => pool.close());
  const run = (sql: string, limit = never, graceMs = 10_000, onBegun = (_pid: number) => {}) =>
    pool.use(async child => {
      await child.catalog;
      queueMicrotask(() => onBegun(child.pid!));
      const { rowsJson } = await runUntil(limit, child, { sql, values: [], maxRows: 1_000_000 }, graceMs);
      return rowsJson.toString();
    });
  const spills = async () =>
    (await readdir(dirname(databasePath))).filter(
      name => name.endsWith('.tmp') && name !== 'logs.duckdb.tmp',
    );
  const settings = engineSettings(databasePath);
  return { pool, settings, events, run, spills, types: () => events.map(({ type }) => type) };
}

test('queries that come one after the other run in one process', async () => {
  const { pool, run, types } = await openPool();
  for (let times = 0; times < 3; times++) expect(await run(answer)).toBe('[42]');
  expect(pool.pids).toHaveLength(1);
  expect(types()).toEqual(['engine.started']);
});

test('queries that come together run in a process each, with one more ready, up to the limit', async () => {
  const { pool, run } = await openPool({ maxProcesses: 4 });
  const leaving = new AbortController();
  // On a busy machine its process may not have started when it is left.
  const isLeft = /interrupt|aborted/i;
  const first = expect(run(endless, leaving.signal)).rejects.toThrow(isLeft);
  expect(pool.pids).toHaveLength(1);
  const second = expect(run(endless, leaving.signal)).rejects.toThrow(isLeft);
  expect(pool.pids).toHaveLength(3);
  expect(await run(answer)).toBe('[42]');
  const last = [run(answer), run(answer)];
  expect(pool.pids).toHaveLength(4);
  expect(await Promise.all(last)).toEqual(['[42]', '[42]']);
  leaving.abort();
  await Promise.all([first, second]);
});

test('a process that is not needed any more is ended, but the last one is kept', async () => {
  const { pool, run, types } = await openPool({ idleMs: 50 });
  await Promise.all([run(answer), run(answer)]);
  await expect.poll(() => pool.pids).toHaveLength(1);
  const [pid] = pool.pids;
  expect(await run(answer)).toBe('[42]');
  expect(pool.pids).toEqual([pid]);
  expect(types()).not.toContain('engine.stopped');
});

test('a process whose run left much memory behind is replaced', async () => {
  // Every process is over this limit; memory is looked at after each failed run.
  const { pool, run, types } = await openPool({ keptLimitMb: -1000 });
  const { promise: begun, resolve } = Promise.withResolvers<number>();
  await expect(run("SELECT error('no')", never, 10_000, resolve)).rejects.toThrow('no');
  expect(pool.pids).toHaveLength(1);
  expect(pool.pids).not.toContain(await begun);
  expect(await run(answer)).toBe('[42]');
  expect(types()).toEqual(['engine.started', 'engine.started']);
});

test('a process that has rested and still keeps much memory is replaced once another one is ready', async () => {
  // Every process is over this limit; after a run that succeeds, memory is looked at only when the process has rested.
  const { pool, run, types } = await openPool({ keptLimitMb: -1000 });
  expect(await run(answer)).toBe('[42]');
  const [worn] = pool.pids;
  await expect.poll(() => pool.pids, { timeout: 20_000 }).toHaveLength(2);
  // It still answers while the other one starts.
  expect(await run(answer)).toBe('[42]');
  expect(pool.pids[0]).toBe(worn);
  await expect.poll(() => pool.pids, { timeout: 20_000 }).not.toContain(worn);
  expect(pool.pids).toHaveLength(1);
  expect(await run(answer)).toBe('[42]');
  expect(types()).not.toContain('engine.stopped');
});

test('of several processes that rest and keep much memory all but the last one end at once', async () => {
  const { pool, run, types } = await openPool({ keptLimitMb: -1000 });
  await Promise.all([run(answer), run(answer), run(answer)]);
  const before = pool.pids;
  expect(before).toHaveLength(3);
  await expect.poll(() => pool.pids.filter(pid => before.includes(pid)), { timeout: 20_000 }).toEqual([]);
  expect(pool.pids).toHaveLength(1);
  expect(types()).toHaveLength(4);
});

test('a process whose run failed for want of memory releases it, and stays', async () => {
  const { pool, run, types } = await openPool({ memoryLimitMb: 512 });
  expect(await run(answer)).toBe('[42]');
  const { pids } = pool;
  const large = "SELECT len(list({a: x, s: repeat('x', 100) || x}))::VARCHAR FROM range(3000000) t(x)";
  await expect(run(large)).rejects.toThrow('Out of Memory');
  expect(await run(answer)).toBe('[42]');
  expect(pool.pids).toEqual(pids);
  expect(types()).toEqual(['engine.started']);
});

test('a process whose results were too large frees them, and stays', async () => {
  const { pool, run, types } = await openPool({ memoryLimitMb: 512 });
  expect(await run(answer)).toBe('[42]');
  const { pids } = pool;
  const large = `SELECT '"' || repeat('x', 1000) || n || '"' FROM range(150000) t(n)`;
  for (let times = 0; times < 6; times++) await expect(run(large)).rejects.toThrow('Result Error');
  expect(await run(answer)).toBe('[42]');
  expect(pool.pids).toEqual(pids);
  expect(types()).toEqual(['engine.started']);
});

test('interrupts a statement whose time is over, and keeps the process', async () => {
  const { pool, run, types } = await openPool();
  expect(await run(answer)).toBe('[42]');
  const { pids } = pool;
  const limit = new AbortController();
  const running = run(endless, limit.signal);
  limit.abort(new Error('late'));
  await expect(running).rejects.toThrow(/interrupt|late/i);
  expect(await run(answer)).toBe('[42]');
  expect(pool.pids).toEqual(pids);
  expect(types()).toEqual(['engine.started']);
});

test('kills the process of a statement that does not respond, and no other', async () => {
  const { pool, run, types } = await openPool();
  const limit = new AbortController();
  const { promise: begun, resolve } = Promise.withResolvers<number>();
  const running = run(endless, limit.signal, 50, resolve);
  const guilty = await begun;
  const other = new AbortController();
  const neighbour = run(endless, other.signal);
  // It takes no interrupt.
  process.kill(guilty, 'SIGSTOP');
  limit.abort();
  await expect(running).rejects.toMatchObject({ why: 'unresponsive query' });
  expect(pool.pids).not.toContain(guilty);
  expect(await run(answer)).toBe('[42]');
  other.abort();
  await expect(neighbour).rejects.toThrow(/interrupt|abort/i);
  expect(types().filter(type => type === 'engine.stopped')).toHaveLength(1);
});

test('a process that is killed at the end of a task is not lent again', async () => {
  const { pool, run } = await openPool();
  await pool.use(async child => {
    await child.catalog;
    child.kill('unresponsive query');
  });
  expect(await run(answer)).toBe('[42]');
});

test('after kill -9 the query of that process fails, and later ones succeed in a new one', async () => {
  const { pool, run, events } = await openPool();
  expect(await run(answer)).toBe('[42]');
  const running = run(endless);
  process.kill(pool.pids[0]!, 'SIGKILL');
  await expect(running).rejects.toMatchObject({ name: 'EngineGoneError', why: 'crash' });
  expect(await run(answer)).toBe('[42]');
  expect(events).toContainEqual({ type: 'engine.stopped', reason: 'SIGKILL' });
});

test('what does not fit into memory goes to a folder of the process, which ends with it', async () => {
  const { run, spills, pool } = await openPool({ memoryLimitMb: 64 });
  const [one, other] = [run(spilling), run(spilling)];
  await expect.poll(spills).toHaveLength(2);
  expect([await one, await other]).toEqual(['[600000]', '[600000]']);
  await pool.close();
  expect(await spills()).toEqual([]);
});

test('a query may use so much disk and no more', async () => {
  const { run } = await openPool({ memoryLimitMb: 64, spillLimitMb: 16 });
  await expect(run(spilling)).rejects.toThrow(/^Out of Memory Error/);
});

test('starts no process once it is closed', async () => {
  const { pool, run, types } = await openPool();
  expect(await run(answer)).toBe('[42]');
  await pool.close();
  expect(pool.pids).toEqual([]);
  await expect(run(answer)).rejects.toThrow(EngineGoneError);
  expect(types()).toEqual(['engine.started']);
});

test('a statement whose time is over already is not run', async () => {
  const { run } = await openPool();
  await expect(run(answer, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
});

test('with other settings queries run in new processes, and one that runs already ends in its own', async () => {
  const { pool, settings, run } = await openPool();
  const file = join(await temporaryDirectory(), 'numbers.json');
  await writeFile(file, '{"n":7}');
  const files = { paths: [file], format: 'json' } as const;
  const gone = { paths: [`${file}.gone`], format: 'json' } as const;
  const sources = [
    { name: 'gone', columns: { n: 'INT64' }, files: gone },
    { name: 'numbers', columns: { n: 'INT64' }, files },
  ] as const;
  const leaving = new AbortController();
  const begun = Promise.withResolvers<number>();
  const running = run(endless, leaving.signal, 10_000, begun.resolve);
  const old = await begun.promise;
  const catalog = await pool.replace({ ...settings, sources });
  expect([catalog.tables.map(({ name }) => name), catalog.problems.map(({ source }) => source)]).toEqual([
    ['numbers'],
    ['gone'],
  ]);
  expect((await pool.catalog()).version).toBe(catalog.version);
  expect(await run('SELECT n::VARCHAR FROM numbers')).toBe('[7]');
  expect(pool.pids).toContain(old);
  leaving.abort();
  await expect(running).rejects.toThrow();
  expect(pool.pids).not.toContain(old);
  expect(await run('SELECT n::VARCHAR FROM numbers')).toBe('[7]');
});

test('processes that can not start with other settings change nothing', async () => {
  const { pool, settings, run } = await openPool();
  await run(answer);
  const [pid] = pool.pids;
  await expect(pool.replace({ ...settings, macros: ['nonsense'] })).rejects.toThrow(EngineGoneError);
  expect(await run(answer)).toBe('[42]');
  expect(pool.pids).toEqual([pid]);
});
