import type { SpecialFunction } from '../tree/bind-context.ts';
import { arrayRows } from './functions-array.ts';
import { conditionalRows } from './functions-conditional.ts';
import { floatRows } from './functions-float.ts';
import { jsonFunctions } from './functions-json.ts';
import { jsonValueFunctions, jsonValueRows } from './functions-json-values.ts';
import { mathRows } from './functions-math.ts';
import { numericRows } from './functions-numeric.ts';
import { sketchRows } from './functions-sketch.ts';
import { bytesRows, netRows } from './texts/functions-bytes.ts';
import { formatFunctions } from './texts/functions-format.ts';
import { stringFunctions, stringRows } from './texts/functions-string.ts';
import { textFunctions, textRows } from './texts/functions-text.ts';
import { clockFunctions } from './times/functions-clock.ts';
import { intervalFunctions, intervalRows } from './times/functions-interval.ts';
import { rangeRows } from './times/functions-range.ts';
import { timeFunctions, timeRows } from './times/functions-time.ts';

/** The rows of every scalar function. Together with `specialFunctions` and the aggregates this is the allow-list: no other function exists. */
export const scalarFunctionRows = [
  ...stringRows,
  ...textRows,
  ...bytesRows,
  ...netRows,
  ...mathRows,
  ...floatRows,
  ...numericRows,
  ...conditionalRows,
  ...arrayRows,
  ...jsonValueRows,
  ...timeRows,
  ...intervalRows,
  ...rangeRows,
  ...sketchRows,
];

/** Functions by name that bind their calls themselves. */
export const specialFunctions: Readonly<Record<string, SpecialFunction>> = {
  ...timeFunctions,
  ...clockFunctions,
  ...intervalFunctions,
  ...stringFunctions,
  ...jsonFunctions,
  ...jsonValueFunctions,
  ...formatFunctions,
  ...textFunctions,
};

/** BigQuery's functions of geography and encryption, which neither engine answers. */
export const refusedFunctions = /^(?:ST|S2|DLP|DETERMINISTIC)_/;
