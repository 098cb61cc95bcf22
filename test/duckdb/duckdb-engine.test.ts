import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { createDuckDbEngine, type DuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import type { EngineEvent } from '../../src/duckdb/engine-events.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { Statement } from '../../src/engine/engine.ts';
import { edgeRow } from '../support/edge-row.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const edge = '`cloudflare.logs.prod`';
/** Counts for hours, and can be interrupted. */
const endless = `SELECT count(*) AS n FROM ${Array.from({ length: 12 }, (_, n) => `${edge} AS t${n}`).join(', ')}`;
/** Spends a minute inside one vector of rows, where DuckDB does not look for an interrupt. */
const unresponsive = `SELECT sum(length(regexp_replace(repeat('a', 100000 + x), 'a|b', 'c'))) AS n FROM unnest(generate_array(1, 2000)) AS x`;
/** Takes a second or more. */
const seconds = `SELECT count(*) AS n FROM unnest(generate_array(1, 1000000)) AS x, unnest(generate_array(1, 100)) AS y WHERE x + y > 0`;

async function openEngine({
  rows = 10,
  ...options
}: { rows?: number } & Partial<Parameters<typeof createDuckDbEngine>[0]> = {}) {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const lines = Array.from({ length: rows }, (_, n) => {
    const timestamp = new Date(Date.UTC(2026, 0, 15, 10, 0, n)).toISOString();
    return `${JSON.stringify(edgeRow({ id: `id-${n}`, timestamp, project: 'ours' }))}\n`;
  });
  await importLogs({
    databasePath,
    sources: readSources(),
    source: 'cloudflare.logs.prod',
    input: Readable.from(lines),
  });
  const events: EngineEvent[] = [];
  const clock = createStandingClock('2026-01-15T12:00:00.001Z');
  const engine = await createDuckDbEngine({
    databasePath,
    clock,
    emit: event => events.push(event),
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, events };
}

type Asked = Partial<Statement> & { signal?: AbortSignal; timeoutMs?: number };

function ask(engine: DuckDbEngine, sql: string, { signal, timeoutMs = 300_000, ...more }: Asked = {}) {
  const statement = { endpoint: 'test', sql, parameters: [], maxRows: 1000, ...more };
  return engine.run(statement, { signal: signal ?? new AbortController().signal, timeoutMs });
}

async function rowsOf(...asked: Parameters<typeof ask>) {
  const { rowsJson, rowCount } = await ask(...asked);
  const rows = JSON.parse(rowsJson.toString());
  expect(rows).toHaveLength(rowCount);
  return rows;
}

test('a statement is explained without being run: its columns, and the sources it reads', async () => {
  const { engine } = await openEngine();
  const limits = { signal: new AbortController().signal, timeoutMs: 1000 };
  const statement = { endpoint: 'test', parameters: [], maxRows: 1 };
  const { columns, sources } = await engine.explain({ ...statement, sql: endless }, limits);
  expect(columns).toEqual([{ name: 'n', type: 'INT64', mode: 'NULLABLE' }]);
  expect(sources).toEqual(['cloudflare.logs.prod']);
  await expect(engine.explain({ ...statement, sql: 'SELECT nope' }, limits)).rejects.toThrow('nope');
});

test('contract 11.5: a refused text that is kept holds nothing of what the front-end made of it', async () => {
  const { engine } = await openEngine();
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const refuse = (n: number) =>
    engine
      .describe({ sql: `select ${`a${n}`.padEnd(60_000, 'b@c.de ')} from x`, parameters: [] })
      .catch(() => undefined);
  await refuse(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 1; n <= 20; n++) await refuse(n);
  collect();
  // They were 97 MB.
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(30);
});

test('a list is one parameter, whatever characters its values have', async () => {
  const { engine } = await openEngine();
  const names = ["it's", '', 'a,b]', 'ä"\\', 'null'];
  const sql = 'SELECT name, place FROM unnest(@names) AS name WITH OFFSET AS place ORDER BY place';
  const run = (value: readonly string[]) => rowsOf(engine, sql, { parameters: [{ name: 'names', value }] });
  expect(await run(names)).toEqual(names.map((name, place) => ({ name, place })));
  expect(await run([])).toEqual([]);
});

test('answers rows in the order of the query, cut to the limit, with its columns', async () => {
  const { engine } = await openEngine();
  const sql = `SELECT id, timestamp FROM ${edge} ORDER BY timestamp DESC`;
  const { columns, rowsJson } = await ask(engine, sql, { maxRows: 2 });
  expect(columns.map(({ name, type }) => [name, type])).toEqual([
    ['id', 'STRING'],
    ['timestamp', 'TIMESTAMP'],
  ]);
  expect(rowsJson.toString()).toBe(
    '[{"id":"id-9","timestamp":1768471209000000},{"id":"id-8","timestamp":1768471208000000}]',
  );
  expect(await engine.describe({ sql, parameters: [] })).toEqual(columns);
});

test('binds parameters as they are, and takes now from the clock', async () => {
  const { engine } = await openEngine();
  const value = `'; DROP TABLE x; -- "\\ é 💥`;
  const parameters = [
    { name: 'a', value },
    { name: 'b', value: null },
  ];
  expect(await rowsOf(engine, 'SELECT @a AS a, @b AS b, current_timestamp() AS now', { parameters })).toEqual(
    [{ a: value, b: null, now: 1768478400001000 }],
  );
});

test.each([
  ['SELECT cast(id AS INT64) AS n FROM `cloudflare.logs.prod`', []],
  ['SELECT regexp_contains(id, @p) AS n FROM `cloudflare.logs.prod`', [{ name: 'p', value: '(' }]],
])("a fault of the query's values is invalid_query: %s", async (sql, parameters) => {
  const { engine } = await openEngine();
  await expect(ask(engine, sql, { parameters })).rejects.toMatchObject({
    code: 'invalid_query',
    message: expect.not.stringMatching(/SELECT|LINE/),
  });
});

test('a query over its time is stopped, and the next one answers', async () => {
  const { engine, events } = await openEngine({ maxConcurrentQueries: 1, graceMs: 10_000 });
  await expect(ask(engine, endless, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(await rowsOf(engine, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  expect(events.map(({ type }) => type)).toEqual(['engine.started']);
});

test('a query that nobody waits for is stopped, and frees its place', async () => {
  const { engine } = await openEngine({ maxConcurrentQueries: 1 });
  const caller = new AbortController();
  const running = ask(engine, endless, { signal: caller.signal });
  const next = rowsOf(engine, 'SELECT 1 AS n');
  caller.abort();
  await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  expect(await next).toEqual([{ n: 1 }]);
});

test('queries beyond those that may run and wait are refused as overloaded', async () => {
  const { engine } = await openEngine({ maxConcurrentQueries: 1, maxWaitingQueries: 1 });
  const caller = new AbortController();
  const running = ask(engine, endless, { signal: caller.signal });
  const waiting = ask(engine, 'SELECT 1 AS n');
  await expect(ask(engine, 'SELECT 2 AS n')).rejects.toMatchObject({ code: 'overloaded' });
  caller.abort();
  await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  expect((await waiting).rowCount).toBe(1);
});

test('contract 11.4: no permit is held for a text that the front-end has not come to yet', async () => {
  const { engine } = await openEngine({ maxConcurrentQueries: 1 });
  const askAs = (caller: string, sql: string) =>
    engine.run(
      { endpoint: 'test', sql, parameters: [], maxRows: 1000 },
      { signal: new AbortController().signal, timeoutMs: 300_000, caller },
    );
  await askAs('short', 'SELECT 1 AS n');
  let refused = 0;
  // Each is read and bound to its end, and the front-end pauses as long again afterwards.
  const texts = Array.from({ length: 30 }, (_, n) => {
    const columns = Array.from({ length: 3000 }, (_, i) => `id = '${n}x${i}'`).join(' OR ');
    return askAs('long', `SELECT ${columns} AS x, missing FROM ${edge}`).catch(() => refused++);
  });
  for (let times = 0; times < 16; times++) await askAs('short', 'SELECT 1 AS n');
  // If each of the short ones waited for the end of a long one, there would be sixteen.
  expect(refused).toBeLessThan(12);
  await Promise.all(texts);
  expect(refused).toBe(30);
});

test('where more queries run than there are processors, each has one thread', async () => {
  const processors = availableParallelism();
  const { engine } = await openEngine({ maxConcurrentQueries: processors + 2 });
  const threads = () => readdirSync(`/proc/${engine.pids[0]}/task`).length;
  await rowsOf(engine, 'SELECT 1 AS n');
  const alone = threads();
  await Promise.all(Array.from({ length: processors + 1 }, () => rowsOf(engine, 'SELECT 1 AS n')));
  expect(threads()).toBe(alone - (processors - 1));
});

test('after kill -9 of its process a query is run again, and answered', async () => {
  const { engine, events } = await openEngine();
  const running = rowsOf(engine, seconds);
  await new Promise(resolve => setImmediate(resolve)); // the query has left for the process
  process.kill(engine.pids[0]!, 'SIGKILL');
  expect(await running).toEqual([{ n: 100_000_000 }]);
  expect(events.map(({ type }) => type)).toEqual(['engine.started', 'engine.stopped', 'engine.started']);
});

test('contract 11.5: a query whose process is killed while it starts is run in another one', async () => {
  const { engine, events } = await openEngine();
  const [first] = engine.pids;
  process.kill(first!, 'SIGKILL');
  await expect.poll(() => engine.pids).toEqual([]);
  const running = rowsOf(engine, 'SELECT 1 AS n');
  const killed = new Set<number>();
  // One is started for the tables that the text is compiled against, the next one for the query itself.
  while (killed.size < 2) {
    // In the turn in which it is started, so that it can't have said that it is ready.
    const starting = engine.pids.find(pid => !killed.has(pid));
    if (starting === undefined) await new Promise(resolve => setImmediate(resolve));
    else process.kill(starting, 'SIGKILL') && killed.add(starting);
  }
  expect(await running).toEqual([{ n: 1 }]);
  const ready = events.flatMap(event => (event.type === 'engine.started' ? [event.pid!] : []));
  expect(ready.filter(pid => killed.has(pid))).toEqual([]);
});

test('a query is run again in a new process, for idle ones may have been killed together with its own', async () => {
  const { engine, events } = await openEngine();
  const started = () => events.filter(({ type }) => type === 'engine.started').length;
  const caller = new AbortController();
  const running = expect(ask(engine, endless, { signal: caller.signal })).rejects.toMatchObject({
    code: 'cancelled',
  });
  expect(await rowsOf(engine, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  await expect.poll(started).toBeGreaterThanOrEqual(3);
  process.kill(engine.pids[0]!, 'SIGKILL');
  // A spare one may have started by then, too.
  await expect.poll(started).toBeGreaterThanOrEqual(4);
  caller.abort();
  await running;
});

test('a query whose process ends again and again fails, and the next one answers', async () => {
  const { engine, events } = await openEngine();
  const running = expect(ask(engine, endless)).rejects.toMatchObject({
    code: 'engine_failed',
    message: 'The engine ended while it ran the query',
  });
  for (let times = 1; times <= 3; times++) {
    await expect.poll(() => events.filter(({ type }) => type === 'engine.started')).toHaveLength(times);
    await new Promise(resolve => setImmediate(resolve));
    process.kill(engine.pids[0]!, 'SIGKILL');
  }
  await running;
  expect(await rowsOf(engine, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
});

test('a query whose process is frozen is run again in another one', async () => {
  const { engine, events } = await openEngine({ aliveMs: 300 });
  const [frozen] = engine.pids;
  process.kill(frozen!, 'SIGSTOP');
  expect(await rowsOf(engine, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  expect(engine.pids).not.toContain(frozen);
  expect(events.map(({ type }) => type)).toEqual(['engine.started', 'engine.stopped', 'engine.started']);
});

test('contract 11.6: a query that was run again keeps its own deadline, and frees its place then', async () => {
  const { engine } = await openEngine({ maxConcurrentQueries: 1, graceMs: 10_000 });
  const running = expect(ask(engine, endless, { timeoutMs: 2000 })).rejects.toMatchObject({
    code: 'deadline_exceeded',
  });
  await new Promise(resolve => setImmediate(resolve));
  process.kill(engine.pids[0]!, 'SIGKILL');
  await running;
  expect(await rowsOf(engine, 'SELECT 1 AS n', { timeoutMs: 30_000 })).toEqual([{ n: 1 }]);
});

test('a query that does not respond ends with its process alone: its neighbours go on', async () => {
  const { engine, events } = await openEngine({ graceMs: 50 });
  const guilty = expect(ask(engine, unresponsive, { timeoutMs: 1000 })).rejects.toMatchObject({
    code: 'deadline_exceeded',
  });
  const neighbour = rowsOf(engine, seconds);
  await guilty;
  expect(await neighbour).toEqual([{ n: 100_000_000 }]);
  await expect.poll(() => events.filter(({ type }) => type === 'engine.stopped')).toHaveLength(1);
});

test('contract 11.3: a query that has cost its process holds its permit until another process is ready', async () => {
  const waiting: Partial<Record<EngineEvent['type'], number>> = {};
  const emit = ({ type }: EngineEvent) => {
    waiting[type] = engine?.usage().waiting;
  };
  let engine: DuckDbEngine | undefined;
  ({ engine } = await openEngine({ graceMs: 50, maxConcurrentQueries: 2, emit }));
  const guilty = expect(ask(engine, unresponsive, { timeoutMs: 1000 })).rejects.toMatchObject({
    code: 'deadline_exceeded',
  });
  // The last permit is kept for other callers.
  const next = rowsOf(engine, 'SELECT 1 AS n');
  await guilty;
  expect(await next).toEqual([{ n: 1 }]);
  expect(waiting).toEqual({ 'engine.stopped': 1, 'engine.started': 1 });
});

test('a result over the limit is refused', async () => {
  const { engine } = await openEngine({ maxResultBytes: 500 });
  await expect(ask(engine, `SELECT * FROM ${edge}`)).rejects.toMatchObject({ code: 'result_too_large' });
});

test('a database that is not there is refused at the start', async () => {
  const databasePath = join(await temporaryDirectory(), 'none.duckdb');
  const start = createDuckDbEngine({ databasePath, clock: createStandingClock(0), emit: () => undefined });
  await expect(start).rejects.toThrow('could not open');
});
