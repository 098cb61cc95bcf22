import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { createCompiler, statementKey } from '../../src/engine/compiler.ts';

const { signal } = new AbortController();

/** A compiler of texts to themselves, and how often it has compiled each. */
function openCompiler(lengthOf = (text: string) => text.length) {
  const compile = createCompiler(lengthOf);
  const runs = new Map<string, number>();
  const ask = (key: string, outcome: () => string = () => key, caller = 'one') =>
    compile(
      key,
      () => {
        runs.set(key, (runs.get(key) ?? 0) + 1);
        return outcome();
      },
      { signal, caller },
    );
  return { ask, runs };
}

test('equal texts are compiled once, at the same time too', async () => {
  const { ask, runs } = openCompiler();
  expect(await Promise.all([ask('a'), ask('a', undefined, 'other'), ask('b')])).toEqual(['a', 'a', 'b']);
  expect(await ask('a')).toBe('a');
  expect([...runs]).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
});

test('contract 11.2: a refusal is kept, a bug is not', async () => {
  const { ask, runs } = openCompiler();
  const refusal = new GatewayError('invalid_query', 'no');
  const refuse = () => {
    throw refusal;
  };
  await expect(ask('refused', refuse)).rejects.toBe(refusal);
  await expect(ask('refused')).rejects.toBe(refusal);
  const fail = () => {
    throw new TypeError('bug');
  };
  await expect(ask('failed', fail)).rejects.toThrow('bug');
  expect(await ask('failed')).toBe('failed');
  expect(runs.get('refused')).toBe(1);
  expect(runs.get('failed')).toBe(2);
});

test('what is kept is bounded in number and in characters; the oldest go first', async () => {
  const many = openCompiler();
  for (let n = 0; n <= 500; n++) await many.ask(`${n}`);
  await many.ask('500');
  await many.ask('0');
  expect([many.runs.get('500'), many.runs.get('0')]).toEqual([1, 2]);
  const large = openCompiler(() => 6_000_000);
  for (const key of ['a', 'b', 'c', 'b', 'a']) await large.ask(key);
  expect(Object.fromEntries(large.runs)).toEqual({ a: 2, b: 1, c: 1 });
});

test('the key of a statement: its texts and the names, types and shapes of its parameters, not their values', () => {
  const key = (value: string | string[], more: object = {}) =>
    statementKey({ sql: 'select @x', parameters: [{ name: 'x', value }], ...more });
  expect(key('1')).toBe(key('2'));
  const others = [
    key(['1']),
    key('1', { callerSql: 'select 1' }),
    key('1', { sql: 'select @x ' }),
    key('1', { parameters: [{ name: 'y', value: '1' }] }),
    key('1', { parameters: [{ name: 'x', value: '1', type: 'INT64' }] }),
  ];
  expect(new Set([key('1'), ...others]).size).toBe(6);
});
