import type { BoundExpression } from './bound-tree.ts';
import { childrenOf } from './walk-bound-tree.ts';

const harmlessKinds: ReadonlySet<string> = new Set([
  ...['literal', 'null', 'parameter', 'now', 'column', 'field', 'struct', 'array', 'arrayLength'],
  ...['isNull', 'case', 'let', 'named', 'try', 'jsonValue'],
]);

const harmlessCalls: ReadonlySet<string> = new Set([
  ...['AND', 'OR', 'NOT', '=', '!=', '<', '<=', '>', '>=', 'IS TRUE', 'IS FALSE', 'IS NOT TRUE'],
  ...['IS DISTINCT FROM', 'IN', 'IN UNNEST', 'IF', 'IFNULL', 'COALESCE', 'NULLIF'],
  ...['STARTS_WITH', 'ENDS_WITH', 'LENGTH', 'JSON_VALUE', 'CONCAT', '||'],
  ...['COUNT', 'COUNTIF', 'MIN', 'MAX', 'ANY_VALUE', 'LOGICAL_OR', 'LOGICAL_AND', 'ARRAY_AGG', 'STRING_AGG'],
]);

/** Calls that fail only for a bad pattern, which the binder refuses if it is a constant. */
const patternCalls: ReadonlySet<string> = new Set(['LIKE', 'REGEXP_CONTAINS']);

/** Whether the calculation of a value may fail in some row; its subqueries count as such. */
export function mayFailItself(value: BoundExpression): boolean {
  if (value.kind === 'try') return false;
  return !isHarmless(value) || childrenOf(value).some(mayFailItself);
}

function isHarmless(value: BoundExpression): boolean {
  if (value.kind !== 'call' && value.kind !== 'aggregate') return harmlessKinds.has(value.kind);
  return (
    harmlessCalls.has(value.name) || (patternCalls.has(value.name) && value.arguments[1]?.kind === 'literal')
  );
}
