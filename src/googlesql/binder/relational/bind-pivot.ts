import type { SqlPosition } from '../../../base/errors.ts';
import { operator } from '../../functions/operators.ts';
import type { BindContext, BoundSource } from '../../tree/bind-context.ts';
import { type BoundExpression, type BoundQuery, negated, type OutputColumn } from '../../tree/bound-tree.ts';
import { coerce } from '../../tree/coercion.ts';
import { emptyScope } from '../../tree/scope.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import { typeAsPart } from '../../tree/storage.ts';
import type { Expression, NamedExpression, Pivot, Unpivot } from '../../tree/syntax-tree.ts';
import { typeName } from '../../tree/types.ts';
import { childrenOf, holdsAnyAggregate, isConstant, sizeOf } from '../../tree/walk-bound-tree.ts';
import { bindExpression } from '../bind-expression.ts';
import { nextRelation, queryScope } from '../bind-from.ts';
import { everyColumn, refuseManyColumns } from '../bind-select-list.ts';

/** Each aggregate over the rows of each value, grouped by the columns that neither uses. */
export function bindPivot(context: BindContext, item: Pivot, input: BoundSource): BoundSource {
  const { aggregates, values, by, at } = item;
  const rows: BindContext = { ...context, scope: input.scope, windows: new Map() };
  const key = bindExpression({ ...rows, aggregatesRefusedIn: 'the FOR clause of PIVOT' }, by);
  if (holdsAnyAggregate(key)) throw invalidQuery('FOR of PIVOT cannot contain analytic functions', by.at);
  if (['ARRAY', 'STRUCT', 'JSON', 'INTERVAL'].includes(key.type.kind))
    throw invalidQuery(`PIVOT by expressions of type ${typeName(key.type)} is not supported`, by.at);
  const calls = aggregates.map(({ expression }) => aggregateCall(rows, expression));
  if (aggregates.length > 1 && aggregates.some(({ alias }) => !alias))
    throw invalidQuery(
      'PIVOT expression must specify an alias unless there is exactly one PIVOT expression',
      at,
    );

  const used = new Set([key, ...calls].flatMap(columnKeys));
  const kept = everyColumn(input.scope).filter(
    ({ value }) => !columnKeys(value).some(read => used.has(read)),
  );
  for (const { name, value } of kept)
    if (['ARRAY', 'STRUCT', 'JSON'].includes(value.type.kind))
      throw invalidQuery(
        `PIVOT is not allowed to group by column ${name} of type ${typeName(value.type)}`,
        at,
      );
  const keptColumns = kept.map(({ name, value }): OutputColumn & { value: BoundExpression } => ({
    name,
    anonymous: name === '',
    type: typeAsPart(value),
    value,
  }));
  const count = keptColumns.length + values.length * calls.length;
  refuseManyColumns(count, at);
  context.statement.count('columns', count, at);
  const pivoted = values.flatMap(value => {
    const test = isValue(rows, key, value);
    return calls.map((call, i) => {
      const name = columnName(aggregates[i]!, value);
      const place = aggregates[i]!.expression.at;
      // Each column repeats the whole call.
      context.statement.count('expressions', sizeOf(call) + sizeOf(key), place);
      const filtered = withFilter(call, test, place);
      return { name, anonymous: name === '', type: typeAsPart(filtered), value: filtered };
    });
  });
  const groupBy = kept.length > 0 ? kept.map(({ value }) => value) : undefined;
  const all = [...keptColumns, ...pivoted];
  const items = all.map(({ value }) => value);
  const columns = all.map(({ value: _, ...column }) => column);
  const body = { kind: 'select', distinct: false, items, from: input.from, groupBy } as const;
  return derivedSource(context, { subsets: [], body, orderBy: [], columns }, item);
}

/** A query as FROM item. */
export function derivedSource(
  context: BindContext,
  query: BoundQuery,
  { alias, at }: Pivot | Unpivot,
): BoundSource {
  const relation = nextRelation(context, { at });
  const scope = queryScope(context, { name: alias?.name, relation, query, at });
  return { from: { kind: 'derived', relation, query }, scope: { ...emptyScope, ...scope } };
}

