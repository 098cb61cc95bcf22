import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { ResultSet } from '../../src/base/rows.ts';
import { batchQueries, openBatch } from '../../src/batch/batch-queries.ts';
import type { EndpointQuery, RunStatement } from '../../src/batch/run-queries.ts';
import { splitRows } from '../../src/batch/run-queries.ts';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { longestTurn } from '../support/longest-turn.ts';

const definitionOf = (type: 'string' | 'regexp') =>
  parseDefinition(
    'things.sql',
    `/*
id: 00000000-0000-0000-0000-000000000001
name: things
description: Test.
parameters:
  thing: { type: ${type}, required: true, description: A thing. }
  kind: { type: string, description: A kind. }
columns:
  n: { type: INT64, description: A number. }
maxRows: 3
batch: { parameter: thing, key: thing }
*/
select 1 as n`,
    'select thing, 1 as n from unnest(@things) as thing',
  );
const definition = definitionOf('string');
const query = (thing: string, kind: string | null = null): EndpointQuery => ({
  definition,
  parameters: [
    { name: 'thing', value: thing },
    { name: 'kind', value: kind },
  ],
  callerSql: undefined,
});
const never = { signal: new AbortController().signal };

/** An engine that answers the batch form with one row a thing, and knows a thing that it can't stand. */
function openEngine() {
  const runs: string[][] = [];
  const run: RunStatement = async ({ parameters }, { signal }) => {
    const { value } = parameters.find(({ name }) => name.startsWith('thing'))!;
    const things = typeof value === 'string' ? [value] : [...(value ?? [])];
    runs.push(things);
    await new Promise(setImmediate);
    signal.throwIfAborted();
    if (things.includes('bad')) throw new GatewayError('engine_failed', 'The query failed');
    if (things.includes('forbidden'))
      throw new GatewayError('engine_failed', 'No access', { isSourceFailure: true });
    if (things.includes('greedy')) throw new GatewayError('too_many_requests', 'Too many are waiting');
    if (things.includes('overdue')) throw new GatewayError('deadline_exceeded', 'The time is over');
    if (things.includes('away')) throw new GatewayError('unavailable', 'The engine is away');
    return typeof value === 'string' ? rowsOf([{ n: 7 }]) : rowsOf(things.map(thing => ({ thing, n: 7 })));
  };
  return { run, runs };
}

function rowsOf(rows: readonly object[]): ResultSet {
  const columns = Object.keys(rows[0] ?? {}).map(
    name => ({ name, type: 'STRING', mode: 'NULLABLE' }) as const,
  );
  return { columns, rowsJson: Buffer.from(JSON.stringify(rows)), rowCount: rows.length };
}

test('queries that come together are one run, those of another kind another', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const answers = await Promise.all([
    batched(query('a'), never),
    batched(query('b'), never),
    batched(query('a'), never),
    batched(query('a', 'k'), never),
  ]);
  expect(runs).toEqual([['a', 'b'], ['a']]);
  expect(answers.map(({ rowsJson }) => rowsJson.toString())).toEqual(answers.map(() => '[{"n":7}]'));
});

test('contract 11.6: a run has fifty patterns at most, for one pattern is made of them', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const patterns = definitionOf('regexp');
  const asked = Array.from({ length: 120 }, (_, n) =>
    batched({ ...query(`(a?)b${n}`), definition: patterns }, never),
  );
  await Promise.all(asked);
  expect(runs.map(({ length }) => length)).toEqual([50, 50, 20]);
});

test('queries of other limits of bytes do not share a run, which has but one', async () => {
  const limits: (number | undefined)[] = [];
  const { run } = openEngine();
  const noted: RunStatement = (statement, options) => {
    limits.push(options.maxBytesBilled);
    return run(statement, options);
  };
  const batched = batchQueries(noted, setImmediate);
  const asked = [100, undefined, 100, 200].map((maxBytesBilled, at) =>
    batched(query(`thing ${at}`), { ...never, maxBytesBilled }),
  );
  expect((await Promise.all(asked)).map(({ rowCount }) => rowCount)).toEqual([1, 1, 1, 1]);
  expect(limits).toEqual([100, undefined, 200]);
});

test('what a caller waits for does not share a run that goes behind callers', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const priorities = ['background', 'interactive', 'background', 'interactive'] as const;
  const asked = priorities.map((priority, at) => batched(query(`thing ${at}`), { ...never, priority }));
  await Promise.all(asked);
  expect(runs).toEqual([
    ['thing 0', 'thing 2'],
    ['thing 1', 'thing 3'],
  ]);
});

test('a run refused because its first caller has too many waiting is repeated for the others', async () => {
  const { run, runs } = openEngine();
  const share: RunStatement = async (statement, options) => {
    if (options.caller === 'greedy') throw new GatewayError('too_many_requests', 'too many');
    return run(statement, options);
  };
  const batched = batchQueries(share, setImmediate);
  const callers = ['greedy', 'modest', 'greedy', 'other'];
  const asked = callers.map((caller, at) => batched(query(`thing ${at}`), { ...never, caller }));
  const answers = await Promise.allSettled(asked);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  expect(runs).toEqual([['thing 1', 'thing 3']]);
});

test('one that the engine can not stand is found by halves: it fails, the others have their rows', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const things = ['a', 'b', 'bad', 'c', 'd', 'e'];
  const answers = await Promise.allSettled(things.map(thing => batched(query(thing), never)));
  expect(answers.map(({ status }) => status === 'fulfilled')).toEqual(things.map(thing => thing !== 'bad'));
  expect(runs).toEqual([things, ['a', 'b', 'bad'], ['a', 'b'], ['bad'], ['c', 'd', 'e']]);
});

