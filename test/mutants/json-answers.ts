import type { Mutant } from './mutant.ts';

export const jsonAnswers: readonly Mutant[] = [];
