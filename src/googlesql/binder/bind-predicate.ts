import { isNested, nestedInArray } from '../functions/nested-comparison.ts';
import { operator, refuseBareNull } from '../functions/operators.ts';
import type { BindContext } from '../tree/bind-context.ts';
import { type BoundExpression, type BoundQuery, call, negated, unsupportedCall } from '../tree/bound-tree.ts';
import { anyValueOf, coerce, supertype } from '../tree/coercion.ts';
import { letIn, letInParts } from '../tree/let-in.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { unclearArray } from '../tree/storage.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { arrayOf, scalar, typeName } from '../tree/types.ts';

const bool = scalar('BOOL');

type Predicate = Extract<
  Expression,
  { kind: 'between' | 'inList' | 'inArray' | 'inQuery' | 'like' | 'likeArray' | 'is' | 'isDistinct' }
>;

/** BETWEEN, IN, LIKE and IS: each a combination of plain comparisons, with their NULL rules. */
export function bindPredicate(context: BindContext, syntax: Predicate): BoundExpression {
  const bind = (expression: Expression) => context.binder.expression(context, expression);
  const { at } = syntax;
  switch (syntax.kind) {
    case 'between': {
      const [low, high] = [bind(syntax.low), bind(syntax.high)];
      const test = letIn(bind(syntax.of), of =>
        operator('AND', [operator('>=', [of, low], at), operator('<=', [of, high], at)], at),
      );
      return negate(test, syntax.not);
    }
    case 'inList':
      return negate(inList(bind(syntax.of), syntax.list.map(bind), syntax), syntax.not);
    case 'inArray':
      return negate(inArray(bind(syntax.of), bind(syntax.array), syntax), syntax.not);
    case 'inQuery': {
      const inner = { ...context, aggregatesRefusedIn: undefined, windows: new Map() };
      return negate(inQuery(bind(syntax.of), context.binder.query(inner, syntax.query), syntax), syntax.not);
    }
    case 'like': {
      const patterns = syntax.patterns.map(pattern => ({ value: bind(pattern), at: pattern.at }));
      const joiner = syntax.quantifier === 'ANY' ? 'OR' : 'AND';
      const subject = bind(syntax.of);
      if (syntax.quantifier === 'ONE')
        refuseBareNull('LIKE', [subject, ...patterns.map(({ value }) => value)], at);
      return letIn(subject, of =>
        operator(
          joiner,
          patterns.map(({ value, at: place }) => negate(operator('LIKE', [of, value], place), syntax.not)),
          at,
        ),
      );
    }
    case 'likeArray':
      return likeArray(bind(syntax.of), bind(syntax.array), syntax);
    case 'is': {
      const of = bind(syntax.of);
      if (syntax.what === 'UNKNOWN') {
        // Checked as by IS TRUE: only a BOOL may be unknown.
        operator('IS TRUE', [of], at);
        return negate({ kind: 'isNull', type: bool, of }, syntax.not);
      }
      const unclear = syntax.what === 'NULL' ? unclearArray(of, 'IS NULL', at) : undefined;
      if (unclear) return negate(unsupportedCall(unclear, bool, [of]), syntax.not);
      if (syntax.what === 'NULL') return negate({ kind: 'isNull', type: bool, of }, syntax.not);
      return negate(operator(`IS ${syntax.what}`, [of], at), syntax.not);
    }
    case 'isDistinct':
      return negate(operator('IS DISTINCT FROM', [bind(syntax.left), bind(syntax.right)], at), syntax.not);
  }
}

const negate = (condition: BoundExpression, not: boolean): BoundExpression =>
  not ? negated(condition) : condition;

function inList(of: BoundExpression, list: readonly BoundExpression[], { at }: Predicate): BoundExpression {
  const type = supertype([of, ...list]);
  // A literal is never NaN; anything else may be, and NaN equals nothing.
  const isByPairs =
    type && (isNested(type) || (type.kind === 'FLOAT64' && list.some(value => value.kind !== 'literal')));
  if (!type || type.kind === 'NULL' || isByPairs)
    return letInParts(of, named =>
      operator(
        'OR',
        list.map(value => operator('=', [named, value], at)),
        at,
      ),
    );
  // Checks that each pair is comparable, and throws BigQuery's error for the first that is not.
  for (const [value] of Map.groupBy(list, ({ kind, type: own }) => `${kind} ${own.kind}`).values())
    operator('=', [of, value!], at);
  const [first, ...others] = [of, ...list].map(value => coerce(value, type, at));
  const template = `($1 in (${others.map((_, i) => `\${${i + 2}}`).join(', ')}))`;
  return call('IN', template, [first!, ...others], bool);
}

