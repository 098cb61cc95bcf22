import type { Mutant } from './mutant.ts';

export const endings: readonly Mutant[] = [];
