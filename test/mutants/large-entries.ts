import type { Mutant } from './mutant.ts';

export const largeEntries: readonly Mutant[] = [];
