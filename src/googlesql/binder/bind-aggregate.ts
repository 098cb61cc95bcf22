import { type FunctionRow, type MatchedRow, matchRow } from '../functions/function-row.ts';
import {
  arrayTemplate,
  exactPercentile,
  extremeValueRows,
  listedTemplate,
  literalArguments,
  notNan,
  quantilesWithNulls,
} from '../functions/functions-aggregate.ts';
import { type BindContext, bindArguments } from '../tree/bind-context.ts';
import {
  type BoundAggregate,
  type BoundExpression,
  type BoundOrder,
  call as boundCall,
  literal,
} from '../tree/bound-tree.ts';
import type { KeyOf } from '../tree/expression-keys.ts';
import { invalidQuery, onlyOnWarehouse, type Unsupported } from '../tree/sql-error.ts';
import type { CallSyntax } from '../tree/syntax-tree.ts';
import { arrayOf } from '../tree/types.ts';
import { isConstant } from '../tree/walk-bound-tree.ts';
import { bindCallOrder, bindWindow } from './bind-window.ts';
import { isPlainLiteral } from './order-term.ts';

type Candidate = {
  readonly name: string;
  readonly rows: readonly FunctionRow[];
  readonly mustHaveOver: boolean;
};

/** Binds an aggregate call, or with OVER an analytic one, and checks every modifier against the function. */
export function bindAggregate(context: BindContext, call: CallSyntax, candidate: Candidate): BoundExpression {
  const { name, rows, mustHaveOver } = candidate;
  if (mustHaveOver && !call.over) {
    throw invalidQuery(`Analytic function ${name} cannot be called without an OVER clause`, call.at);
  }
  if (!call.over && context.aggregatesRefusedIn) {
    throw invalidQuery(`Aggregate function ${name} not allowed in ${context.aggregatesRefusedIn}`, call.at);
  }
  if (call.over && context.aggregatesRefusedIn) {
    throw invalidQuery(`Analytic function not allowed in ${context.aggregatesRefusedIn}`, call.at);
  }
  if (call.star && name !== 'COUNT') throw invalidQuery('Argument * can only be used in COUNT(*)', call.at);
  if (name === 'COUNT' && !call.star && call.arguments.length === 0)
    throw invalidQuery(
      'No matching signature for aggregate function COUNT: write COUNT(*) or COUNT(value)',
      call.at,
    );
  const inside = call.over ? context : { ...context, aggregatesRefusedIn: `an argument of ${name}` };
  const given = bindArguments(inside, call);
  const having = call.having && context.binder.expression(inside, call.having.expression);
  // DuckDB has a form of HAVING only for ANY_VALUE.
  const extreme = call.having && name === 'ANY_VALUE' ? extremeValueRows[call.having.extreme] : undefined;
  const values = extreme && having ? [...given, having] : given;
  const matched = matchRow(extreme ?? rows, `aggregate function ${name}`, values, call.at);
  checkLiterals(name, matched.arguments, call);
  if (name === 'STRING_AGG') checkDelimiter(matched.arguments[1], call);
  const template = templateOf(call, name, matched);
  const { sortsBy } = matched.row;
  const unsupported = matched.unsupported ?? unsupportedModifier(call, name, template);
  call.orderBy.forEach(refuseLiteralOrder);
  const orderBy = bindCallOrder(inside, call.orderBy);
  if (call.distinct) refuseHiddenOrder(context.statement.keyOf, orderBy, { values: matched.arguments, call });
  const over = call.over && bindWindow(context, name, call.over, call.at);
  const aggregate: BoundAggregate = {
    kind: 'aggregate',
    type: matched.type,
    name,
    // DuckDB's count(*) is negative for a frame that ends before it begins.
    template: over?.frame ? template.replace('count(*)', 'count(1)') : template,
    arguments: matched.arguments.map((value, i) => {
      if (i === sortsBy) return notNan(value);
      return name === 'PERCENTILE_DISC' ? exactPercentile(value) : value;
    }),
    distinct: call.distinct,
    ignoreNulls: call.nulls === 'IGNORE',
    orderBy,
    over,
    unsupported,
  };
  if (call.distinct && (aggregate.over?.orderBy.length || aggregate.over?.frame))
    throw invalidQuery('Window ORDER BY and frames are not allowed if DISTINCT is specified', call.at);
  if (call.limit) return firstElements(aggregate, call);
  return aggregate;
}

/** The template of a row, or the variant for the call's modifiers. */
function templateOf(call: CallSyntax, name: string, { row, template }: MatchedRow): string {
  if (name === 'APPROX_QUANTILES' && call.nulls === 'RESPECT') return quantilesWithNulls;
  return (call.distinct && row.distinct) || template;
}

/** Aggregates for which duplicates make no difference. */
const sameWhenDistinct = new Set(
  'ANY_VALUE APPROX_COUNT_DISTINCT BIT_AND BIT_OR LOGICAL_AND LOGICAL_OR MAX MIN'.split(' '),
);

