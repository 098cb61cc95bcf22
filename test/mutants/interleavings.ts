import type { Mutant } from './mutant.ts';

export const interleavings: readonly Mutant[] = [];