/** ANY is true as soon as one pattern matches, ALL is false as soon as one does not; otherwise NULL if one of them is. */
function likeArray(
  of: BoundExpression,
  array: BoundExpression,
  { quantifier, not, at }: Extract<Predicate, { kind: 'likeArray' }>,
): BoundExpression {
  if (array.type.kind !== 'ARRAY')
    throw invalidQuery(`Second argument of LIKE ${quantifier} UNNEST must be an array`, at);
  const text = scalar('STRING');
  const pattern = anyValueOf(array.type.element);
  operator('LIKE', [of, pattern.type.kind === 'NULL' ? { kind: 'null', type: text } : pattern], at);
  const [settled, aggregate] = quantifier === 'ANY' ? ['true', 'bool_or'] : ['false', 'bool_and'];
  const tested = `list_transform($2, lambda pattern: ${not ? 'not ' : ''}bq_like($1, pattern))`;
  const template =
    `list_extract(list_transform([${tested}], lambda tests: case when coalesce(len(tests), 0) = 0 then ${quantifier === 'ALL'} ` +
    `when list_${aggregate}(tests) = ${settled} then ${settled} when list_count(tests) < len(tests) then null else ${quantifier === 'ALL'} end), 1)`;
  const values = [coerce(of, text, at), coerce(array, { kind: 'ARRAY', element: text, single: false }, at)];
  return call(`${not ? 'NOT ' : ''}LIKE ${quantifier} UNNEST`, template, values, bool);
}

function inArray(
  of: BoundExpression,
  array: BoundExpression,
  { at }: Pick<Predicate, 'at'>,
): BoundExpression {
  if (array.type.kind !== 'ARRAY') throw invalidQuery('Second argument of IN UNNEST must be an array', at);
  if (of.type.kind === 'STRUCT' || array.type.element.kind === 'STRUCT') return nestedInArray(of, array, at);
  // Literals in an array are coerced like others.
  const isWritten = array.kind === 'array' && array.elements.length > 0;
  const type = supertype([of, ...(isWritten ? array.elements : [anyValueOf(array.type.element)])]);
  if (!type || ['ARRAY', 'JSON'].includes(type.kind)) {
    throw invalidQuery(
      `No matching signature for operator IN UNNEST for argument types: ${typeName(of.type)}, ${typeName(array.type)}`,
      at,
    );
  }
  const template =
    `(case when coalesce(len($2), 0) = 0 then false when $1 is null then null${type.kind === 'FLOAT64' ? ' when isnan($1) then (case when list_count($2) < len($2) then null else false end)' : ''} ` +
    'when list_contains($2, $1) then true ' +
    'when list_count($2) < len($2) then null else false end)';
  const values = [coerce(of, type, at), coerce(array, { kind: 'ARRAY', element: type, single: false }, at)];
  return call('IN UNNEST', template, values, bool);
}

function inQuery(of: BoundExpression, query: BoundQuery, { at }: Pick<Predicate, 'at'>): BoundExpression {
  const [column, ...others] = query.columns;
  if (others.length > 0) throw invalidQuery('Subquery of type IN must have only one output column', at);
  const value = anyValueOf(column!.type);
  operator('=', [of, value], at);
  if (isNested(column!.type)) {
    // Checks the types.
    inArray(of, { kind: 'subquery', form: 'ARRAY', query, type: arrayOf(column!.type) }, { at });
    return { kind: 'inQuery', type: bool, of, query };
  }
  const type = supertype([of, value]);
  if (!type) throw invalidQuery('Subquery of type IN has an incompatible column type', at);
  // DuckDB converts a narrower column to the type of the value to find.
  return { kind: 'inQuery', type: bool, of: coerce(of, type, at), query };
}