function aggregateCall(rows: BindContext, expression: Expression): BoundExpression {
  const call =
    expression.kind === 'call' && !expression.over
      ? bindExpression({ ...rows, aggregatesRefusedIn: undefined }, expression)
      : undefined;
  if (call && holdsAnyAggregate(call)) return call;
  throw invalidQuery('PIVOT expression must be an aggregate function call', expression.at);
}

function isValue(rows: BindContext, key: BoundExpression, { expression }: NamedExpression): BoundExpression {
  const value = bindExpression({ ...rows, scope: emptyScope, aggregatesRefusedIn: 'PIVOT' }, expression);
  if (!isConstant(value)) throw invalidQuery('IN expression of PIVOT must be constant', expression.at);
  const operands = [key, coerce(value, key.type, expression.at)];
  return negated(operator('IS DISTINCT FROM', operands, expression.at));
}

/** The call over the rows that fulfil a condition. Its arguments are not calculated for other rows, where they might fail. */
function withFilter(call: BoundExpression, filter: BoundExpression, at: SqlPosition): BoundExpression {
  const again = (inner: BoundExpression) => withFilter(inner, filter, at);
  const guarded = (value: BoundExpression): BoundExpression =>
    value.kind === 'column' || isConstant(value)
      ? value
      : { kind: 'case', type: value.type, branches: [{ when: filter, result: value }] };
  switch (call.kind) {
    case 'aggregate': {
      const hasRoom = /\$over/.test(call.template) && !/ filter \(/.test(call.template);
      const isPlain = hasRoom && !(call.distinct && call.orderBy.length > 0);
      if (!isPlain) throw invalidQuery(`${call.name} in this form is not supported in PIVOT`, at);
      const orderBy = call.orderBy.map(o => ({ ...o, by: typeof o.by === 'number' ? o.by : guarded(o.by) }));
      return { ...call, arguments: call.arguments.map(guarded), orderBy, filter };
    }
    case 'call':
      return { ...call, arguments: call.arguments.map(again) };
    case 'cast':
      return { ...call, of: again(call.of) };
    default:
      if (!holdsAnyAggregate(call)) return call;
      throw invalidQuery('This aggregate function is not supported in PIVOT', at);
  }
}

/** Columns that an expression reads. */
function columnKeys(expression: BoundExpression): string[] {
  if (expression.kind === 'column') return [`${expression.relation}.${expression.index}`];
  return childrenOf(expression).flatMap(columnKeys);
}

function columnName(aggregate: NamedExpression, value: NamedExpression): string {
  const prefix = aggregate.alias?.name;
  const own = value.alias?.name ?? impliedValueName(value.expression);
  if (own === undefined)
    throw invalidQuery('This value of PIVOT has no name of its own; give it an alias', value.expression.at);
  if (prefix === undefined) return own;
  return `${prefix}_${value.alias ? own : own.replace(/^_(?=\d)/, '')}`;
}

/** The name of a column for a value: `_1`, `minus_1_point_5`, `_2026_01_31`, the text itself. */
function impliedValueName(expression: Expression): string | undefined {
  if (expression.kind === 'unary' && expression.operator === '-') {
    const positive = impliedValueName(expression.of);
    return positive?.startsWith('_') ? `minus${positive}` : undefined;
  }
  if (expression.kind !== 'literal') return undefined;
  const { type, value } = expression;
  switch (type) {
    case 'NULL':
      return 'NULL';
    case 'BOOL':
      return value.toLowerCase();
    case 'STRING':
      // A name can't contain NUL or be empty.
      return value.includes('\0') ? undefined : value || 'empty_string_value';
    case 'INT64':
    case 'NUMERIC':
      return `${value.startsWith('-') ? 'minus' : ''}_${value.replace('-', '').replace('.', '_point_')}`;
    case 'DATE':
      return `_${value.replaceAll('-', '_')}`;
    default:
      return undefined;
  }
}
