import type { DuckDBPreparedStatement } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { createStatements } from '../../src/duckdb/statements.ts';

/** A connection that notes what is prepared, and what is destroyed without having been taken. Preparing takes as many milliseconds as the text has characters. */
function openConnection() {
  const prepared: string[] = [];
  const destroyed: string[] = [];
  const failing = new Set<string>();
  let nowMs = 0;
  const prepare = async (sql: string) => {
    prepared.push(sql);
    nowMs += sql.length;
    if (failing.has(sql)) throw new Error(`no ${sql}`);
    return { destroySync: () => destroyed.push(sql) } as unknown as DuckDBPreparedStatement; // all that is called of it
  };
  const statements = createStatements({ prepare }, () => nowMs);
  /** A run of a statement. */
  const run = async (sql: string) => {
    await statements.take(sql);
    statements.prepareNext();
  };
  return { statements, run, prepared, destroyed, failing };
}

test('a statement that has come twice is prepared before it comes again, once for each run', async () => {
  const { run, prepared, destroyed } = openConnection();
  await run('a');
  expect(prepared).toEqual(['a']);
  await run('a');
  expect(prepared).toEqual(['a', 'a', 'a']);
  await run('a');
  expect(prepared).toEqual(['a', 'a', 'a', 'a']);
  expect(destroyed).toEqual([]);
});

test('where another statement comes, what is prepared already is destroyed', async () => {
  const { run, prepared, destroyed } = openConnection();
  for (const sql of ['a', 'a', 'b', 'a', 'b']) await run(sql);
  expect(prepared).toEqual(['a', 'a', 'a', 'b', 'a', 'b']);
  expect(destroyed).toEqual(['a']);
});

test('a statement that takes long to prepare is prepared when it comes', async () => {
  const { run, prepared } = openConnection();
  const long = 'x'.repeat(11);
  for (const sql of [long, long, long]) await run(sql);
  expect(prepared).toEqual([long, long, long]);
});

test('what could not be prepared beforehand is prepared when it comes', async () => {
  const { statements, run, failing } = openConnection();
  await run('a');
  await statements.take('a');
  failing.add('a');
  statements.prepareNext();
  await expect(statements.take('a')).rejects.toThrow('no a');
  failing.delete('a');
  await expect(statements.take('a')).resolves.toBeDefined();
});

test('what is dropped is prepared when it comes', async () => {
  const { statements, run, prepared, destroyed } = openConnection();
  await run('a');
  await run('a');
  await statements.drop();
  expect(destroyed).toEqual(['a']);
  await run('a');
  expect(prepared).toEqual(['a', 'a', 'a', 'a', 'a']);
});
