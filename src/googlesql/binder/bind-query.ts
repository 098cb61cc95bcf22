import type { BindContext, Environment } from '../tree/bind-context.ts';
import type { BoundExpression, BoundQuery, BoundSubset, OutputColumn } from '../tree/bound-tree.ts';
import { anyValueOf, coerce, coercionCost, supertype } from '../tree/coercion.ts';
import { emptyScope, foldName } from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { isEmptyArray } from '../tree/storage.ts';
import type { PipeOperator, Query, QueryBody, SetOperation, WithItem } from '../tree/syntax-tree.ts';
import { type ArrayType, typeName } from '../tree/types.ts';
import { bindFrom, nextRelation, outputColumns, queryScope } from './bind-from.ts';
import { bindSelect } from './bind-select.ts';
import { bindOrderKey, orderTerm, outputIndex, refuseOrder } from './order-term.ts';
import { bindPipes } from './relational/bind-pipes.ts';
import { bindRecursion, inOrderOfReads, isRecursive } from './relational/bind-recursion.ts';
import { type BoundPart, matchColumns } from './relational/match-columns.ts';
import { rowCount } from './relational/row-count.ts';

/**
 * Resolves every name and type of a query.
 * @throws GatewayError `invalid_query` with line and column, `sandbox_refused` for a table that a caller's SQL may not read
 */
export function bindQuery(outer: BindContext, query: Query): BoundQuery {
  const environment: Environment = { subsets: new Map(), parent: outer.environment };
  const context = { ...outer, environment };
  const subsets = bindSubsets(context, query.with, query.isRecursive);
  if (query.pipes.length > 0 || query.body.kind === 'from') {
    const { pipes, body } = query;
    const input =
      body.kind === 'from'
        ? bindFrom(context, body.from)
        : bindQuery(context, { ...query, with: [], pipes: [] });
    return { subsets, ...bindPipes(context, input, pipes, bindPipedOperation) };
  }
  const slice = {
    limit: rowCount(context, query.limit, 'LIMIT'),
    offset: rowCount(context, query.offset, 'OFFSET'),
  };
  if (query.body.kind === 'select') {
    const select = bindSelect(context, query.body, query.orderBy);
    return { subsets, body: select.body, columns: select.columns, orderBy: select.orderBy, ...slice };
  }
  const part = bindBody(context, query.body);
  return { subsets, ...inOrder(context, query, part), ...slice };
}

/** Binds subsets in order, each visible to the next, and adds them to the environment. None can see the enclosing query. */
export function bindSubsets(
  context: BindContext,
  items: readonly WithItem[],
  mayRecur = false,
): readonly BoundSubset[] {
  return (mayRecur ? inOrderOfReads(items) : items).map(item => bindSubset(context, item, mayRecur));
}

function bindSubset(context: BindContext, item: WithItem, mayRecur: boolean): BoundSubset {
  const { statement, environment } = context;
  const { name, query } = item;
  const id = statement.nextId();
  const readsBefore = statement.subsetReads.length;
  const inside = { ...context, scope: emptyScope };
  const recurs = mayRecur && isRecursive(item);
  const bound = recurs ? bindRecursion(inside, item, id, bindBody) : bindQuery(inside, query);
  const reads = statement.subsetReads.slice(readsBefore);
  const subset = { id, name: name.name, query: bound, reads, isRecursive: recurs };
  environment.subsets.set(foldName(name.name), subset);
  return subset;
}

function bindBody(context: BindContext, body: QueryBody): BoundPart {
  switch (body.kind) {
    case 'select': {
      const { body: select, columns } = bindSelect(context, body, []);
      return { body: select, columns };
    }
    case 'parenthesized': {
      const query = bindQuery(context, body.query);
      return { body: { kind: 'query', query }, columns: query.columns };
    }
    case 'from': {
      const query = {
        subsets: [],
        ...bindPipes(context, bindFrom(context, body.from), [], bindPipedOperation),
      };
      return { body: { kind: 'query', query }, columns: query.columns };
    }
    case 'setOperation': {
      const parts = body.parts.map(part => bindBody(context, part));
      return united(context, body, parts);
    }
  }
}

function united(context: BindContext, operation: Operation, written: readonly BoundPart[]): BoundPart {
  const parts = hasMatch(operation) ? matchColumns(context, operation, written) : written;
  const columns = commonColumns(operation, parts);
  const { operator, all, at } = operation;
  const settled = parts.map(part => withTypes(part, columns, at));
  return { body: { kind: 'setOperation', operator, all, parts: settled, columns }, columns };
}

/** Gives the literals of a branch the types of the whole operation; its columns are cast when they are printed. */
function withTypes(part: BoundPart, types: readonly OutputColumn[], at: SetOperation['at']): BoundPart {
  const isWritten = part.columns.map((_, i) => {
    const { type } = types[i]!;
    return coercionCost(columnAsValue(part, i), type) === undefined;
  });
  if (!isWritten.some(Boolean)) return part;
  const columns = part.columns.map((column, i) =>
    isWritten[i] ? { ...column, type: types[i]!.type } : column,
  );
  const { body } = part;
  if (body.kind === 'query') {
    const inner = withTypes({ body: body.query.body, columns: body.query.columns }, types, at);
    return { body: { ...body, query: { ...body.query, ...inner } }, columns };
  }
  // Nothing else is written out, see `writtenValue`.
  if (body.kind !== 'select') return part;
  const items = body.items.map((item, i) => (isWritten[i] ? coerce(item, types[i]!.type, at) : item));
  return { body: { ...body, items }, columns };
}