test.each([
  ['the engine is away', 'away'],
  ['the caller has too many waiting', 'greedy'],
  ['any query of the same tables is refused', 'forbidden'],
  ['the time is over', 'overdue'],
])('where %s, nothing is tried again', async (_, fault) => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const answers = await Promise.allSettled(['a', fault].map(thing => batched(query(thing), never)));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs).toHaveLength(1);
});

test('a run goes on as long as one of its callers waits', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const [first, second] = [new AbortController(), new AbortController()];
  const left = expect(batched(query('a'), first)).rejects.toThrow('gone');
  const stays = batched(query('b'), second);
  await new Promise(setImmediate);
  first.abort(new GatewayError('cancelled', 'gone'));
  await left;
  expect((await stays).rowCount).toBe(1);
  const last = Promise.allSettled([batched(query('a'), first), batched(query('c'), second)]);
  await new Promise(setImmediate);
  second.abort(new GatewayError('cancelled', 'gone'));
  const ended = await last;
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs.at(-1)).toEqual(['c']);
});

test('a run ends when the last of its callers has left', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const callers = [new AbortController(), new AbortController()];
  const both = Promise.allSettled(callers.map((each, n) => batched(query(`thing ${n}`), each)));
  await new Promise(setImmediate);
  expect(runs).toEqual([['thing 0', 'thing 1']]);
  for (const each of callers) each.abort(new GatewayError('cancelled', 'gone'));
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('contract 11.5: a run that is over holds on to none of the signals of its callers', async () => {
  const { run } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const lasting = new AbortController();
  await Promise.all([batched(query('a'), lasting), batched(query('b'), lasting)]);
  await Promise.allSettled([batched(query('away'), lasting), batched(query('b'), lasting)]);
  expect(getEventListeners(lasting.signal, 'abort')).toEqual([]);
});

test('a run that was left is not tried again in halves', async () => {
  const { run, runs } = openEngine();
  const batched = batchQueries(run, setImmediate);
  const leaving = new AbortController();
  const all = ['a', 'b', 'c', 'd'].map(thing => batched(query(thing), leaving));
  const left = Promise.allSettled(all);
  await new Promise(setImmediate);
  leaving.abort();
  await left;
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
  expect(runs).toHaveLength(1);
});

test('who leaves twice counts once', async () => {
  const { run, runs } = openEngine();
  const batch = openBatch(run, 3, 60_000);
  const [a, b, c] = [batch.join(), batch.join(), batch.join()];
  const first = a.run(query('a'), never);
  b.leave();
  b.leave();
  expect(runs).toEqual([]);
  await Promise.all([first, c.run(query('c'), never)]);
  expect(runs).toEqual([['a', 'c']]);
});

test('a batch runs when each participant has asked or left, without waiting for its time-out', async () => {
  const { run, runs } = openEngine();
  const batch = openBatch(run, 3, 60_000);
  const [a, b, c] = [batch.join(), batch.join(), batch.join()];
  const rows = [a.run(query('a'), never), b.run(query('b'), never)];
  expect(runs).toEqual([]);
  c.leave();
  c.leave();
  await Promise.all(rows);
  expect(runs).toEqual([['a', 'b']]);
  await a.run(query('late'), never);
  expect(runs).toEqual([['a', 'b'], ['late']]);
});

test('contract 7.1: rows go to their keys unchanged, at most `maxRows` each', async () => {
  const rowsJson =
    '[{"k":"a\\"},{","n":9007199254740993,"o":{"x":[{"y":"}"}]}},{"k":"b","n":1,"o":null},{"k":"b","n":2,"o":{}}]';
  const columns = ['k', 'n', 'o'].map(name => ({ name, type: 'STRING', mode: 'NULLABLE' }) as const);
  const split = await splitRows(
    { columns, rowsJson: Buffer.from(rowsJson), rowCount: 3 },
    ['b', 'a"},{', 'none'],
    1,
  );
  expect(split.map(({ rowsJson }) => rowsJson.toString())).toEqual([
    '[{"n":1,"o":null}]',
    '[{"n":9007199254740993,"o":{"x":[{"y":"}"}]}}]',
    '[]',
  ]);
  expect(split[0]?.columns.map(({ name }) => name)).toEqual(['n', 'o']);
  await expect(
    splitRows({ columns, rowsJson: Buffer.from(rowsJson), rowCount: 3 }, ['b'], 1),
  ).rejects.toThrow('not asked for');
});

test('contract 11.2: the rows of a large batch hold nobody up', async () => {
  const columns = ['k', 'n'].map(name => ({ name, type: 'STRING', mode: 'NULLABLE' }) as const);
  const keys = Array.from({ length: 1000 }, (_, n) => `key ${n}`);
  const rows = keys.map(k =>
    Array(500)
      .fill(JSON.stringify({ k, n: 'x'.repeat(50) }))
      .join(),
  );
  const result = { columns, rowsJson: Buffer.from(`[${rows.join()}]`), rowCount: 500_000 };
  const { result: split, turnMs } = await longestTurn(() => splitRows(result, keys, 1000));
  expect(split.map(({ rowCount }) => rowCount)).toEqual(Array(1000).fill(500));
  expect(turnMs).toBeLessThan(100);
});
