import type { CaseGroup } from './case-group.ts';
import { aggregateCases } from './cases-aggregates.ts';
import { arrayCases } from './cases-arrays.ts';
import { branchCases } from './cases-branches.ts';
import { bytesAndNameCases } from './cases-bytes-and-names.ts';
import { castFormatCases } from './cases-cast-formats.ts';
import { castCases } from './cases-casts.ts';
import { conditionCases } from './cases-conditions.ts';
import { edgeCases } from './cases-edges.ts';
import { evaluationCases } from './cases-evaluation.ts';
import { exactAggregateCases } from './cases-exact-aggregates.ts';
import { formatFunctionCases } from './cases-format-function.ts';
import { formatCases } from './cases-formats.ts';
import { groupingSetCases } from './cases-grouping-sets.ts';
import { guardCases } from './cases-guards.ts';
import { intervalCases } from './cases-intervals.ts';
import { joinCases } from './cases-joins.ts';
import { jsonCases } from './cases-json.ts';
import { jsonValueCases } from './cases-json-values.ts';
import { letCases } from './cases-lets.ts';
import { logAnalyticsCases } from './cases-log-analytics.ts';
import { modifierCases } from './cases-modifiers.ts';
import { nestedComparisonCases } from './cases-nested-comparisons.ts';
import { numberCases } from './cases-numbers.ts';
import { numericCases } from './cases-numeric.ts';
import { patternCases } from './cases-patterns.ts';
import { pivotCases } from './cases-pivots.ts';
import { queryCases } from './cases-queries.ts';
import { rangeCases } from './cases-ranges.ts';
import { recursionCases } from './cases-recursion.ts';
import { setOperationCases } from './cases-set-operations.ts';
import { sketchCases } from './cases-sketches.ts';
import { sliceCases } from './cases-slices.ts';
import { textFunctionCases } from './cases-text-functions.ts';
import { textCases } from './cases-texts.ts';
import { timeFormatCases } from './cases-time-formats.ts';
import { timeKindCases } from './cases-time-kinds.ts';
import { timeCases } from './cases-times.ts';
import { valueTableCases } from './cases-value-tables.ts';
import { windowCases } from './cases-windows.ts';
import { withExpressionCases } from './cases-with-expressions.ts';
import { zoneCases } from './cases-zones.ts';
import { unitCases } from './unit-cases.ts';

/** Every group of written cases, by what it is about. */
export const caseGroups: readonly (readonly [string, CaseGroup])[] = [
  ['numbers', numberCases],
  ['exact numbers', numericCases],
  ['casts', castCases],
  ['casts by a format', castFormatCases],
  ['BYTES and names', bytesAndNameCases],
  ['named values', letCases],
  ['texts', textCases],
  ['functions of texts', textFunctionCases],
  ['patterns', patternCases],
  ['json', jsonCases],
  ['json values', jsonValueCases],
  ['aggregates', aggregateCases],
  ['sketches', sketchCases],
  ['log analytics', logAnalyticsCases],
  ['exact aggregates', exactAggregateCases],
  ['arrays', arrayCases],
  ['slices and parts', sliceCases],
  ['conditions', conditionCases],
  ['formats', formatCases],
  ['formats of times', timeFormatCases],
  ['the function FORMAT', formatFunctionCases],
  ['times', timeCases],
  ['kinds of times', timeKindCases],
  ['units', unitCases],
  ['intervals', intervalCases],
  ['ranges', rangeCases],
  ['WITH expressions', withExpressionCases],
  ['zones', zoneCases],
  ['edges', edgeCases],
  ['branches', branchCases],
  ['guarded subqueries', guardCases],
  ['evaluation', evaluationCases],
  ['value tables', valueTableCases],
  ['comparisons of STRUCT and ARRAY', nestedComparisonCases],
  ['windows', windowCases],
  ['joins', joinCases],
  ['queries', queryCases],
  ['modifiers', modifierCases],
  ['recursion', recursionCases],
  ['pivots', pivotCases],
  ['grouping sets', groupingSetCases],
  ['set operations', setOperationCases],
];
