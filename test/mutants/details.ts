import type { Mutant } from './mutant.ts';

export const details: readonly Mutant[] = [];
