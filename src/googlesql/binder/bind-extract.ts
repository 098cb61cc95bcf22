import { extractTemplate } from '../functions/times/date-parts.ts';
import { extractFromInterval } from '../functions/times/functions-interval.ts';
import { civilTime, timeCall, zoneForm } from '../functions/times/time-arguments.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { typeName } from '../tree/types.ts';

/** `EXTRACT(part FROM value [AT TIME ZONE zone])`. */
export function bindExtract(
  bind: (expression: Expression) => BoundExpression,
  syntax: Extract<Expression, { kind: 'extract' }>,
): BoundExpression {
  const of = bind(syntax.of);
  const isZoned = of.type.kind === 'TIMESTAMP';
  if (!isZoned && syntax.zone)
    throw invalidQuery('EXTRACT supports AT TIME ZONE for TIMESTAMP only', syntax.at);
  if (of.type.kind === 'INTERVAL') return extractFromInterval(syntax.part, of, syntax.at);
  if (!['TIMESTAMP', 'DATETIME', 'DATE', 'TIME'].includes(of.type.kind)) {
    throw invalidQuery(`EXTRACT is not supported for type ${typeName(of.type)}`, syntax.at);
  }
  if (of.type.kind === 'DATETIME' && syntax.part === 'DATETIME')
    throw invalidQuery('EXTRACT from DATETIME does not support the DATETIME date part', syntax.at);
  const value = isZoned ? civilTime(of, zoneForm(syntax.zone && bind(syntax.zone), syntax.at)) : of;
  const { template, type } = extractTemplate(
    { name: syntax.part, weekday: syntax.weekday },
    value.type.kind,
    syntax.at,
  );
  return timeCall('EXTRACT', template, [value], type);
}
