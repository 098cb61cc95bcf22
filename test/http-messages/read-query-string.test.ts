import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxUrlLength } from '../../src/http-messages/http-limits.ts';
import { readQueryString } from '../../src/http-messages/read-query-string.ts';
import { longestTurn } from '../support/longest-turn.ts';

test('the last value of a name wins, an empty value stays, a bare name is empty', () => {
  expect({ ...readQueryString('a=1&a=2&b=&c&&d=x=y') }).toEqual({ a: '2', b: '', c: '', d: 'x=y' });
});

test('contract 2.8, 11.2: a list has all its values, and as many as a URL holds are read at once', async () => {
  const lists = new Set(['a']);
  expect({ ...readQueryString('a=1&b=1&a=2&b=2&a=3', lists) }).toEqual({ a: ['1', '2', '3'], b: '2' });
  const { result, turnMs } = await longestTurn(async () =>
    readQueryString('a&'.repeat(maxUrlLength / 2), lists),
  );
  expect(result.a).toHaveLength(maxUrlLength / 2);
  expect(turnMs).toBeLessThan(100);
});

test('reads escapes, and + as a blank', () => {
  expect({ ...readQueryString('b=%C3%A9+%2B') }).toEqual({ b: 'é +' });
});

test.each(['a=%FF', 'a=%', 'a=%zz', '%C3=1'])('refuses %j', text => {
  expect(() => readQueryString(text)).toThrow('is not percent-encoded UTF-8');
});

test('a name such as __proto__ is a name like any other', () => {
  const parameters = readQueryString('__proto__=x&constructor=y');
  expect(Object.keys(parameters)).toEqual(['__proto__', 'constructor']);
});

test('reads back whatever URLSearchParams writes', () => {
  const pairs = fc.dictionary(fc.string({ minLength: 1, unit: 'binary' }), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(pairs, given => {
      const text = new URLSearchParams(given).toString();
      expect(Object.entries(readQueryString(text))).toEqual([...new Map(Object.entries(given))]);
    }),
  );
});
