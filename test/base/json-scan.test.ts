import fc from 'fast-check';
import { expect, test } from 'vitest';
import { objectEnd, stringEnd } from '../../src/base/json.ts';

test('finds where a string ends, whatever it contains', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (value, after) => {
      const text = JSON.stringify(value);
      expect(stringEnd(Buffer.from(`${text}:${JSON.stringify(after)}`), 0)).toBe(Buffer.byteLength(text));
    }),
  );
});

test('finds where an object ends, whatever it contains', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), object => {
      const text = JSON.stringify(object);
      expect(objectEnd(Buffer.from(`[${text},{}]`), 1)).toBe(1 + Buffer.byteLength(text));
    }),
  );
});

test('text that breaks off ends with the text', () => {
  expect(stringEnd(Buffer.from('"a\\"'), 0)).toBe(4);
  expect(objectEnd(Buffer.from('{"a":{}'), 0)).toBe(7);
});
