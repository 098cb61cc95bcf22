import fc from 'fast-check';

/**
 * One seed for every property test, so that a run of CI says the same twice; `SEED=<n> npm test` looks elsewhere, and the
 * fuzz commands look at random. fast-check prints the seed of a failure.
 */
export const propertySeed = Number(process.env.SEED ?? 20_261_121);

fc.configureGlobal({ seed: propertySeed });
