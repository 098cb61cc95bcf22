import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keptDigits, parseExactJson } from '../../src/base/json.ts';

test('integers beyond 2^53 are written back with all their digits', () => {
  const text =
    '{"a":[9223372036854775807,-9223372036854775808,9007199254740993,1768471200123456],"s":"99999999999999999"}';
  expect(JSON.stringify(parseExactJson(text))).toBe(text);
});

test('the digits of a kept integer can be read; any other value has none', () => {
  expect(keptDigits(parseExactJson('9223372036854775807'))).toBe('9223372036854775807');
  for (const other of [1, '1', null, {}, { rawJSON: '1' }]) expect(keptDigits(other)).toBeUndefined();
});

test('all else is parsed as JSON.parse does, beside a large integer too', () => {
  fc.assert(
    fc.property(fc.json(), text => {
      fc.pre(!/\d{16}/.test(text));
      expect(JSON.stringify(parseExactJson(`[9007199254740993,${text}]`))).toBe(
        `[9007199254740993,${JSON.stringify(JSON.parse(text))}]`,
      );
    }),
  );
});

test('a text of many digits is no fault: a pattern that repeats without end overflows there', () => {
  expect(parseExactJson(`"${'1'.repeat(17_000_000)}"`)).toHaveLength(17_000_000);
});
