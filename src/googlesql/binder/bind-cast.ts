import { GatewayError, type SqlPosition } from '../../base/errors.ts';
import { operator } from '../functions/operators.ts';
import { castWithFormat } from '../functions/times/cast-format.ts';
import { anyIntervalLiteral, intervalLiteral } from '../functions/times/functions-interval.ts';
import { type BoundExpression, call, unsupportedCall } from '../tree/bound-tree.ts';
import { cast, coerce } from '../tree/coercion.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { isRange, type ScalarKind, type SqlType, scalar } from '../tree/types.ts';
import { bindLiteral } from './bind-literal.ts';
import { typeOfSyntax } from './bind-nested.ts';

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

/** Maximum digits of a NUMERIC before and after the point. */
const [maxWhole, maxScale] = [29, 9];

/**
 * Reads the limits of a type: the length of `STRING(10)`, precision and scale of `NUMERIC(10, 2)`.
 * @throws GatewayError `invalid_query` for a type that takes none, or not these
 */
function readLimits(type: SqlType, limits: readonly Expression[], at: SqlPosition): readonly bigint[] {
  const { kind } = type;
  const numbers = limits.map(limit => {
    if (limit.kind === 'literal' && limit.type === 'INT64') return BigInt(limit.value);
    throw invalidQuery(`Limits of ${kind} must be integer literals`, at);
  });
  const [first, second] = numbers;
  if (first === undefined || kind === 'BIGNUMERIC') return numbers;
  if (kind === 'STRING' || kind === 'BYTES') {
    if (numbers.length > 1)
      throw invalidQuery(`${kind} type can only have one parameter. Found ${numbers.length} parameters`, at);
    if (first < 1n) throw invalidQuery(`${kind} length must be greater than 0`, at);
    return numbers;
  }
  if (kind !== 'NUMERIC') throw invalidQuery(`${kind} does not support type parameters`, at);
  const scale = second ?? 0n;
  const written = second === undefined ? 'NUMERIC(P)' : `NUMERIC(P, ${second})`;
  if (numbers.length > 2)
    throw invalidQuery(
      `NUMERIC type can only have 1 or 2 parameters. Found ${numbers.length} parameters`,
      at,
    );
  if (scale > maxScale) throw invalidQuery(`In NUMERIC(P, S), S must be between 0 and ${maxScale}`, at);
  const least = scale > 1n ? scale : 1n;
  const most = BigInt(maxWhole) + scale;
  if (first < least || first > most)
    throw invalidQuery(`In ${written}, P must be between ${least} and ${most}`, at);
  return numbers;
}

/**
 * A value within the limits of its type: a NUMERIC is rounded to its scale; one that does not fit fails the query, with SAFE_CAST too.
 * Source: GoogleSQL, "Parameterized data types", and its reference implementation.
 */
function withinLimits(value: BoundExpression, limits: readonly bigint[]): BoundExpression {
  const { kind } = value.type;
  const [first = 0n, scale = 0n] = limits;
  const written = `${kind}(${limits.join(', ')})`;
  if (kind === 'STRING' || kind === 'BYTES') {
    const [length, stored] = kind === 'STRING' ? ['length($1)', 'varchar'] : ['octet_length($1)', 'blob'];
    const message = `'${written} has maximum length ${first} but got a value with length ' || ${length}`;
    return call(
      'CAST',
      `(case when ${length} > ${first} then cast(bq_fail_text(${message}) as ${stored}) else $1 end)`,
      [value],
      value.type,
    );
  }
  const most = greatest(Number(first), Number(scale));
  const message = `${written} has precision ${first} and scale ${scale} but got a value that is not in range of [-${most}, ${most}]`;
  const rounded = call('ROUND', `bq_numeric_round($1, ${scale})`, [value], value.type);
  return call(
    'CAST',
    `(case when abs($1) > cast('${most}' as decimal(38, 9)) then cast(bq_fail('${message}') as decimal(38, 9)) else $1 end)`,
    [rounded],
    value.type,
  );
}

/** The greatest number of a precision and scale: `999.99` for 5 and 2. */
function greatest(precision: number, scale: number): string {
  const whole = '9'.repeat(precision - scale) || '0';
  return scale > 0 ? `${whole}.${'9'.repeat(scale)}` : whole;
}
