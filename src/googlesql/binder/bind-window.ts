import type { SqlPosition } from '../../base/errors.ts';
import { holdsKind } from '../functions/nested-comparison.ts';
import type { BindContext } from '../tree/bind-context.ts';
import type { BoundExpression, BoundFrameBound, BoundOrder, BoundWindow } from '../tree/bound-tree.ts';
import { coerce } from '../tree/coercion.ts';
import { foldName } from '../tree/scope.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import { canonical } from '../tree/storage.ts';
import type {
  Expression,
  FrameBound,
  OrderItem,
  Select,
  WindowFrame,
  WindowSpec,
} from '../tree/syntax-tree.ts';
import { type SqlType, scalar, typeName } from '../tree/types.ts';
import { holdsSubquery } from '../tree/walk-bound-tree.ts';
import { orderTerm, refuseOrder } from './order-term.ts';

type BoundFrame = NonNullable<BoundWindow['frame']>;

/** Binds the OVER clause of an analytic call, and checks it against the function. */
export function bindWindow(
  context: BindContext,
  name: string,
  spec: WindowSpec,
  at: SqlPosition,
): BoundWindow {
  const window = joinWindows(context, spec, at);
  checkWindow(name, window, at);
  return window;
}

/**
 * Binds the windows that no OVER uses, to check their content: BigQuery ignores them, but no part of a text may go
 * unchecked.
 */
export function bindUnusedWindows(context: BindContext, { windows }: Select): void {
  for (const { spec, name } of windows.toReversed())
    if (!context.statement.usedWindows.has(spec)) joinWindows(context, spec, name.at);
}

/** Joins an OVER clause with the named window that it refines. */
function joinWindows(context: BindContext, spec: WindowSpec, at: SqlPosition): BoundWindow {
  const inner = spec.base && context.windows.get(foldName(spec.base.name));
  if (spec.base && !inner) throw invalidQuery(`Unrecognized window alias ${spec.base.name}`, spec.base.at);
  if (spec.base && spec.partitionBy.length > 0) {
    throw invalidQuery('A window with PARTITION BY cannot refer to a named window', spec.base.at);
  }
  if (inner) {
    context.statement.usedWindows.add(inner);
    context.statement.count('expressions', 1, at);
  }
  const base = inner && joinWindows(context, inner, at);
  // No window inside a window: each would bind again those that it refers to.
  const inside = { ...context, windows: new Map() };
  const own = bindCallOrder(inside, spec.orderBy);
  if (base && base.orderBy.length > 0 && own.length > 0)
    throw invalidQuery(
      'If a window inherits an ORDER BY from its referenced window, it cannot have an inline ORDER BY',
      at,
    );
  if (base?.frame && (own.length > 0 || spec.frame))
    throw invalidQuery(
      'If a window has an inline ORDER BY or window frame clause, it cannot reference another window that contains or inherits a window frame clause',
      at,
    );
  const orderBy = own.length > 0 || !base ? own : base.orderBy;
  return {
    partitionBy: base?.partitionBy ?? spec.partitionBy.map(expression => bindPartition(inside, expression)),
    orderBy,
    frame: spec.frame ? bindFrame(context, spec.frame, orderBy) : base?.frame,
  };
}

/** The bounds of a frame; a distance of a RANGE is measured along its only key, and has its type. */
function bindFrame(
  context: BindContext,
  { unit, start, end }: WindowFrame,
  orderBy: readonly BoundOrder[],
): BoundFrame {
  const key = orderBy.length === 1 ? orderBy[0]!.by : undefined;
  const type = unit === 'RANGE' && typeof key === 'object' ? key.type : scalar('INT64');
  return {
    unit,
    start: bindFrameBound(context, start, type),
    end: end && bindFrameBound(context, end, type),
  };
}

function bindFrameBound(context: BindContext, bound: FrameBound, type: SqlType): BoundFrameBound {
  if (bound.kind !== 'PRECEDING' && bound.kind !== 'FOLLOWING') return { kind: bound.kind };
  const { distance } = bound;
  const isNumber = distance.kind === 'literal' && ['INT64', 'FLOAT64', 'NUMERIC'].includes(distance.type);
  const value = isNumber ? context.binder.expression(context, distance) : undefined;
  if (value?.kind !== 'literal' || value.value.startsWith('-'))
    throw invalidQuery('A window frame boundary must be a non-negative literal', distance.at);
  return { kind: bound.kind, distance: numericRange(type) ? coerce(value, type, distance.at) : value };
}

const numericRange = ({ kind }: SqlType): boolean => ['INT64', 'FLOAT64', 'NUMERIC'].includes(kind);

