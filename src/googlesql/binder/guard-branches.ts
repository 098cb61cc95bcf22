import {
  type BoundBody,
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  childrenOf,
  holdsAnyAggregate,
  holdsSubquery,
  mapChildren,
} from '../tree/bound-tree.ts';
import type { KeyOf } from '../tree/expression-keys.ts';
import { mayFailItself } from '../tree/may-fail.ts';
import { scalar } from '../tree/types.ts';

const bool = scalar('BOOL');

/** Whether a condition may stand in the WHERE of a subquery, and whether an expression must stay as it is. */
type Rules = {
  allows(condition: BoundExpression): boolean;
  keeps(expression: BoundExpression): boolean;
  /** Values of `let` by what they were: the body finds them by what they are. */
  readonly renamed: Map<BoundExpression, BoundExpression>;
};

/**
 * Lets a subquery in a branch of CASE, IF, IFNULL or COALESCE see only the rows of the query around it that take the branch: DuckDB
 * joins subqueries before it looks at conditions, and one that nobody asks for would fail. Those that cannot fail stay as they are,
 * for a condition makes a join of its own; so do those below a condition that holds an aggregate or IN with a subquery.
 */
export function guardBranches(expression: BoundExpression): BoundExpression {
  return holdsSubquery(expression) ? guarded(expression, [], plainRules()) : expression;
}

/** As `guardBranches`, in a grouped query: what aggregates take, and beside them conditions of keys that are columns. A key stays. */
export function guardGroups(
  keys: readonly BoundExpression[],
  keyOf: KeyOf,
): (expression: BoundExpression) => BoundExpression {
  const columns = new Set(keys.filter(key => key.kind === 'column').map(columnKey));
  const known = new Set(keys.map(keyOf));
  const rules: Rules = {
    allows: condition => isPlain(condition) && columnsOf(condition).every(key => columns.has(key)),
    keeps: expression => known.has(keyOf(expression)),
    renamed: new Map(),
  };
  return expression => (holdsSubquery(expression) ? guarded(expression, [], rules) : expression);
}

type Column = Extract<BoundExpression, { kind: 'column' }>;

const columnKey = ({ relation, index }: Column) => `${relation}.${index}`;

function columnsOf(expression: BoundExpression): readonly string[] {
  return expression.kind === 'column' ? [columnKey(expression)] : childrenOf(expression).flatMap(columnsOf);
}

function guarded(
  expression: BoundExpression,
  conditions: readonly BoundExpression[],
  rules: Rules,
): BoundExpression {
  if (rules.keeps(expression)) return expression;
  switch (expression.kind) {
    case 'case': {
      const before = [...conditions];
      const branches = expression.branches.map(({ when, result }) => {
        const branch = {
          when: guarded(when, before, rules),
          result: guarded(result, [...before, when], rules),
        };
        before.push(isNotTrue(when));
        return branch;
      });
      const otherwise = expression.otherwise && guarded(expression.otherwise, before, rules);
      return { ...expression, branches, otherwise };
    }
    case 'call':
      return { ...expression, arguments: guardedArguments(expression, conditions, rules) };
    case 'subquery':
    case 'inQuery': {
      const inside = mapChildren(expression, child => guarded(child, conditions, rules)) as typeof expression; // of the same kind
      const known = conditions.filter(rules.allows);
      if (known.length === 0 || !mayFail(expression.query)) return inside;
      return { ...inside, query: withConditions(expression.query, known) };
    }
    case 'aggregate':
      return mapChildren(expression, child =>
        guarded(child, [], { ...plainRules(), renamed: rules.renamed }),
      );
    case 'let':
      // Its values come before its body.
      return mapChildren(expression, child => {
        const inside = guarded(child, conditions, rules);
        if (child !== expression.body) rules.renamed.set(child, inside);
        return inside;
      });
    case 'named':
      return { ...expression, value: rules.renamed.get(expression.value) ?? expression.value };
    default:
      return mapChildren(expression, child => guarded(child, conditions, rules));
  }
}

function guardedArguments(
  { name, arguments: values }: Extract<BoundExpression, { kind: 'call' }>,
  conditions: readonly BoundExpression[],
  rules: Rules,
): readonly BoundExpression[] {
  const [first] = values;
  if (name === 'IF' && first) {
    const branches = [[], [first], [isNotTrue(first)]];
    return values.map((value, i) => guarded(value, [...conditions, ...branches[i]!], rules));
  }
  if (name !== 'IFNULL' && name !== 'COALESCE') return values.map(value => guarded(value, conditions, rules));
  return values.map((value, i) => {
    const missing = values.slice(0, i).map((of): BoundExpression => ({ kind: 'isNull', type: bool, of }));
    return guarded(value, [...conditions, ...missing], rules);
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

/** DuckDB fails to plan IN with a subquery in the WHERE of another one. */
const isPlain = (condition: BoundExpression): boolean => !holdsAnyAggregate(condition) && !holdsIn(condition);

const plainRules = (): Rules => ({ allows: isPlain, keeps: () => false, renamed: new Map() });

const holdsIn = (expression: BoundExpression): boolean =>
  expression.kind === 'inQuery' || childrenOf(expression).some(holdsIn);

/** Each SELECT of a query sees the rows that fulfil the conditions. */
function withConditions(query: BoundQuery, conditions: readonly BoundExpression[]): BoundQuery {
  return { ...query, body: bodyWithConditions(query.body, conditions) };
}

function bodyWithConditions(body: BoundBody, conditions: readonly BoundExpression[]): BoundBody {
  if (body.kind === 'query') return { ...body, query: withConditions(body.query, conditions) };
  if (body.kind === 'setOperation') {
    const parts = body.parts.map(part => ({ ...part, body: bodyWithConditions(part.body, conditions) }));
    return { ...body, parts };
  }
  const all = [...conditions, ...(body.where ? [body.where] : [])];
  const [only] = all;
  const where: BoundExpression =
    all.length === 1 && only
      ? only
      : { kind: 'call', type: bool, name: 'AND', template: '($and)', arguments: all };
  return { ...body, where };
}

/** Whether a subquery could fail: it calculates something. That it gives one row alone is asked where its value is. */
function mayFail({ body, subsets, orderBy }: BoundQuery): boolean {
  if (body.kind !== 'select' || subsets.length > 0) return true;
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
      return mayFail(from.query);
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
