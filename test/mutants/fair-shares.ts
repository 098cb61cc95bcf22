import type { Mutant } from './mutant.ts';

export const fairShares: readonly Mutant[] = [];
