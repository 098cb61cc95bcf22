import type { Mutant } from './mutant.ts';

export const slowClients: readonly Mutant[] = [];