/** PARTITION BY does not accept FLOAT64, although GROUP BY does. */
function bindPartition(context: BindContext, expression: Expression): BoundExpression {
  const value = context.binder.expression(context, expression);
  if (holdsKind(value.type, 'FLOAT64') || holdsKind(value.type, 'JSON')) {
    throw invalidQuery(
      `Partitioning by expressions of type ${typeName(value.type)} is not allowed`,
      expression.at,
    );
  }
  return canonical(value, expression.at);
}

/** Functions that number rows or return another row: none of them allows a frame, and all but one require an order. */
const numbering: ReadonlySet<string> = new Set([
  ...['ROW_NUMBER', 'RANK', 'DENSE_RANK', 'PERCENT_RANK', 'CUME_DIST', 'NTILE', 'LAG', 'LEAD'],
]);
const percentiles: ReadonlySet<string> = new Set(['PERCENTILE_CONT', 'PERCENTILE_DISC']);
const positional: ReadonlySet<string> = new Set(['FIRST_VALUE', 'LAST_VALUE', 'NTH_VALUE']);

/** Refuses a window that its function does not allow. */
function checkWindow(name: string, { orderBy, frame }: BoundWindow, at: SqlPosition): void {
  const refuse = (what: string): never => {
    throw invalidQuery(`${what} for analytic function ${name}`, at);
  };
  const isPercentile = percentiles.has(name);
  if (frame && (numbering.has(name) || isPercentile)) refuse('Window framing clause is not allowed');
  if (isPercentile && orderBy.length > 0) refuse('Window ORDER BY is not allowed');
  const needsOrder = positional.has(name) || (numbering.has(name) && name !== 'ROW_NUMBER');
  if (needsOrder && orderBy.length === 0) refuse('Window ORDER BY is required');
  if (frame) checkFrame(frame, orderBy, at);
}

/** Refuses bounds that end before they start, and distances without an ordering key. */
function checkFrame({ unit, start, end }: BoundFrame, orderBy: readonly BoundOrder[], at: SqlPosition): void {
  const places = ['UNBOUNDED PRECEDING', 'PRECEDING', 'CURRENT ROW', 'FOLLOWING', 'UNBOUNDED FOLLOWING'];
  const [first, last] = [start.kind, end?.kind ?? 'CURRENT ROW'];
  if (first === 'UNBOUNDED FOLLOWING' || last === 'UNBOUNDED PRECEDING')
    throw invalidQuery(
      `A window frame cannot ${first === 'UNBOUNDED FOLLOWING' ? `start at ${first}` : `end at ${last}`}`,
      at,
    );
  if (places.indexOf(first) > places.indexOf(last))
    throw invalidQuery(`A window frame cannot start at ${first} and end at ${last}`, at);
  if (unit === 'RANGE' && orderBy.length === 0 && [first, last].includes('CURRENT ROW'))
    throw invalidQuery('A RANGE frame without ORDER BY cannot end or start at CURRENT ROW', at);
  if (unit === 'ROWS' || ![first, last].some(kind => kind === 'PRECEDING' || kind === 'FOLLOWING')) return;
  const [key, ...others] = orderBy;
  if (!key || others.length > 0)
    throw invalidQuery('A RANGE frame with a distance must have exactly one ORDER BY key', at);
  if (typeof key.by === 'number' || !numericRange(key.by.type))
    throw invalidQuery('The ORDER BY key of a RANGE frame with a distance must be numeric', at);
  for (const bound of [start, end])
    if (bound && 'distance' in bound && isTooFar(bound.distance))
      throw onlyOnWarehouse('A RANGE frame with so great a distance', at);
  // DuckDB fails to copy it.
  if (holdsSubquery(key.by))
    throw invalidQuery('A RANGE frame with a distance is not supported for a key with a subquery', at);
}

/** Whether a key and this distance may go beyond the type in which DuckDB adds them. */
function isTooFar(distance: BoundExpression): boolean {
  const literal = distance.kind === 'cast' ? distance.of : distance;
  const size = literal.kind === 'literal' ? Number(literal.value) : Number.POSITIVE_INFINITY;
  return size >= (greatest[distance.type.kind] ?? Number.POSITIVE_INFINITY);
}

/** In billionths, a key of 38 digits plus 7e37 still fits HUGEINT; adding less than 2^969 makes no finite FLOAT64 infinite. */
const greatest: Readonly<Record<string, number>> = { NUMERIC: 7e28, FLOAT64: 2 ** 969 };

/** ORDER BY inside a call or a window: expressions, never positions. */
export function bindCallOrder(context: BindContext, items: readonly OrderItem[]): readonly BoundOrder[] {
  return items.map(item => {
    const value = context.binder.expression(context, item.expression);
    refuseOrder(value.type, item.expression.at);
    return orderTerm(item, value);
  });
}
