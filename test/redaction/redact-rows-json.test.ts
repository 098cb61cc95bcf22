import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import { jsonColumnsOf } from '../../src/redaction/json-columns.ts';
import { redactRowsJson } from '../../src/redaction/redact-rows-json.ts';
import { redactText } from '../../src/redaction/redact-text.ts';

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

describe('contract 9.8: in a JSON column only the string values change', () => {
  const jsonColumns = new Map([['j', 'json' as const]]);
  const inColumn = (text: string) =>
    JSON.parse(redactRowsJson(JSON.stringify([{ j: text }]), { jsonColumns }).toString())[0].j;

  test.each([
    ['keys', '{"a@b.com":"a@b.com","::1":{"10.0.0.1":["x","::1"]}}', '{"a@b.com":"REDACTED","::1":{"10.0.0.1":["x","REDACTED"]}}'],
    ['keys with escapes', '{"a\\u0040b.com":1,"\\"10.0.0.1\\\\":"\\"10.0.0.1\\\\"}', '{"a\\u0040b.com":1,"\\"10.0.0.1\\\\":"\\"REDACTED\\\\"}'],
    ['spaces before the colon', '{ "::1"\t:\n"::1" }', '{ "::1"\t:\n"REDACTED" }'],
    ['numbers and words', '[1.50,-0,1e9,12345678901234567890,true,false,null,"é \\u00e9 \\/"]', '[1.50,-0,1e9,12345678901234567890,true,false,null,"é \\u00e9 \\/"]'],
    ['an escape that hides an address', '["10.0.0\\u002e1"]', '["REDACTED"]'],
    ['one string', '"10.0.0.1"', '"REDACTED"'],
    ['JSON text in JSON', '["{\\"::1\\":1}"]', '["{\\"REDACTED\\":1}"]'],
    ['an address instead of JSON', '10.0.0.1', 'REDACTED'],
    ['an address of numbers and colons', '[1::2]', '[REDACTED]'],
    ['an address of numbers that are separate tokens', '1:2:3:4:5:6:7:8', 'REDACTED'],
    ['a string that does not end', '{"10.0.0.1', '{"REDACTED'],
    ['a string with a line break', '{"::1":"\n"}', '{"REDACTED":"\n"}'],
    ['words after JSON', '{"::1":1} see 10.0.0.1', '{"REDACTED":1} see REDACTED'],
    ['nothing', '', ''],
  ])('%s', (_what, text, redacted) => {
    expect(inColumn(text)).toBe(redacted);
  }); // biome-ignore format: a table

  test('wherever the column is, and nowhere else', () => {
    const columns: Column[] = [
      { name: 'j', type: 'JSON', mode: 'REPEATED' },
      { name: 's', type: 'STRING', mode: 'NULLABLE' },
      { name: 'q"', type: 'STRUCT', mode: 'REPEATED', fields: [
        { name: 's', type: 'STRING', mode: 'NULLABLE' },
        { name: 'j', type: 'JSON', mode: 'NULLABLE' },
      ] },
      { name: 'z', type: 'STRING', mode: 'REPEATED' },
    ]; // biome-ignore format: a table
    const row = (json: string, text: string) => ({
      j: [json, null, json],
      s: text,
      'q"': [
        { s: text, j: json },
        { s: null, j: json },
      ],
      z: ['}', text, '{'],
    });
    const rows = [row('{"::1":1}', '{"::1":1}'), row('{"::1":1}', '{"::1":1}')];
    const redacted = redactRowsJson(JSON.stringify(rows), { jsonColumns: jsonColumnsOf(columns) });
    const expected = row('{"::1":1}', '{"REDACTED":1}');
    expect(JSON.parse(redacted.toString())).toEqual([expected, expected]);
    expect(jsonColumnsOf(columns.slice(1, 2))).toBeUndefined();
  });

  test('its keys and shape stay, whatever it holds', () => {
    const personal = fc.constantFrom('10.0.0.1', '"::1"', 'a@b.com', '\\', 'x', '__proto__');
    const json = fc.letrec(tie => ({
      value: fc.oneof(personal, fc.double(), fc.constant(null), fc.array(tie('value')), fc.dictionary(personal, tie('value'))),
    })).value; // biome-ignore format: one value
    fc.assert(
      fc.property(json, value => {
        const redacted = JSON.parse(inColumn(JSON.stringify(value)));
        expect(shape(redacted)).toEqual(shape(value));
        expect(JSON.stringify(redacted)).toBe(JSON.stringify(redactValues(value)));
      }),
    );
  });
});

/** The reference: the strings of a value redacted one by one. */
function redactValues(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? redactText(part) : part));
}

test('leaves the kinds that are switched off', () => {
  expect(redactRowsJson('["10.0.0.1","a@b.com"]', { kinds: ['email', 'bearer'] }).toString()).toBe(
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
