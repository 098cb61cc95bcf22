import {
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  childrenOf,
  holdsAnyAggregate,
  holdsSubquery,
  mapChildren,
} from '../tree/bound-tree.ts';
import { scalar } from '../tree/types.ts';

const bool = scalar('BOOL');

/**
 * Lets a subquery in a branch of CASE, IF, IFNULL or COALESCE see only the rows of the query around it that take the branch: DuckDB
 * joins subqueries before it looks at conditions, and one that nobody asks for would fail. Those that cannot fail stay as they are,
 * for a condition makes a join of its own; so do those below a condition that holds a subquery or an aggregate itself.
 */
export function guardBranches(expression: BoundExpression): BoundExpression {
  return holdsSubquery(expression) ? guarded(expression, []) : expression;
}

/** As `guardBranches`, of what aggregates take: the rest of a grouped query has no row to look at. */
export function guardAggregates(expression: BoundExpression): BoundExpression {
  if (expression.kind === 'aggregate' && !expression.over)
    return mapChildren(expression, child => guardBranches(child));
  return holdsSubquery(expression) ? mapChildren(expression, guardAggregates) : expression;
}

function guarded(expression: BoundExpression, conditions: readonly BoundExpression[]): BoundExpression {
  switch (expression.kind) {
    case 'case': {
      const before = [...conditions];
      const branches = expression.branches.map(({ when, result }) => {
        const branch = {
          when: guarded(when, before),
          result: guarded(result, [...before, when]),
        };
        before.push(isNotTrue(when));
        return branch;
      });
      const otherwise = expression.otherwise && guarded(expression.otherwise, before);
      return { ...expression, branches, otherwise };
    }
    case 'call':
      return { ...expression, arguments: guardedArguments(expression, conditions) };
    case 'subquery':
    case 'inQuery': {
      const inside = mapChildren(expression, child => guarded(child, conditions)) as typeof expression; // of the same kind
      const known = conditions.filter(isPlain);
      if (
        known.length === 0 ||
        !mayFail(expression.query, expression.kind === 'subquery' && expression.form === 'SCALAR')
      )
        return inside;
      return { ...inside, query: withConditions(expression.query, known) };
    }
    case 'aggregate':
      return mapChildren(expression, child => guarded(child, []));
    default:
      return mapChildren(expression, child => guarded(child, conditions));
  }
}

function guardedArguments(
  { name, arguments: values }: Extract<BoundExpression, { kind: 'call' }>,
  conditions: readonly BoundExpression[],
): readonly BoundExpression[] {
  const [first] = values;
  if (name === 'IF' && first) {
    const branches = [[], [first], [isNotTrue(first)]];
    return values.map((value, i) => guarded(value, [...conditions, ...branches[i]!]));
  }
  if (name !== 'IFNULL' && name !== 'COALESCE') return values.map(value => guarded(value, conditions));
  return values.map((value, i) => {
    const missing = values.slice(0, i).map((of): BoundExpression => ({ kind: 'isNull', type: bool, of }));
    return guarded(value, [...conditions, ...missing]);
  });
}

function isNotTrue(condition: BoundExpression): BoundExpression {
  return {
    kind: 'call',
    type: bool,
    name: 'IS NOT TRUE',
    template: '($1 is not true)',
    arguments: [condition],
  };
}

const isPlain = (condition: BoundExpression): boolean =>
  !holdsSubquery(condition) && !holdsAnyAggregate(condition);

/** Only a SELECT has a WHERE; what a set operation gives is left alone. */
function withConditions(query: BoundQuery, conditions: readonly BoundExpression[]): BoundQuery {
  const { body } = query;
  if (body.kind !== 'select') return query;
  const all = [...conditions, ...(body.where ? [body.where] : [])];
  const [only] = all;
  const where: BoundExpression =
    all.length === 1 && only
      ? only
      : { kind: 'call', type: bool, name: 'AND', template: '($and)', arguments: all };
  return { ...query, body: { ...body, where } };
}

/** Whether a subquery could fail: it may give more rows than one where one is wanted, or calculates something. */
function mayFail({ body, limit, subsets, orderBy }: BoundQuery, wantsOne: boolean): boolean {
  if (body.kind !== 'select' || subsets.length > 0) return true;
  const isOne =
    limit === 0 || limit === 1 || !body.from || (!body.groupBy && body.items.some(holdsAnyAggregate));
  if (wantsOne && !isOne) return true;
  const order = orderBy.flatMap(({ by }) => (typeof by === 'number' ? [] : [by]));
  const values = [...body.items, body.where, body.having, body.qualify, ...order];
  return values.some(value => value && mayFailItself(value)) || Boolean(body.from && fromMayFail(body.from));
}

function fromMayFail(from: BoundFrom): boolean {
  switch (from.kind) {
    case 'table':
    case 'subset':
      return false;
    case 'derived':
      return mayFail(from.query, false);
    case 'join':
      return fromMayFail(from.left) || fromMayFail(from.right) || Boolean(from.on && mayFailItself(from.on));
    case 'unnest':
      return (
        mayFailItself(from.array) ||
        Boolean(from.on && mayFailItself(from.on)) ||
        Boolean(from.input && fromMayFail(from.input))
      );
  }
}

const harmlessKinds: ReadonlySet<string> = new Set([
  ...[
    'literal',
    'null',
    'parameter',
    'now',
    'column',
    'field',
    'struct',
    'array',
    'arrayLength',
    'isNull',
    'case',
  ],
  ...['let', 'named', 'try'],
]);
const harmlessCalls: ReadonlySet<string> = new Set([
  ...[
    'AND',
    'OR',
    'NOT',
    '=',
    '!=',
    '<',
    '<=',
    '>',
    '>=',
    'IS TRUE',
    'IS FALSE',
    'IN',
    'IN UNNEST',
    'IF',
    'IFNULL',
  ],
  ...[
    'COALESCE',
    'NULLIF',
    'STARTS_WITH',
    'ENDS_WITH',
    'LENGTH',
    'IS DISTINCT FROM',
    'JSON_VALUE',
    'CONCAT',
    '||',
  ],
  ...['COUNT', 'COUNTIF', 'MIN', 'MAX', 'ANY_VALUE', 'LOGICAL_OR', 'LOGICAL_AND', 'ARRAY_AGG', 'STRING_AGG'],
]);

function mayFailItself(value: BoundExpression): boolean {
  if (value.kind === 'try') return false;
  const isHarmless =
    value.kind === 'call' || value.kind === 'aggregate'
      ? harmlessCalls.has(value.name)
      : harmlessKinds.has(value.kind);
  return !isHarmless || childrenOf(value).some(mayFailItself);
}
