import type { Mutant } from './mutant.ts';

export const eventLoop: readonly Mutant[] = [];