/** A modifier that DuckDB does not accept with a function; the warehouse decides whether BigQuery does. */
function unsupportedModifier(call: CallSyntax, name: string, template: string): Unsupported | undefined {
  if (call.over && call.orderBy.length > 0)
    throw invalidQuery(`Aggregate function ${name} does not support ORDER BY with an OVER clause`, call.at);
  // Percentiles and quantiles ignore NULL anyway.
  const passesOver =
    (call.nulls === 'IGNORE' && name.startsWith('PERCENTILE_')) ||
    (call.nulls && name === 'APPROX_QUANTILES');
  const found = [
    call.distinct && !template.includes('$distinct') && !sameWhenDistinct.has(name) && 'DISTINCT',
    call.orderBy.length > 0 && !template.includes('$order') && 'ORDER BY',
    call.nulls && !passesOver && !template.includes('$filter') && `${call.nulls} NULLS`,
    call.limit && !['ARRAY_AGG', 'STRING_AGG', 'ARRAY_CONCAT_AGG'].includes(name) && 'LIMIT',
    call.having && name !== 'ANY_VALUE' && `HAVING ${call.having.extreme}`,
    call.over && (!template.includes('$over') || call.limit) && 'OVER',
  ].find(Boolean);
  return found ? onlyOnWarehouse(`${found} in ${name}`, call.at).reason : undefined;
}

/** Refuses literals: one would order nothing, and a number is not a position here. */
function refuseLiteralOrder({ expression }: CallSyntax['orderBy'][number]): void {
  if (!isPlainLiteral(expression)) return;
  throw invalidQuery(
    expression.type === 'INT64'
      ? 'Aggregate functions do not allow ORDER BY by index in arguments'
      : 'Cannot ORDER BY literal values',
    expression.at,
  );
}

/** With DISTINCT only the arguments remain, so nothing else can be ordered by. */
function refuseHiddenOrder(
  keyOf: KeyOf,
  orderBy: readonly BoundOrder[],
  { values, call }: { values: readonly BoundExpression[]; call: CallSyntax },
): void {
  const keys = new Set(values.map(keyOf));
  const hidden = orderBy.findIndex(({ by }) => typeof by === 'number' || !keys.has(keyOf(by)));
  if (hidden === -1) return;
  throw invalidQuery(
    'With DISTINCT, ORDER BY inside an aggregate function takes only its arguments',
    call.orderBy[hidden]!.expression.at,
  );
}

function checkLiterals(name: string, values: readonly BoundExpression[], call: CallSyntax): void {
  if (['LAG', 'LEAD'].includes(name) && values[2] && !isConstant(values[2]))
    throw invalidQuery(`The third argument (the default expression) to ${name} must be constant`, call.at);
  const rule = literalArguments[name];
  const value = rule && values[rule.index];
  if (!value) return;
  const number = literalNumber(value);
  if (!(number >= rule.from && number <= rule.to)) {
    throw invalidQuery(
      `Argument ${rule.index + 1} to ${name} must be a literal between ${rule.from} and ${rule.to}`,
      call.at,
    );
  }
}

function checkDelimiter(value: BoundExpression | undefined, call: CallSyntax): void {
  if (!value) return;
  if (value.kind === 'null') throw invalidQuery('Argument 2 to STRING_AGG must be non-NULL', call.at);
  const given = value.kind === 'cast' ? value.of : value;
  if (given.kind === 'literal' || given.kind === 'parameter') return;
  throw invalidQuery(
    'Argument 2 to STRING_AGG must be a literal or query parameter',
    call.arguments[1]?.at ?? call.at,
  );
}

/** The number of a literal, also of one that was coerced to another type; NaN for anything else. */
function literalNumber(value: BoundExpression): number {
  const literal = value.kind === 'cast' ? value.of : value;
  return literal.kind === 'literal' ? Number(literal.value) : Number.NaN;
}

function firstElements(aggregate: BoundAggregate, call: CallSyntax): BoundExpression {
  const limit = call.limit?.kind === 'literal' && call.limit.type === 'INT64' ? call.limit.value : undefined;
  if (!limit || limit.startsWith('-')) {
    throw invalidQuery('LIMIT in an aggregate expects a non-negative integer literal', call.at);
  }
  const count = literal('INT64', limit);
  const { name, type } = aggregate;
  if (name === 'STRING_AGG') return firstTexts(aggregate, count);
  if (name === 'ARRAY_CONCAT_AGG') {
    const arrays = { ...aggregate, template: listedTemplate };
    return boundCall(name, 'flatten(list_slice($1, 1, $2))', [arrays, count], type);
  }
  // Without elements it is NULL, not empty.
  const template = limit === '0' ? 'nullif(list_slice($1, 1, $2), [])' : 'list_slice($1, 1, $2)';
  return boundCall(name, template, [aggregate, count], type);
}

/** The texts are cut off as elements of an array, then joined. */
function firstTexts(aggregate: BoundAggregate, count: BoundExpression): BoundExpression {
  const { name, type } = aggregate;
  const [value, separator] = aggregate.arguments;
  const comma: BoundExpression = { kind: 'literal', type, value: ',' };
  const list: BoundAggregate = {
    ...aggregate,
    template: arrayTemplate,
    type: arrayOf(type),
    arguments: [value!],
    ignoreNulls: true,
  };
  const join = type.kind === 'BYTES' ? 'bq_bytes_join' : 'array_to_string';
  const template = `${join}(nullif(list_slice($1, 1, $2), []), $3)`;
  return boundCall(name, template, [list, count, separator ?? comma], type);
}
