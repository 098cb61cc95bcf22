import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createLargeResults } from '../../src/bigquery/large-results.ts';
import { complete, openScripted, type ScriptedEngine, savedSql } from './scripted-warehouse.ts';
import { refusal } from './warehouse-http.ts';

let opened: ScriptedEngine | undefined;

afterEach(() => opened?.close());

const text = { name: 'n', type: 'STRING', mode: 'NULLABLE' };

const kinds = (engine: ScriptedEngine, kind: string) =>
  engine.asked.filter(({ what }) => what === kind).length;

test('contract 11.1: a limited number of queries run on the warehouse at a time, and a newcomer is next', async () => {
  opened = await openScripted({ results: ['hang'] }, { maxConcurrentQueries: 3 });
  const { run } = opened;
  const greedy = Array.from({ length: 20 }, () => run({}, { caller: 'greedy', timeoutMs: 60_000 }));
  const ends = Promise.allSettled(greedy);
  await vi.waitFor(() => expect(kinds(opened!, 'insert')).toBe(2));
  // The last slot is kept for whoever runs nothing.
  const newcomer = run({}, { caller: 'newcomer', timeoutMs: 60_000 }).catch(() => undefined);
  await vi.waitFor(() => expect(kinds(opened!, 'insert')).toBe(3));
  const third = run({}, { caller: 'third', timeoutMs: 100 }).catch(error => error.code);
  expect(await third).toBe('deadline_exceeded');
  expect(kinds(opened, 'insert')).toBe(3);
  await opened.engine.close();
  await Promise.all([ends, newcomer]);
});

test('contract 11.1: a statement that is explained takes a place, too: nobody floods the warehouse with dry runs', async () => {
  opened = await openScripted({ dryRun: ['hang'] }, { maxConcurrentQueries: 3 });
  const { engine, asked, run } = opened;
  const statement = { endpoint: 'logs.all', sql: savedSql, parameters: [], maxRows: 10 };
  const { signal } = new AbortController();
  const explain = () => engine.explain(statement, { signal, timeoutMs: 60_000, caller: 'greedy' });
  const greedy = Promise.allSettled(Array.from({ length: 20 }, explain));
  await vi.waitFor(() => expect(engine.usage().waiting).toBe(18));
  const newcomer = run({}, { caller: 'newcomer', timeoutMs: 60_000 }).catch(() => undefined);
  await vi.waitFor(() => expect(asked).toHaveLength(3));
  await engine.close();
  await Promise.all([greedy, newcomer]);
  expect(asked).toHaveLength(3);
});

test('a query gives its place back, however it ends, and so does an explained one', async () => {
  const fine = complete(['1']);
  opened = await openScripted(
    { results: [fine, refusal(400, 'invalidQuery'), 'hang', fine] },
    { maxConcurrentQueries: 1 },
  );
  const { engine, run } = opened;
  const codeOf = (ended: Promise<unknown>) => ended.then(() => 'rows', error => error.code); // biome-ignore format: one line
  expect(await codeOf(run())).toBe('rows');
  expect(await codeOf(run())).toBe('invalid_query');
  const leaving = new AbortController();
  const left = codeOf(run({}, { signal: leaving.signal }));
  await vi.waitFor(() => expect(kinds(opened!, 'results')).toBe(3));
  leaving.abort();
  expect(await left).toBe('cancelled');
  const statement = { endpoint: 'logs.all', sql: savedSql, parameters: [], maxRows: 10 };
  const { signal } = new AbortController();
  expect(await codeOf(engine.explain(statement, { signal, timeoutMs: 5000 }))).toBe('rows');
  expect(await codeOf(run({}, { timeoutMs: 5000 }))).toBe('rows');
});

test('contract 2.16: queries of one token over its places get 429, over all places 503', async () => {
  opened = await openScripted(
    { results: ['hang'] },
    { maxConcurrentQueries: 1, maxWaitingPerCaller: 2, maxWaitingQueries: 3 },
  );
  const { run } = opened;
  const codeOf = (caller: string) => run({}, { caller, timeoutMs: 60_000 }).catch(error => error.code);
  const [first, second, third] = [codeOf('a'), codeOf('a'), codeOf('a')];
  await vi.waitFor(() => expect(kinds(opened!, 'insert')).toBe(1));
  expect(await codeOf('a')).toBe('too_many_requests');
  const other = codeOf('b');
  expect(await codeOf('c')).toBe('overloaded');
  await opened.engine.close();
  expect(await Promise.all([first, second, third, other])).toEqual(Array(4).fill('unavailable'));
});

test('a limited number of results hold more than a megabyte; the others wait until one has ended', async () => {
  const { signal } = new AbortController();
  const large = createLargeResults(2, 10);
  const reads = [1, 2, 3].map(n => large.begin(signal, { caller: `c${n}` }));
  for (const read of reads) expect(read.onHeld(1024 * 1024)).toBeUndefined();
  await reads[0]?.onHeld(1024 * 1024 + 1);
  await reads[1]?.onHeld(9_000_000);
  let isIn = false;
  const waiting = reads[2]?.onHeld(9_000_000)?.then(() => {
    isIn = true;
  });
  // Who is in stays in.
  expect(reads[0]?.onHeld(50_000_000)).toBeUndefined();
  await nextTurn();
  expect(isIn).toBe(false);
  reads[1]?.end();
  await waiting;
  expect(isIn).toBe(true);
});

test('a large result gives its place back, whether it is answered or refused', async () => {
  const rows = (bytes: number) => complete(['x'.repeat(bytes)], { schema: { fields: [text] } });
  const results = Array.from({ length: 12 }, (_, n) => rows(n % 2 ? 3_000_000 : 2_000_000));
  opened = await openScripted({ results }, { maxResultBytes: 2_500_000 });
  const ends: string[] = [];
  for (const _ of results) {
    ends.push(await opened.run({}, { timeoutMs: 10_000 }).then(() => 'rows', error => error.code)); // biome-ignore format: one line
  }
  expect(ends).toEqual(results.map((_, n) => (n % 2 ? 'result_too_large' : 'rows')));
});
