import type { BoundExpression, BoundOrder, BoundQuery } from './bound-tree.ts';

/** The expressions directly inside one, not those in a subquery. */
export function childrenOf(expression: BoundExpression): readonly BoundExpression[] {
  const children: BoundExpression[] = [];
  mapChildren(expression, child => {
    children.push(child);
    return child;
  });
  return children;
}

const knownSizes = new WeakMap<BoundExpression, number>();

/** The number of expressions in a value, including itself, but not those in a subquery. */
export function sizeOf(expression: BoundExpression): number {
  const children = childrenOf(expression);
  if (children.length === 0) return 1;
  const size = knownSizes.get(expression) ?? children.reduce((sum, child) => sum + sizeOf(child), 1);
  knownSizes.set(expression, size);
  return size;
}

/** The same expression with other children; one without children is returned unchanged, including `named`, which refers to a value by identity. */
export function mapChildren(
  expression: BoundExpression,
  map: (child: BoundExpression) => BoundExpression,
): BoundExpression {
  switch (expression.kind) {
    case 'field':
    case 'arrayLength':
    case 'cast':
    case 'isNull':
    case 'try':
    case 'jsonValue':
    case 'inQuery':
      return { ...expression, of: map(expression.of) };
    case 'element':
      return { ...expression, of: map(expression.of), index: map(expression.index) };
    case 'struct':
      return { ...expression, values: expression.values.map(map) };
    case 'array':
      return { ...expression, elements: expression.elements.map(map) };
    case 'call':
      return { ...expression, arguments: expression.arguments.map(map) };
    case 'aggregate': {
      const { over } = expression;
      return {
        ...expression,
        arguments: expression.arguments.map(map),
        orderBy: mapOrder(expression.orderBy, map),
        over: over && {
          ...over,
          partitionBy: over.partitionBy.map(map),
          orderBy: mapOrder(over.orderBy, map),
        },
        filter: expression.filter && map(expression.filter),
      };
    }
    case 'case':
      return {
        ...expression,
        branches: expression.branches.map(({ when, result }) => ({ when: map(when), result: map(result) })),
        otherwise: expression.otherwise && map(expression.otherwise),
      };
    case 'let':
      return { ...expression, values: expression.values.map(map), body: map(expression.body) };
    default:
      return expression;
  }
}

function mapOrder(
  items: readonly BoundOrder[],
  map: (child: BoundExpression) => BoundExpression,
): readonly BoundOrder[] {
  return items.map(item => (typeof item.by === 'number' ? item : { ...item, by: map(item.by) }));
}

/** Whether a subquery is in an expression. */
export function holdsSubquery(expression: BoundExpression): boolean {
  if (expression.kind === 'subquery' || expression.kind === 'inQuery') return true;
  return childrenOf(expression).some(holdsSubquery);
}

const knownConstants = new WeakMap<BoundExpression, boolean>();

/** Whether a value is the same in every row. */
export function isConstant(value: BoundExpression): boolean {
  if (value.kind === 'named') {
    // A long value may be named often.
    const known = knownConstants.get(value.value) ?? isConstant(value.value);
    knownConstants.set(value.value, known);
    return known;
  }
  return (
    !['column', 'subquery', 'inQuery', 'aggregate'].includes(value.kind) &&
    childrenOf(value).every(isConstant)
  );
}

/** An analytic call is no aggregation, but its arguments may hold one. */
export function holdsAggregate(expression: BoundExpression): boolean {
  if (expression.kind === 'aggregate' && !expression.over) return true;
  return childrenOf(expression).some(holdsAggregate);
}

/** Whether an analytic call is in an expression. */
export function holdsAnalytic(expression: BoundExpression): boolean {
  if (expression.kind === 'aggregate' && expression.over) return true;
  return childrenOf(expression).some(holdsAnalytic);
}

/** Whether a query has at most one row. */
export function givesOneRow({ body, limit }: BoundQuery): boolean {
  if (limit === 0 || limit === 1) return true;
  return body.kind === 'select' && (!body.from || (!body.groupBy && body.items.some(holdsAggregate)));
}

/** Whether an aggregate or analytic call is in an expression. */
export function holdsAnyAggregate(expression: BoundExpression): boolean {
  return expression.kind === 'aggregate' || childrenOf(expression).some(holdsAnyAggregate);
}
