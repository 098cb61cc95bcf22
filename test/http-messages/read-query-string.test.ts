import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readQueryString } from '../../src/http-messages/read-query-string.ts';

test('the last value of a name wins, an empty value stays, a bare name is empty', () => {
  expect({ ...readQueryString('a=1&a=2&b=&c&&d=x=y') }).toEqual({ a: '2', b: '', c: '', d: 'x=y' });
});

test('reads escapes, + as a blank, and raw UTF-8 bytes', () => {
  const raw = Buffer.from('a=é').toString('latin1');
  expect({ ...readQueryString(`${raw}&b=%C3%A9+%2B`) }).toEqual({ a: 'é', b: 'é +' });
});

test.each(['a=%FF', 'a=%', 'a=%zz', '%C3=1', 'a=\xff'])('refuses %j', text => {
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
