import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CsvDialect, readCsvRecords } from '../../src/base/csv-records.ts';

async function* inParts(text: string, cuts: readonly number[]): AsyncIterable<string> {
  const ends = [...cuts.map(cut => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    yield text.slice(start, end);
    start = end;
  }
}

async function cellsOf(parts: AsyncIterable<string>, dialect: CsvDialect): Promise<string[][]> {
  const records: string[][] = [];
  for await (const { cells } of readCsvRecords(parts, dialect)) records.push([...cells]);
  return records;
}

const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', '\\', 'ß'), maxLength: 6 });
/** A record that is one empty value is an empty line. */
const record = fc.array(cell, { minLength: 1, maxLength: 4 }).filter(cells => cells.join('') !== '');

const dialects: Record<string, CsvDialect> = {
  'RFC 4180': { delimiter: ',', quote: '"', escape: '"' },
  'a backslash before quotes': { delimiter: ',', quote: '"', escape: '\\' },
};

test.each(Object.entries(dialects))(
  '%s: a text in parts has the records that were written',
  async (_, dialect) => {
    const { escape: escaping } = dialect;
    const written = (value: string) => `"${value.replaceAll('"', `${escaping}"`)}"`;
    // A backslash before the closing quote would be its escape.
    const isPlain = (value: string) => escaping === '"' || !/\\"|\\$/.test(value);
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat({ max: 200 }), { maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        async (records, cuts, lineEnd) => {
          fc.pre(records.flat().every(isPlain));
          const text = records.map(cells => cells.map(written).join(',') + lineEnd).join('');
          expect(await cellsOf(inParts(text, cuts), dialect)).toEqual(records);
        },
      ),
      { numRuns: 500 },
    );
  },
);
