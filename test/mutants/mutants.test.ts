import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { groups } from './mutants.ts';

const read = (path: string) => readFileSync(path, 'utf8');

describe.each(Object.entries(groups))('%s', (_group, mutants) => {
  test.each(mutants)('$promise: the text to break occurs once, and the test exists', mutant => {
    expect(read(mutant.file).split(mutant.find)).toHaveLength(2);
    expect(mutant.replace).not.toBe(mutant.find);
    expect(read(mutant.test[0])).toContain(mutant.test[1]);
  });
});
