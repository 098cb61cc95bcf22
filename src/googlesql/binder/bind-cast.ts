import { castWithFormat } from '../functions/cast-format.ts';
import { operator } from '../functions/operators.ts';
import { type BoundExpression, unsupportedCall } from '../tree/bound-tree.ts';
import { cast, coerce } from '../tree/coercion.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { type SqlType, scalar } from '../tree/types.ts';
import { typeOfSyntax } from './bind-nested.ts';

type Bind = (expression: Expression) => BoundExpression;

/** `CAST(x AS type)`, also to `STRING(10)` or with a FORMAT. */
export function bindCast(bind: Bind, syntax: Extract<Expression, { kind: 'cast' }>): BoundExpression {
  const { to, safe, at, format = [] } = syntax;
  const type = typeOfSyntax(to);
  const of = bind(syntax.of);
  const [form, zone] = format.map(text => coerce(bind(text), scalar('STRING'), text.at));
  const value = form
    ? castWithFormat(of, { to: type, safe, format: form, zone, at })
    : cast(of, type, safe, at);
  const limits = to.kind === 'scalar' ? (to.limits ?? []) : [];
  if (limits.length > 0) checkLimits(type, limits, at);
  if (limits.length === 0) return value;
  return unsupportedCall(onlyOnWarehouse('CAST to a type with limits', at).reason, type, [value]);
}

/** `INTERVAL 1 DAY`, and `INTERVAL '1:30' HOUR TO MINUTE`. */
export function bindInterval(bind: Bind, syntax: Extract<Expression, { kind: 'interval' }>): BoundExpression {
  const { part, to, at } = syntax;
  const of = bind(syntax.of);
  if (to === undefined) return operator(`INTERVAL ${part}`, [of], at);
  const [first, last] = [intervalParts.indexOf(part), intervalParts.indexOf(to)];
  if (first < 0 || last <= first || of.type.kind !== 'STRING')
    throw invalidQuery(`INTERVAL ${part} TO ${to} takes a STRING, and a part after the first`, at);
  return unsupportedCall(onlyOnWarehouse('INTERVAL with two parts', at).reason, scalar('INTERVAL'), [of]);
}

const intervalParts = ['YEAR', 'MONTH', 'DAY', 'HOUR', 'MINUTE', 'SECOND'];

function checkLimits(type: SqlType, limits: readonly Expression[], at: Expression['at']): void {
  const most = { STRING: 1, BYTES: 1, NUMERIC: 2, BIGNUMERIC: 2 }[type.kind as string] ?? 0;
  const areNumbers = limits.every(limit => limit.kind === 'literal' && limit.type === 'INT64');
  if (limits.length <= most && areNumbers) return;
  throw invalidQuery(`${type.kind} takes at most ${most} limits, which are integer literals`, at);
}
