import type { BindContext, Environment } from '../tree/bind-context.ts';
import type {
  BoundExpression,
  BoundOrder,
  BoundQuery,
  BoundSubset,
  OutputColumn,
} from '../tree/bound-tree.ts';
import { isEmptyArray, supertype } from '../tree/coercion.ts';
import { emptyScope, foldName } from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type {
  OrderItem,
  PipeOperator,
  Query,
  QueryBody,
  SetOperation,
  WithItem,
} from '../tree/syntax-tree.ts';
import { type ArrayType, typeName } from '../tree/types.ts';
import { bindFrom } from './bind-from.ts';
import { bindSelect } from './bind-select.ts';
import { orderTerm, outputIndex } from './order-term.ts';
import { bindPipes } from './relational/bind-pipes.ts';
import { bindRecursion, inOrderOfReads, isRecursive } from './relational/bind-recursion.ts';
import { type BoundPart, matchColumns } from './relational/match-columns.ts';
import { rowCount } from './relational/row-count.ts';

/**
 * Resolves every name and type of a query.
 * @throws GatewayError `invalid_query` with line and column, `sandbox_refused` for a table out of a caller's reach
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
  const slice = { limit: rowCount(query.limit, 'LIMIT'), offset: rowCount(query.offset, 'OFFSET') };
  if (query.body.kind === 'select') {
    const select = bindSelect(context, query.body, query.orderBy);
    return { subsets, body: select.body, columns: select.columns, orderBy: select.orderBy, ...slice };
  }
  const part = bindBody(context, query.body);
  const orderBy = query.orderBy.map(item => orderByOutput(item, part.columns));
  return { subsets, ...part, orderBy, ...slice };
}

/** Binds subsets in order, each visible to the next, and adds them to the environment. None sees the query around it. */
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
  const { operator, all } = operation;
  return { body: { kind: 'setOperation', operator, all, parts, columns }, columns };
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
    const type = supertype(parts.map(part => columnAsValue(part, i)));
    if (!all && type?.kind === 'JSON')
      throw invalidQuery(`Column ${i + 1} in ${name} is JSON, which does not compare`, at);
    if (type?.kind === 'ARRAY') return { ...column, isRow, type: { ...type, nulls: commonNulls(parts, i) } };
    if (type) return { ...column, isRow, type };
    const types = parts.map(part => typeName(part.columns[i]!.type)).join(', ');
    throw invalidQuery(`Column ${i + 1} in ${name} has incompatible types: ${types}`, at);
  });
}

/** What NULL means in an array column of a set operation: the same as in every branch, or nobody knows. */
function commonNulls(parts: readonly BoundPart[], index: number): ArrayType['nulls'] {
  const meanings = parts.map(part => {
    const { type } = part.columns[index]!;
    return type.kind === 'ARRAY' ? type.nulls : 'NULL';
  });
  return meanings.every(meaning => meaning === meanings[0]) ? meanings[0] : 'UNCLEAR';
}

/** Stands for a column where only its type matters; a literal with a point is no reason to leave NUMERIC. */
function columnAsValue({ body, columns }: BoundPart, index: number): BoundExpression {
  const { type } = columns[index]!;
  if (type.kind === 'NULL') return { kind: 'null', type };
  const item = body.kind === 'select' ? body.items[index] : undefined;
  if (item?.kind === 'literal' && type.kind === 'FLOAT64') return item;
  if (item && isEmptyArray(item)) return item;
  return { kind: 'column', type, relation: 0, index };
}

/** After a set operation only output columns are there to order by. */
function orderByOutput(item: OrderItem, columns: readonly OutputColumn[]): BoundOrder {
  const by = outputIndex(item.expression, columns);
  if (by === undefined) {
    throw invalidQuery(
      'ORDER BY after a set operation can name output columns only; use a subquery to order by an expression',
      item.expression.at,
    );
  }
  return orderTerm(item, by);
}
