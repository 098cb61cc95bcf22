import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createJsonReader, longBytes } from '../../../src/bigquery/answers/json-reader.ts';
import { createValueBuilder } from '../../../src/bigquery/answers/value-builder.ts';

/** What the reader makes of a text that arrives in chunks, cut at the places given. */
function read(text: Buffer, cuts: readonly number[]): unknown {
  const builder = createValueBuilder();
  const reader = createJsonReader(builder);
  const places = [...cuts.map(cut => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  let from = 0;
  for (const to of places) {
    reader.push(text.subarray(from, to));
    from = to;
  }
  reader.end();
  return builder.value();
}

const cuts = fc.array(fc.nat(), { maxLength: 8 });
const space = fc.constantFrom(undefined, 1, '\t', '\n \r');

test('reads what JSON.parse reads, wherever the text is cut', () => {
  const value = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });
  fc.assert(
    fc.property(value, space, cuts, (given, white, places) => {
      const text = JSON.stringify(given, undefined, white);
      expect(read(Buffer.from(text), places)).toEqual(JSON.parse(text));
    }),
    { numRuns: 2000 },
  );
});

test('reads escapes of every kind, wherever the text is cut', () => {
  const part = fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u00e9', '\\ud83d\\ude00', 'é', 'x', '😀');
  fc.assert(
    fc.property(fc.array(part), cuts, (parts, places) => {
      const text = `{"${parts.join('')}":["${parts.join('')}"]}`;
      expect(read(Buffer.from(text), places)).toEqual(JSON.parse(text));
    }),
    { numRuns: 2000 },
  );
});

test('reads long texts and long names, wherever the text is cut', () => {
  const part = fc.constantFrom('', 'x', '\u007f', '\\n', 'é');
  fc.assert(
    fc.property(part, part, cuts, (before, after, places) => {
      const long = `${before}${'a'.repeat(longBytes)}${after}`;
      const text = `{"${long}":["${long}","${before}"]}`;
      expect(read(Buffer.from(text), places)).toEqual(JSON.parse(text));
    }),
  );
});

test('refuses what JSON.parse refuses', () => {
  const character = fc.constantFrom(...'{}[]:,"\\ 01.-+eEtruefalsnul');
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), cuts, (text, places) => {
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        expect(() => read(Buffer.from(text), places)).toThrow(SyntaxError);
        return;
      }
      expect(read(Buffer.from(text), places)).toEqual(expected);
    }),
    { numRuns: 20_000 },
  );
});

test('a member named __proto__ is a member', () => {
  expect(Object.keys(read(Buffer.from('{"__proto__":{"a":1}}'), []) as object)).toEqual(['__proto__']);
});

test('a string of many escapes far from its end is read in one pass', () => {
  // One search for the end per escape would look at 10^9 bytes here, and take seconds.
  const text = Buffer.from(`["${'\\n'.repeat(32_000)}${'x'.repeat(64_000)}"]`);
  const reader = createJsonReader(createValueBuilder());
  let looked = 0;
  const indexOf = text.indexOf.bind(text);
  text.indexOf = ((byte: number, from: number) => {
    const found = indexOf(byte, from);
    looked += (found === -1 ? text.length : found) - from;
    return found;
  }) as typeof text.indexOf;
  reader.push(text);
  reader.end();
  expect(looked).toBeLessThan(3 * text.length);
});
