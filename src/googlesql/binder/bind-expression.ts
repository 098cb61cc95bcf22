import type { SqlPosition } from '../../base/errors.ts';
import { operator, refuseBareNull } from '../functions/operators.ts';
import type { BindContext } from '../tree/bind-context.ts';
import { type BoundExpression, literal } from '../tree/bound-tree.ts';
import { unify } from '../tree/coercion.ts';
import { letIn } from '../tree/let-in.ts';
import { emptyScope, foldName, type Scope, sameName } from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { asComputed } from '../tree/storage.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { type SqlType, scalar, typeName } from '../tree/types.ts';
import { childrenOf } from '../tree/walk-bound-tree.ts';
import { bindCall } from './bind-call.ts';
import { bindCast, bindInterval } from './bind-cast.ts';
import { bindExtract } from './bind-extract.ts';
import { bindLiteral } from './bind-literal.ts';
import { bindArray, bindStruct, bindSubscript } from './bind-nested.ts';
import { bindPath, fieldOf } from './bind-path.ts';
import { bindPredicate } from './bind-predicate.ts';

const bool = scalar('BOOL');

/** Resolves the names in one expression and gives it a type. */
export function bindExpression(context: BindContext, syntax: Expression): BoundExpression {
  // A window's keys are bound again for each OVER that names it, with any long literal in them.
  const weight = syntax.kind === 'literal' ? 1 + syntax.value.length / 2 : 1;
  context.statement.count('expressions', weight, syntax.at);
  const rule = rules[syntax.kind] as Rule<Expression['kind']>; // the one of its kind
  return rule(context, syntax, expression => bindExpression(context, expression));
}

/** How expressions of a kind are bound; `bind` binds one inside it. */
type Rule<Kind extends Expression['kind']> = (
  context: BindContext,
  syntax: Extract<Expression, { kind: Kind }>,
  bind: (expression: Expression) => BoundExpression,
) => BoundExpression;

const rules: { readonly [Kind in Expression['kind']]: Rule<Kind> } = {
  literal: (_, syntax) => bindLiteral(syntax),
  parameter: bindParameter,
  path: (context, { parts }) => bindPath(context, parts),
  field: (_, { of, name }, bind) => fieldOf(bind(of), name),
  subscript: (_, syntax, bind) => bindSubscript(bind, syntax),
  call: bindCall,
  cast(context, syntax, bind) {
    if (syntax.isPostgres && !context.statement.takesPostgresCasts)
      throw invalidQuery('Syntax error: Unexpected "::"', syntax.at);
    return bindCast(bind, syntax);
  },
  case: bindCase,
  unary(_, syntax, bind) {
    const name = syntax.operator === 'NOT' ? 'NOT' : `unary ${syntax.operator}`;
    const of = bind(syntax.of);
    refuseBareNull(syntax.operator, [of], syntax.at);
    return operator(name, [of], syntax.at);
  },
  binary: bindBinary,
  between: bindPredicate,
  inList: bindPredicate,
  inArray: bindPredicate,
  inQuery: bindPredicate,
  like: bindPredicate,
  likeArray: bindPredicate,
  is: bindPredicate,
  isDistinct: bindPredicate,
  array: (_, syntax, bind) => bindArray(bind, syntax),
  struct: (_, syntax, bind) => bindStruct(bind, syntax),
  interval: (_, syntax, bind) => bindInterval(bind, syntax),
  extract: (_, syntax, bind) => bindExtract(bind, syntax),
  subquery: bindSubquery,
  with: bindVariables,
};

type Variables = Extract<Expression, { kind: 'with' }>['variables'];

/** `WITH(a AS 1, a + 1)`. */
function bindVariables(
  context: BindContext,
  { variables, body }: Extract<Expression, { kind: 'with' }>,
): BoundExpression {
  const names = new Set<string>();
  for (const { name } of variables) {
    context.statement.count('variables', 1, name.at);
    const key = foldName(name.name);
    if (names.has(key)) throw invalidQuery(`Duplicate alias ${name.name} in WITH expression`, name.at);
    names.add(key);
  }
  return bindWith(context, variables, body);
}

/** Each value is calculated once. */
function bindWith(context: BindContext, variables: Variables, body: Expression): BoundExpression {
  const [first, ...others] = variables;
  if (!first) return bindExpression(context, body);
  const { name, at } = first.name;
  return letIn(bindExpression(context, first.value), value => {
    const scope: Scope = { ...emptyScope, aliases: [{ name, value }], parent: context.scope };
    const bound = bindWith({ ...context, scope }, others, body);
    if (value.kind === 'named' && namedInAggregates(bound).has(value))
      throw invalidQuery(
        `Column '${name}' is introduced by WITH. Columns introduced by WITH cannot be used in the arguments to aggregate or analytic functions`,
        at,
      );
    return bound;
  });
}

const knownNamed = new WeakMap<BoundExpression, ReadonlySet<BoundExpression>>();
const none: ReadonlySet<BoundExpression> = new Set();

