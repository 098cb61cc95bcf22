import {
  type BoundBody,
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  call,
  joinConditions,
} from '../tree/bound-tree.ts';
import type { KeyOf } from '../tree/expression-keys.ts';
import { mayFailItself } from '../tree/may-fail.ts';
import { scalar } from '../tree/types.ts';
import { childrenOf, holdsSubquery, mapChildren } from '../tree/walk-bound-tree.ts';

const bool = scalar('BOOL');

/** Rules: whether a condition may be added to the WHERE of a subquery, and whether an expression must stay unchanged. */
type Rules = {
  allows(condition: BoundExpression): boolean;
  keeps(expression: BoundExpression): boolean;
  /** New values of `let` by the old ones: `named` refers to a value by identity. */
  readonly renamed: Map<BoundExpression, BoundExpression>;
  /** Number of conditions that have been considered for subqueries. */
  readonly looked: { count: number };
};

/** The conditions under which an expression is evaluated, innermost first, as a linked list: a long COALESCE has as many lists as arguments. */
type Conditions = { readonly condition: BoundExpression; readonly before: Conditions } | undefined;

const also = (before: Conditions, condition: BoundExpression): Conditions => ({ condition, before });

/** Maximum number of conditions considered for all subqueries of an expression. */
const maxConditions = 100_000;

/**
 * Restricts a subquery in a branch of CASE, IF, IFNULL or COALESCE to the rows of the enclosing query that take the branch: DuckDB
 * joins subqueries before it evaluates conditions, so that one in a branch not taken could fail. Subqueries that cannot fail are unchanged,
 * because a condition costs a join; so are those below a condition that contains an aggregate or IN with a subquery.
 */
export function guardBranches(expression: BoundExpression): BoundExpression {
  return holdsSubquery(expression) ? guarded(expression, undefined, plainRules()) : expression;
}

/** `guardBranches` for a grouped query: arguments of aggregates, and otherwise only conditions on keys that are columns. Keys stay unchanged. */
export function guardGroups(
  keys: readonly BoundExpression[],
  keyOf: KeyOf,
): (expression: BoundExpression) => BoundExpression {
  const columns = new Set(keys.filter(key => key.kind === 'column').map(columnKey));
  const known = new Set(keys.map(keyOf));
  const rules: Rules = {
    ...plainRules(),
    allows: everywhere(part => isPlain(part) && (part.kind !== 'column' || columns.has(columnKey(part)))),
    keeps: expression => known.has(keyOf(expression)),
  };
  return expression => (holdsSubquery(expression) ? guarded(expression, undefined, rules) : expression);
}

type Column = Extract<BoundExpression, { kind: 'column' }>;

const columnKey = ({ relation, index }: Column) => `${relation}.${index}`;

/** Whether a predicate holds for an expression and everything in it; each part is tested once. */
function everywhere(
  holds: (expression: BoundExpression) => boolean,
): (expression: BoundExpression) => boolean {
  const known = new WeakMap<BoundExpression, boolean>();
  const holdsInside = (expression: BoundExpression): boolean => {
    const found = known.get(expression) ?? (holds(expression) && childrenOf(expression).every(holdsInside));
    known.set(expression, found);
    return found;
  };
  return holdsInside;
}

function guarded(expression: BoundExpression, conditions: Conditions, rules: Rules): BoundExpression {
  if (rules.keeps(expression)) return expression;
  switch (expression.kind) {
    case 'case': {
      let before = conditions;
      const branches = expression.branches.map(({ when, result }) => {
        const branch = {
          when: guarded(when, before, rules),
          result: guarded(result, also(before, when), rules),
        };
        before = also(before, isNotTrue(when));
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
      const known = conditions && mayFail(expression.query) ? allowed(conditions, rules) : [];
      return known.length === 0 ? inside : { ...inside, query: withConditions(expression.query, known) };
    }
    case 'aggregate':
      return mapChildren(expression, child =>
        guarded(child, undefined, { ...plainRules(), renamed: rules.renamed, looked: rules.looked }),
      );
    case 'let':
      // `mapChildren` visits its values before its body.
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
  conditions: Conditions,
  rules: Rules,
): readonly BoundExpression[] {
  const [first] = values;
  if (name === 'IF' && first) {
    const branches = [conditions, also(conditions, first), also(conditions, isNotTrue(first))];
    return values.map((value, i) => guarded(value, branches[i], rules));
  }
  if (name !== 'IFNULL' && name !== 'COALESCE') return values.map(value => guarded(value, conditions, rules));
  let before = conditions;
  return values.map(value => {
    const argument = guarded(value, before, rules);
    before = also(before, { kind: 'isNull', type: bool, of: value });
    return argument;
  });
}

/**
 * Those of the conditions that may stand in a subquery, in their order.
 * @throws RangeError once too many have been looked at: each of a thousand subqueries in a row has those of all before it
 */
function allowed(conditions: Conditions, { allows, looked }: Rules): readonly BoundExpression[] {
  const found: BoundExpression[] = [];
  for (let at = conditions; at; at = at.before) {
    looked.count += 1;
    if (looked.count > maxConditions) throw new RangeError('Too many conditions');
    if (allows(at.condition)) found.push(at.condition);
  }
  return found.reverse();
}

const isNotTrue = (condition: BoundExpression): BoundExpression =>
  call('IS NOT TRUE', '($1 is not true)', [condition], bool);

/** Whether a condition contains IN with a subquery, which DuckDB fails to plan in the WHERE of another subquery. */
const isPlain = ({ kind }: BoundExpression): boolean => kind !== 'aggregate' && kind !== 'inQuery';

const plainRules = (): Rules => ({
  allows: everywhere(isPlain),
  keeps: () => false,
  renamed: new Map(),
  looked: { count: 0 },
});

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
  const where = joinConditions('AND', [...conditions, ...(body.where ? [body.where] : [])]);
  return { ...body, where };
}

/** Whether a subquery could fail, because it calculates something. That it returns only one row is checked elsewhere. */
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
