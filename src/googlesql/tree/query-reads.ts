import {
  type BoundBody,
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  childrenOf,
} from './bound-tree.ts';

/** A column, or a field of one: what GROUP BY of a path groups by. */
export function isPath(value: BoundExpression): boolean {
  return value.kind === 'column' || (value.kind === 'field' && isPath(value.of));
}

/** The paths that the subqueries of an expression read, each as far as it goes; columns of queries around them are among these. */
export function* pathsInSubqueries(expression: BoundExpression): Iterable<BoundExpression> {
  if (expression.kind === 'subquery' || expression.kind === 'inQuery') yield* pathsInQuery(expression.query);
  for (const child of childrenOf(expression)) yield* pathsInSubqueries(child);
}

function* pathsInQuery({ body, orderBy }: BoundQuery): Iterable<BoundExpression> {
  yield* pathsInBody(body);
  for (const { by } of orderBy) if (typeof by !== 'number') yield* pathsIn(by);
}

function* pathsInBody(body: BoundBody): Iterable<BoundExpression> {
  if (body.kind === 'query') yield* pathsInQuery(body.query);
  else if (body.kind === 'setOperation') for (const part of body.parts) yield* pathsInBody(part.body);
  else {
    const { items, from, where, groupBy = [], having, qualify } = body;
    for (const value of [...items, where, ...groupBy, having, qualify]) if (value) yield* pathsIn(value);
    if (from) yield* pathsInFrom(from);
  }
}

function* pathsInFrom(from: BoundFrom): Iterable<BoundExpression> {
  if (from.kind === 'derived') yield* pathsInQuery(from.query);
  if (from.kind === 'join') {
    yield* pathsInFrom(from.left);
    yield* pathsInFrom(from.right);
  }
  if (from.kind === 'unnest') {
    yield* pathsIn(from.array);
    if (from.input) yield* pathsInFrom(from.input);
  }
  if ('on' in from && from.on) yield* pathsIn(from.on);
}

function* pathsIn(expression: BoundExpression): Iterable<BoundExpression> {
  if (isPath(expression)) {
    yield expression;
    return;
  }
  if (expression.kind === 'subquery' || expression.kind === 'inQuery') yield* pathsInQuery(expression.query);
  for (const child of childrenOf(expression)) yield* pathsIn(child);
}