function bindPipedOperation(
  context: BindContext,
  input: BoundQuery,
  { operator, queries, at }: Extract<PipeOperator, { kind: 'setOperation' }>,
): BoundQuery {
  const all = [input, ...queries.map(query => bindQuery(context, query))];
  const parts = all.map((query): BoundPart => ({ body: { kind: 'query', query }, columns: query.columns }));
  return { subsets: [], ...united(context, { ...operator, at }, parts), orderBy: [] };
}

type Operation = Omit<SetOperation, 'kind' | 'parts'>;

type MatchedByName = Operation & { readonly match: NonNullable<Operation['match']> };

const hasMatch = (operation: Operation): operation is MatchedByName => operation.match !== undefined;

/** Names come from the first branch, types from all of them; a bare NULL takes any type. */
function commonColumns(
  { operator, all, at }: Operation,
  parts: readonly BoundPart[],
): readonly OutputColumn[] {
  const [first, ...others] = parts;
  const name = `${operator} ${all ? 'ALL' : 'DISTINCT'}`;
  if (others.some(part => part.columns.length !== first!.columns.length)) {
    const counts = parts.map(part => part.columns.length).join(' vs. ');
    throw invalidQuery(`Queries in ${name} have mismatched column count; got ${counts} columns`, at);
  }
  const isRow = parts.every(part => part.columns[0]?.isRow);
  return first!.columns.map((column, i) => {
    const type =
      supertype(parts.map(part => columnAsValue(part, i))) ??
      supertype(parts.map(part => writtenValue(part, i) ?? columnAsValue(part, i)));
    if (!all && type?.kind === 'JSON')
      throw invalidQuery(`Column ${i + 1} in ${name} is JSON, which does not compare`, at);
    if (type?.kind === 'ARRAY') return { ...column, isRow, type: { ...type, nulls: commonNulls(parts, i) } };
    if (type) return { ...column, isRow, type };
    const types = parts.map(part => typeName(part.columns[i]!.type)).join(', ');
    throw invalidQuery(`Column ${i + 1} in ${name} has incompatible types: ${types}`, at);
  });
}

/** What NULL means in an array column of a set operation: the same as in all branches, or else unclear. */
function commonNulls(parts: readonly BoundPart[], index: number): ArrayType['nulls'] {
  const meanings = parts.map(part => {
    const { type } = part.columns[index]!;
    return type.kind === 'ARRAY' ? type.nulls : 'NULL';
  });
  return meanings.every(meaning => meaning === meanings[0]) ? meanings[0] : 'UNCLEAR';
}

/** Represents a column of which only the type matters. A literal with a point does not turn NUMERIC into FLOAT64. */
function columnAsValue({ body, columns }: BoundPart, index: number): BoundExpression {
  const { type } = columns[index]!;
  if (type.kind === 'NULL') return { kind: 'null', type };
  const item = body.kind === 'select' ? body.items[index] : undefined;
  if (item?.kind === 'literal' && type.kind === 'FLOAT64') return item;
  if (item && isEmptyArray(item)) return item;
  return anyValueOf(type);
}

/** The value that a branch selects, if it is written in the branch itself: a literal can take a type to which a column would need a cast. */
function writtenValue({ body }: Pick<BoundPart, 'body'>, index: number): BoundExpression | undefined {
  const isBare = body.kind === 'query' && body.query.orderBy.length === 0 && body.query.limit === undefined;
  if (isBare) return writtenValue(body.query, index);
  const item = body.kind === 'select' && !body.distinct ? body.items[index] : undefined;
  return item && ['literal', 'array', 'struct'].includes(item.kind) ? item : undefined;
}

/** ORDER BY after a set operation, which sees only the output columns; expressions over them need an enclosing SELECT. */
function inOrder(
  context: BindContext,
  { orderBy: items, at }: Query,
  part: BoundPart,
): Pick<BoundQuery, 'body' | 'columns' | 'orderBy'> {
  const { columns } = part;
  const indexes = items.map(({ expression }) => outputIndex(expression, columns));
  for (const [i, index] of indexes.entries())
    if (index !== undefined) refuseOrder(columns[index]!.type, items[i]!.expression.at);
  if (indexes.every(index => index !== undefined))
    return { ...part, orderBy: items.map((item, i) => orderTerm(item, indexes[i]!)) };
  const relation = nextRelation(context, { at });
  const query: BoundQuery = { subsets: [], ...part, orderBy: [] };
  const scope = queryScope(context, { name: undefined, relation, query, at });
  const around = { ...context, scope, aggregatesRefusedIn: 'ORDER BY clause after a set operation' };
  const orderBy = items.map((item, i) =>
    orderTerm(item, indexes[i] ?? bindOrderKey(around, item.expression)),
  );
  const values = outputColumns(relation, columns).map(({ value }) => value);
  const from = { kind: 'derived', relation, query } as const;
  return { body: { kind: 'select', distinct: false, items: values, from }, columns, orderBy };
}
