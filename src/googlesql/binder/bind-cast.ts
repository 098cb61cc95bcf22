import { GatewayError, type SqlPosition } from '../../base/errors.ts';
import { operator } from '../functions/operators.ts';
import { castWithFormat } from '../functions/times/cast-format.ts';
import { anyIntervalLiteral, intervalLiteral } from '../functions/times/functions-interval.ts';
import { type BoundExpression, unsupportedCall } from '../tree/bound-tree.ts';
import { cast, coerce } from '../tree/coercion.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { isRange, type ScalarKind, scalar } from '../tree/types.ts';
import { bindLiteral } from './bind-literal.ts';
import { typeOfSyntax } from './bind-nested.ts';
import { readLimits, withinLimits } from './type-limits.ts';

type Bind = (expression: Expression) => BoundExpression;

/** `CAST(x AS type)`, also to `STRING(10)` or with a FORMAT. */
export function bindCast(bind: Bind, syntax: Extract<Expression, { kind: 'cast' }>): BoundExpression {
  const { to, safe, at, format = [] } = syntax;
  const type = typeOfSyntax(to, at);
  const of = bind(syntax.of);
  const [form, zone] = format.map(text => coerce(bind(text), scalar('STRING'), text.at));
  const literal = !form && of.kind === 'literal' && of.type.kind === 'STRING' ? of.value : undefined;
  if (literal !== undefined && (type.kind === 'INTERVAL' || isRange(type.kind)))
    return castLiteral(literal, type.kind, safe, at);
  if (!form && of.type.kind === 'STRING' && (type.kind === 'INTERVAL' || isRange(type.kind)))
    return unsupportedCall(onlyOnWarehouse(`CAST to ${type.kind} of what is not constant`, at).reason, type, [
      of,
    ]);
  const value = form
    ? castWithFormat(of, { to: type, safe, format: form, zone, at })
    : // A FLOAT64 that is explicitly cast to FLOAT64 is no longer a literal, which would become a NUMERIC beside another one.
      of.kind === 'literal' && of.type.kind === 'FLOAT64' && type.kind === 'FLOAT64'
      ? ({ kind: 'cast', type, of, safe } as const)
      : cast(of, type, safe, at);
  const limits = to.kind === 'scalar' ? (to.limits ?? []) : [];
  if (limits.length === 0) return value;
  const numbers = readLimits(type, limits, at);
  if (type.kind === 'BIGNUMERIC')
    return unsupportedCall(onlyOnWarehouse('CAST to a type with limits', at).reason, type, [value]);
  return withinLimits(value, numbers);
}

/** `INTERVAL 1 DAY`, and `INTERVAL '1:30' HOUR TO MINUTE`. */
export function bindInterval(bind: Bind, syntax: Extract<Expression, { kind: 'interval' }>): BoundExpression {
  const { part, to, at } = syntax;
  const of = bind(syntax.of);
  if (to === undefined && of.type.kind !== 'STRING') return operator(`INTERVAL ${part}`, [of], at);
  // Digits alone: these two parts can't be in the text of a longer INTERVAL.
  if (
    to === undefined &&
    /^(?:WEEK|QUARTER)$/.test(part) &&
    of.kind === 'literal' &&
    /^[+-]?\d+$/.test(of.value)
  )
    return operator(`INTERVAL ${part}`, [cast(of, scalar('INT64'), false, at)], at);
  const last = to ?? part;
  const isUnit = intervalParts.includes(part) && intervalParts.indexOf(last) >= intervalParts.indexOf(part);
  if (!isUnit || of.type.kind !== 'STRING' || last === (to && part))
    throw invalidQuery(`INTERVAL ${part}${to ? ` TO ${to}` : ''} does not take this value`, at);
  if (of.kind === 'literal') return intervalLiteral(of.value, [part, last], at);
  return unsupportedCall(onlyOnWarehouse('INTERVAL of a STRING that is not constant', at).reason, interval, [
    of,
  ]);
}

/** CAST of a literal to INTERVAL or RANGE, whose text is parsed here. */
function castLiteral(text: string, kind: ScalarKind, safe: boolean, at: SqlPosition): BoundExpression {
  try {
    return isRange(kind)
      ? bindLiteral({ kind: 'literal', type: kind, value: text, at })
      : anyIntervalLiteral(text, at);
  } catch (error) {
    if (safe && error instanceof GatewayError) return { kind: 'null', type: scalar(kind) };
    throw error;
  }
}

const interval = scalar('INTERVAL');

const intervalParts = ['YEAR', 'MONTH', 'DAY', 'HOUR', 'MINUTE', 'SECOND'];
