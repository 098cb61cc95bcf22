import type { Mutant } from './mutant.ts';

export const graphqlSize: readonly Mutant[] = [];
