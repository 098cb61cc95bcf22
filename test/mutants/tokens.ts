import type { Mutant } from './mutant.ts';

export const tokens: readonly Mutant[] = [];
