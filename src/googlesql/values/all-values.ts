import { arrayValues } from './array-values.ts';
import { bitValues } from './bit-values.ts';
import { byteValues } from './byte-values.ts';
import { byteCasts } from './casts/byte-casts.ts';
import { numberCasts } from './casts/number-casts.ts';
import { numberTexts } from './casts/number-texts.ts';
import { timeCasts } from './casts/time-casts.ts';
import type { EngineFunctions } from './engine-function.ts';
import { floatValues } from './float-values.ts';
import { hllValues } from './hll-values.ts';
import { jsonAccess } from './json-access.ts';
import { jsonChange } from './json-change.ts';
import { netValues } from './net-values.ts';
import { numberFormats } from './number-formats.ts';
import { numericValues } from './numeric-values.ts';
import { regexpValues } from './regexp-values.ts';
import { sqlLiterals } from './sql-literals.ts';
import { textValues } from './text-values.ts';
import { timeFormats } from './times/time-formats.ts';
import { topSums } from './top-sums.ts';

/** Every function that runs in the engine process. */
export const engineFunctions: EngineFunctions = {
  ...arrayValues,
  ...bitValues,
  ...byteCasts,
  ...byteValues,
  ...floatValues,
  ...hllValues,
  ...jsonAccess,
  ...jsonChange,
  ...netValues,
  ...numberCasts,
  ...numberFormats,
  ...numberTexts,
  ...numericValues,
  ...regexpValues,
  ...sqlLiterals,
  ...textValues,
  ...timeCasts,
  ...timeFormats,
  ...topSums,
};
