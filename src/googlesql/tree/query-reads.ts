import type { BoundBody, BoundExpression, BoundFrom, BoundQuery } from './bound-tree.ts';
import { childrenOf } from './walk-bound-tree.ts';

/** A column, or a field of one: what GROUP BY of a path groups by. */
export function isPath(value: BoundExpression): boolean {
  return value.kind === 'column' || (value.kind === 'field' && isPath(value.of));
}

/** Paths by key: each once, in full length. */
type Paths = Map<string, BoundExpression>;

/** The paths of enclosing queries that the subqueries of an expression read, each once and in full length. */
export function pathsInSubqueries(expression: BoundExpression): Iterable<BoundExpression> {
  const paths: Paths = new Map();
  addOfSubqueries(expression, paths);
  return paths.values();
}

function addOfSubqueries(expression: BoundExpression, paths: Paths): void {
  if (expression.kind === 'subquery' || expression.kind === 'inQuery') addOfQuery(expression.query, paths);
  for (const child of childrenOf(expression)) addOfSubqueries(child, paths);
}

function addOfQuery(query: BoundQuery, paths: Paths): void {
  for (const [key, path] of pathsOutOf(query)) paths.set(key, path);
}

const knownPaths = new WeakMap<BoundQuery, Paths>();

/** The paths of enclosing queries that a query reads. They are found once, however many queries enclose it. */
function pathsOutOf(query: BoundQuery): Paths {
  const known = knownPaths.get(query);
  if (known) return known;
  const paths: Paths = new Map();
  const own = new Set<number>();
  addOfBody(query.body, paths, own);
  for (const { by } of query.orderBy) if (typeof by !== 'number') addOf(by, paths);
  for (const [key, path] of paths) if (own.has(relationOf(path))) paths.delete(key);
  knownPaths.set(query, paths);
  return paths;
}

/** @param own takes the relations of FROM */
function addOfBody(body: BoundBody, paths: Paths, own: Set<number>): void {
  if (body.kind === 'query') addOfQuery(body.query, paths);
  else if (body.kind === 'setOperation') for (const part of body.parts) addOfBody(part.body, paths, own);
  else {
    const { items, from, where, groupBy = [], having, qualify } = body;
    for (const value of [...items, where, ...groupBy, having, qualify]) if (value) addOf(value, paths);
    if (from) addOfFrom(from, paths, own);
  }
}

function addOfFrom(from: BoundFrom, paths: Paths, own: Set<number>): void {
  if (from.kind === 'join') {
    addOfFrom(from.left, paths, own);
    addOfFrom(from.right, paths, own);
  } else own.add(from.relation);
  if (from.kind === 'derived') addOfQuery(from.query, paths);
  if (from.kind === 'unnest') {
    addOf(from.array, paths);
    if (from.input) addOfFrom(from.input, paths, own);
  }
  if ('on' in from && from.on) addOf(from.on, paths);
}

function addOf(expression: BoundExpression, paths: Paths): void {
  if (isPath(expression)) {
    paths.set(pathKey(expression), expression);
    return;
  }
  if (expression.kind === 'subquery' || expression.kind === 'inQuery') addOfQuery(expression.query, paths);
  for (const child of childrenOf(expression)) addOf(child, paths);
}

/** No name holds NUL. */
function pathKey(path: BoundExpression): string {
  if (path.kind === 'field') return `${pathKey(path.of)}\0${path.name}`;
  return path.kind === 'column' ? `${path.relation}.${path.index}` : '';
}

function relationOf(path: BoundExpression): number {
  if (path.kind === 'field') return relationOf(path.of);
  return path.kind === 'column' ? path.relation : 0;
}

/** For each outermost subquery in an expression, the relations of enclosing queries that it reads; the operand of IN counts as part of it. */
export function relationsInSubqueries(expression: BoundExpression): readonly ReadonlySet<number>[] {
  if (expression.kind !== 'subquery' && expression.kind !== 'inQuery')
    return childrenOf(expression).flatMap(relationsInSubqueries);
  const paths: Paths = new Map();
  addOf(expression, paths);
  return [new Set([...paths.values()].map(relationOf))];
}

/** Whether something in a FROM clause reads an enclosing query. */
export function readsAround(from: BoundFrom): boolean {
  const paths: Paths = new Map();
  const own = new Set<number>();
  addOfFrom(from, paths, own);
  return [...paths.values()].some(path => !own.has(relationOf(path)));
}

/** The relations of a FROM clause. */
export function relationsOf(from: BoundFrom | undefined): Set<number> {
  const found = new Set<number>();
  const visit = (item: BoundFrom | undefined): void => {
    if (!item) return;
    if (item.kind === 'join') {
      visit(item.left);
      visit(item.right);
      return;
    }
    found.add(item.relation);
    if (item.kind === 'unnest') visit(item.input);
  };
  visit(from);
  return found;
}
