import type { Mutant } from './mutant.ts';

export const allocation: readonly Mutant[] = [
  {
    promise: 'a process that keeps much after its runs is replaced',
    file: 'src/duckdb/kept-memory.ts',
    find: 'if (leftBytes > limitBytes) return true;',
    replace: '',
    test: ['test/duckdb/kept-memory.test.ts', 'what runs leave behind is much from 128 MB on'],
  },
];
