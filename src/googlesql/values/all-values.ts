import { bitValues } from './bit-values.ts';
import type { EngineFunctions } from './engine-function.ts';
import { floatValues } from './float-values.ts';
import { numericValues } from './numeric-values.ts';

/** Every function that runs in the engine process. */
export const engineFunctions: EngineFunctions = {
  ...bitValues,
  ...floatValues,
  ...numericValues,
};
