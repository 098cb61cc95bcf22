import { bitValues } from './bit-values.ts';
import type { EngineFunctions } from './engine-function.ts';
import { floatValues } from './float-values.ts';
import { jsonAccess } from './json-access.ts';
import { jsonChange } from './json-change.ts';
import { numberFormats } from './number-formats.ts';
import { numericValues } from './numeric-values.ts';
import { sqlLiterals } from './sql-literals.ts';

/** Every function that runs in the engine process. */
export const engineFunctions: EngineFunctions = {
  ...bitValues,
  ...floatValues,
  ...jsonAccess,
  ...jsonChange,
  ...numberFormats,
  ...numericValues,
  ...sqlLiterals,
};
