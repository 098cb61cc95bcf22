import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactRowsJson } from '../../src/redaction/redact-rows-json.ts';

test('contract 9.1: changes string values at any depth, and nothing else: not a key, not a digit', () => {
  const json =
    '{"result":[{"10.0.0.1":"10.0.0.1","n":12345678901234567890,"f":1.2500,"b":true,"z":null,' +
    '"m":[{"ip":["::1","é \\u00e9 \\/"]}]}]}';
  expect(redactRowsJson(Buffer.from(json)).toString()).toBe(
    '{"result":[{"10.0.0.1":"REDACTED","n":12345678901234567890,"f":1.2500,"b":true,"z":null,' +
      '"m":[{"ip":["REDACTED","é \\u00e9 \\/"]}]}]}',
  );
});

test('contract 9.1: finds personal data in JSON text that is a string value', () => {
  const row = { metadata: JSON.stringify({ text: 'a\n10.0.0.1', quoted: '"ada@example.com"\\' }) };
  const [redacted] = JSON.parse(redactRowsJson(JSON.stringify([row])).toString());
  expect(JSON.parse(redacted.metadata)).toEqual({ text: 'a\nREDACTED', quoted: '"REDACTED"\\' });
});

test('leaves the kinds that are switched off', () => {
  expect(redactRowsJson('["10.0.0.1","a@b.com"]', ['email', 'bearer']).toString()).toBe(
    '["10.0.0.1","REDACTED"]',
  );
});

test('rows without personal data are the same bytes', () => {
  const json = Buffer.from('[{"a":"caf\\u00e9 \\\\","b":"\\"","c":""}]');
  expect(redactRowsJson(json).equals(json)).toBe(true);
});

test('JSON stays valid and keeps its shape', () => {
  const personal = fc.constantFrom('10.0.0.1', '"::1"', 'a@b.com', '\\', 'x');
  const value = fc
    .jsonValue()
    .chain(some => fc.array(personal).map(list => ({ some, list, text: list.join(' ') })));
  fc.assert(
    fc.property(fc.array(value), rows => {
      const redacted = JSON.parse(redactRowsJson(JSON.stringify(rows)).toString());
      expect(shape(redacted)).toEqual(shape(rows));
    }),
  );
});

/** The value with every string as '' and everything else as it is. */
function shape(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? '' : part));
}
