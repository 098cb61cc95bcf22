import { describe, expect, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import type { Entry } from '../../src/cache/entry.ts';
import { createLocalEntries } from '../../src/cache/local-entries.ts';

const entryOf = (columns: number, bodyBytes: number): Entry => ({
  version: 'v',
  canonical: '[]',
  generation: '',
  createdAtMs: 0,
  loadMs: 1,
  isWarmed: false,
  columns: Array.from(
    { length: columns },
    (_, n): Column => ({ name: `c${n}`, type: 'STRING', mode: 'NULLABLE' }),
  ),
  rowCount: 1,
  isTruncated: false,
  bodyDigest: 'd',
  body: Buffer.alloc(bodyBytes),
});
const keyOf = (n: number) => ({ group: 'g', digest: String(n), canonical: '[]' });

/** How many of some entries a cache of a megabyte keeps. */
function keptOf(entry: Entry): number {
  const entries = createLocalEntries(1024 * 1024);
  const keys = Array.from({ length: 500 }, (_, n) => keyOf(n));
  for (const key of keys) entries.keep(key, entry, { isCompared: true });
  return keys.filter(key => entries.get(key)).length;
}

test('contract 11.3: entries are kept by the memory that they take, bodies in two forms and columns among it', () => {
  expect(keptOf(entryOf(1, 100))).toBe(500);
  expect(keptOf(entryOf(1, 100_000))).toBe(5);
  // An object for each column takes more than a row of theirs.
  expect(keptOf(entryOf(5000, 100))).toBe(1);
});

describe('the generations of groups', () => {
  test('a read that began before an invalidation says nothing about it, and is no loss of the store', () => {
    const { generations } = createLocalEntries(0);
    const learn = generations.startRead();
    generations.set('group', 'second');
    expect(learn('group', 'first')).toBe(true);
    expect(learn('group', '')).toBe(true);
    expect(generations.of('group')).toBe('second');
  });

  test('a read that was faster than the messages about two invalidations is no loss of the store', () => {
    const { generations } = createLocalEntries(0);
    generations.set('group', 'first');
    expect(generations.startRead()('group', 'third')).toBe(true);
    generations.set('group', 'second');
    generations.set('group', 'third');
    expect(generations.startRead()('group', 'third')).toBe(true);
    expect(generations.startRead()('group', 'second')).toBe(false);
    expect(generations.of('group')).toBe('third');
  });
});
