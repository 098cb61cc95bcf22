import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { EngineGoneError } from '../../src/duckdb/engine-child.ts';
import type { EngineEvent } from '../../src/duckdb/engine-events.ts';
import { createEngineSupervisor } from '../../src/duckdb/engine-supervisor.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** DuckDB looks for an interrupt between two vectors of rows: this one has many. */
const endless = 'SELECT count(*)::VARCHAR FROM range(1000000000) a, range(1000) b';
/** This one spends seconds inside one vector. */
const deaf = `SELECT sum(len(regexp_replace(repeat('a', 100000000), 'a', 'b', 'g')))::VARCHAR FROM range(50)`;
const answer = "SELECT '42'";

async function openSupervisor(options: { graceMs: number }) {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  (await openForWriting(databasePath, [])).close();
  const events: EngineEvent[] = [];
  const settings = {
    databasePath,
    connections: 2,
    macros: [],
    memoryLimitMb: 256,
    residentLimitMb: 4096,
    maxResultBytes: 1_000_000,
  };
  const supervisor = createEngineSupervisor({ settings, emit: event => events.push(event), ...options });
  onTestFinished(() => supervisor.close());
  const run = async (sql: string, limit = new AbortController().signal) =>
    (await supervisor.run(supervisor.current(), { sql, values: [] }, limit)).rowsJson.toString();
  await supervisor.current().catalog;
  return { supervisor, events, run, types: () => events.map(({ type }) => type) };
}

test('starts one process, and keeps it', async () => {
  const { supervisor, run, types } = await openSupervisor({ graceMs: 10_000 });
  const { pid } = supervisor.current();
  expect(await Promise.all([run(answer), run(answer)])).toEqual(['[42]', '[42]']);
  expect(supervisor.current().pid).toBe(pid);
  expect(types()).toEqual(['engine.started']);
});

test('interrupts a statement whose time is over, and keeps the process', async () => {
  const { supervisor, run, types } = await openSupervisor({ graceMs: 10_000 });
  const { pid } = supervisor.current();
  const limit = new AbortController();
  const running = run(endless, limit.signal);
  limit.abort();
  await expect(running).rejects.toThrow(/interrupt/i);
  expect(await run(answer)).toBe('[42]');
  expect(supervisor.current().pid).toBe(pid);
  expect(types()).toEqual(['engine.started']);
});

test('kills the process where a statement hears no interrupt, and the next query starts another', async () => {
  const { supervisor, run, types } = await openSupervisor({ graceMs: 50 });
  const { pid } = supervisor.current();
  const limit = new AbortController();
  const running = run(deaf, limit.signal);
  limit.abort();
  await expect(running).rejects.toThrow(EngineGoneError);
  expect(await run(answer)).toBe('[42]');
  expect(supervisor.current().pid).not.toBe(pid);
  expect(types()).toEqual(['engine.started', 'engine.stopped', 'engine.started']);
});

test('after kill -9 running queries fail, and later ones succeed in a new process', async () => {
  const { supervisor, run, events } = await openSupervisor({ graceMs: 10_000 });
  const running = run(endless);
  process.kill(supervisor.current().pid!, 'SIGKILL');
  await expect(running).rejects.toThrow(EngineGoneError);
  expect(await run(answer)).toBe('[42]');
  expect(events).toContainEqual({ type: 'engine.stopped', reason: 'SIGKILL' });
});

test('a statement given to a process that has ended fails at once', async () => {
  const { supervisor } = await openSupervisor({ graceMs: 10_000 });
  const owner = supervisor.current();
  owner.kill('closed');
  await owner.ended;
  const late = supervisor.run(owner, { sql: answer, values: [] }, new AbortController().signal);
  await expect(late).rejects.toThrow(EngineGoneError);
});

test('starts no process once it is closed', async () => {
  const { supervisor, types } = await openSupervisor({ graceMs: 10_000 });
  await supervisor.close();
  expect(() => supervisor.current()).toThrow(EngineGoneError);
  expect(types()).toEqual(['engine.started']);
});

test('a statement whose time is over already is not run', async () => {
  const { supervisor } = await openSupervisor({ graceMs: 10_000 });
  const limit = AbortSignal.abort(new Error('late'));
  await expect(supervisor.run(supervisor.current(), { sql: answer, values: [] }, limit)).rejects.toThrow(
    'late',
  );
});