/** The named values that are used by aggregate and analytic calls in an expression; found once, however many WITHs are around it. */
function namedInAggregates(expression: BoundExpression): ReadonlySet<BoundExpression> {
  const known = knownNamed.get(expression);
  if (known) return known;
  let found = none;
  if (expression.kind === 'aggregate') found = new Set(childrenOf(expression).flatMap(namedIn));
  else
    for (const child of childrenOf(expression)) {
      const inside = namedInAggregates(child);
      if (inside.size > 0) found = found.size > 0 ? found.union(inside) : inside;
    }
  knownNamed.set(expression, found);
  return found;
}

function namedIn(expression: BoundExpression): readonly BoundExpression[] {
  return expression.kind === 'named' ? [expression] : childrenOf(expression).flatMap(namedIn);
}

/** Binds an expression that must be a condition. */
export function bindBoolean(context: BindContext, syntax: Expression, clause: string): BoundExpression {
  const condition = bindExpression(context, syntax);
  if (condition.type.kind === 'BOOL') return condition;
  if (condition.type.kind === 'NULL') return { kind: 'null', type: bool };
  throw invalidQuery(`${clause} should return type BOOL, but returns ${typeName(condition.type)}`, syntax.at);
}

function bindParameter(
  context: BindContext,
  { name, at }: { name: string; at: SqlPosition },
): BoundExpression {
  const declared = context.statement.parameterNames.find(p => sameName(p, name));
  if (declared === undefined) throw invalidQuery(`Query parameter '${name}' not found`, at);
  const isArray = context.statement.arrayParameterNames.includes(declared);
  const element = scalar(context.statement.parameterTypes.get(declared) ?? 'STRING');
  const type: SqlType = isArray ? { kind: 'ARRAY', element, single: false, nulls: 'NULL' } : element;
  return { kind: 'parameter', type, name: declared };
}

function bindCase(context: BindContext, syntax: Extract<Expression, { kind: 'case' }>): BoundExpression {
  return syntax.operand
    ? letIn(bindExpression(context, syntax.operand), operand => bindBranches(context, syntax, operand))
    : bindBranches(context, syntax);
}

function bindBranches(
  context: BindContext,
  syntax: Extract<Expression, { kind: 'case' }>,
  operand?: BoundExpression,
): BoundExpression {
  const conditions = syntax.branches.map(({ when }) =>
    operand
      ? operator('=', [operand, bindExpression(context, when)], when.at)
      : bindBoolean(context, when, 'CASE condition'),
  );
  const results = syntax.branches.map(({ result }) => bindExpression(context, result));
  if (syntax.otherwise) results.push(bindExpression(context, syntax.otherwise));
  const { type, values } = unify(results.map(asComputed), 'operator CASE', syntax.at);
  const branches = conditions.map((when, i) => ({ when, result: values[i]! }));
  return { kind: 'case', type, branches, otherwise: syntax.otherwise && values.at(-1) };
}

type Binary = Extract<Expression, { kind: 'binary' }>;

/** Binds a chain of AND or OR as one call of all its terms: as nested calls of two it would be as deep as it is long. */
function bindChain(context: BindContext, syntax: Binary): BoundExpression {
  const rest: Binary[] = [];
  let first: Expression = syntax;
  while (first.kind === 'binary' && first.operator === syntax.operator) {
    rest.push(first);
    first = first.left;
  }
  const terms = [bindExpression(context, first)];
  for (const { right, at } of rest.reverse()) {
    const term = bindExpression(context, right);
    const pair = [terms.length === 1 ? terms[0]! : alwaysTrue, term];
    // Throws the error about the first pair that does not fit, with its position.
    if (!pair.every(({ type }) => type.kind === 'BOOL')) operator(syntax.operator, pair, at);
    terms.push(term);
  }
  return operator(syntax.operator, terms, syntax.at);
}

const alwaysTrue = literal('BOOL', 'TRUE');

function bindBinary(context: BindContext, syntax: Binary): BoundExpression {
  if (syntax.operator === 'AND' || syntax.operator === 'OR') return bindChain(context, syntax);
  const left = bindExpression(context, syntax.left);
  const right = bindExpression(context, syntax.right);
  if (!['<<', '>>'].includes(syntax.operator)) refuseBareNull(syntax.operator, [left, right], syntax.at);
  return operator(syntax.operator, [left, right], syntax.at);
}

function bindSubquery(
  context: BindContext,
  syntax: Extract<Expression, { kind: 'subquery' }>,
): BoundExpression {
  const { form } = syntax;
  const query = context.binder.query(
    { ...context, aggregatesRefusedIn: undefined, windows: new Map() },
    syntax.query,
  );
  if (form === 'EXISTS') return { kind: 'subquery', form, query, type: bool };
  const [column, ...others] = query.columns;
  if (others.length > 0) {
    throw invalidQuery(
      `${form === 'ARRAY' ? 'ARRAY' : 'Scalar'} subquery cannot have more than one column unless using SELECT AS STRUCT to build STRUCT values`,
      syntax.at,
    );
  }
  const type = column!.type.kind === 'NULL' ? scalar('INT64') : column!.type;
  if (form === 'SCALAR') return { kind: 'subquery', form, query, type };
  if (type.kind === 'ARRAY')
    throw invalidQuery('Cannot use array subquery with column of type ARRAY', syntax.at);
  return { kind: 'subquery', form, query, type: { kind: 'ARRAY', element: type, single: false } };
}
