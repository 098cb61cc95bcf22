import type { Mutant } from './mutant.ts';

export const deadline: readonly Mutant[] = [];
