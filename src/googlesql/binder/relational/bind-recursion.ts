import type { SqlPosition } from '../../../base/errors.ts';
import { operator } from '../../functions/operators.ts';
import type { BindContext } from '../../tree/bind-context.ts';
import {
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  type BoundSelect,
  type BoundSubset,
  call,
  literal,
  type OutputColumn,
} from '../../tree/bound-tree.ts';
import { coerce } from '../../tree/coercion.ts';
import { foldName } from '../../tree/scope.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { QueryBody, WithItem } from '../../tree/syntax-tree.ts';
import { scalar } from '../../tree/types.ts';
import { holdsAnyAggregate } from '../../tree/walk-bound-tree.ts';

/** Maximum iterations of a recursive subset. Source: BigQuery's limit. */
const maxIterations = 500;

const int64 = scalar('INT64');

/** Whether a subset refers to itself, as WITH RECURSIVE allows. */
export function isRecursive({ name, query }: WithItem): boolean {
  return countReads(query, foldName(name.name)) > 0;
}

/**
 * Orders the subsets of WITH RECURSIVE so that each comes after those to which it refers; they may refer to later ones.
 * @throws GatewayError `invalid_query` if two refer to each other
 */
export function inOrderOfReads(items: readonly WithItem[]): readonly WithItem[] {
  const byName = Map.groupBy(items, ({ name }) => foldName(name.name));
  const sorted = new Set<WithItem>();
  const waiting = new Set<WithItem>();
  const visit = (item: WithItem): void => {
    if (sorted.has(item)) return;
    if (waiting.has(item))
      throw invalidQuery('Subsets of WITH RECURSIVE that name each other are not supported', item.name.at);
    waiting.add(item);
    for (const name of namesRead(item.query))
      for (const other of byName.get(name) ?? []) if (other !== item) visit(other);
    sorted.add(item);
  };
  for (const item of items) visit(item);
  return [...sorted];
}

/** How often a tree names a table. */
function countReads(node: unknown, name: string): number {
  return tablesRead(node).filter(read => read === name).length;
}

/** The tables that a tree names, each once. */
const namesRead = (node: unknown): ReadonlySet<string> => new Set(tablesRead(node));

/** The tables that a tree names, including names that its own subsets hide: too many are harmless. */
function tablesRead(node: unknown): readonly string[] {
  const found: string[] = [];
  addTables(node, found);
  return found;
}

const readByQueries = new WeakMap<object, readonly string[]>();

function addTables(node: unknown, found: string[]): void {
  if (typeof node !== 'object' || node === null) return;
  if ('pipes' in node) for (const name of tablesOfQuery(node)) found.push(name);
  else addOwnTables(node, found);
}

/** Cached by query: each enclosing WITH RECURSIVE asks for its names. */
function tablesOfQuery(query: object): readonly string[] {
  const known = readByQueries.get(query);
  if (known) return known;
  const found: string[] = [];
  addOwnTables(query, found);
  readByQueries.set(query, found);
  return found;
}

function addOwnTables(node: object, found: string[]): void {
  const { kind, path } = node as { readonly kind?: string; readonly path?: readonly { name: string }[] };
  if (kind === 'table' && path?.length === 1) found.push(foldName(path[0]!.name));
  for (const each of Array.isArray(node) ? node : Object.values(node)) addTables(each, found);
}

type BindBody = (context: BindContext, body: QueryBody) => Pick<BoundQuery, 'body' | 'columns'>;

/**
 * Binds `name AS (initial rows UNION ALL a query over the rows of the previous iteration)`. A hidden column counts the iterations, so
 * that the query ends.
 * @param bindBody binds the body of a query
 */
export function bindRecursion(
  context: BindContext,
  { name, query }: WithItem,
  id: number,
  bindBody: BindBody,
): BoundQuery {
  const { body } = query;
  const refuse = (what: string, at: SqlPosition = name.at): never => {
    throw invalidQuery(`${what} is not supported in a recursive subset`, at);
  };
  const isPlain =
    query.orderBy.length === 0 && !query.limit && query.with.length === 0 && query.pipes.length === 0;
  if (body.kind !== 'setOperation' || body.operator !== 'UNION' || body.match || !isPlain)
    throw invalidQuery(
      `A recursive subset other than a query, UNION ALL, and a query that names it is not supported: ${name.name}`,
      name.at,
    );
  if (!body.all) refuse('UNION DISTINCT');
  const key = foldName(name.name);
  const [last, ...first] = [...body.parts].reverse();
  const start = first.reverse();
  if (countReads(start, key) > 0) refuse('Its own name in the first query');
  if (countReads(last, key) !== 1) refuse('Its own name more than once');

  const base = bindBody(context, start.length === 1 ? start[0]! : { ...body, parts: start });
  const depth: OutputColumn = { name: '', anonymous: true, type: int64, isHidden: true };
  const columns = [...base.columns.map(column => withType(column)), depth];
  const self: BoundSubset = {
    id,
    name: name.name,
    reads: [],
    query: { subsets: [], body: base.body, orderBy: [], columns },
  };
  context.environment.subsets.set(key, self);
  const step = bindBody(context, stripped(last!));
  const select = step.body.kind === 'select' ? step.body : undefined;
  const relation = select?.from && relationOf(select.from, self);
  if (!select || relation === undefined || select.groupBy || select.distinct || select.qualify)
    return refuse('This form of the query that names it');
  if (select.items.some(holdsAnyAggregate)) refuse('An aggregate or analytic function');
  if (step.columns.length !== base.columns.length)
    throw invalidQuery('The queries of a recursive subset have different numbers of columns', name.at);
  const depthBefore: BoundExpression = { kind: 'column', type: int64, relation, index: columns.length - 1 };
  const items = select.items.map((item, i) => coerce(item, columns[i]!.type, name.at));
  const next: BoundSelect = { ...select, items: [...items, nextDepth(depthBefore, name.at)] };
  return {
    subsets: [],
    orderBy: [],
    columns,
    body: {
      kind: 'setOperation',
      operator: 'UNION',
      all: true,
      columns,
      parts: [
        { body: counted(context, base), columns },
        { body: next, columns },
      ],
    },
  };
}

/** A bare NULL in the initial rows is an INT64. */
function withType(column: OutputColumn): OutputColumn {
  return column.type.kind === 'NULL' ? { ...column, type: int64 } : column;
}

function stripped(body: QueryBody): QueryBody {
  if (body.kind !== 'parenthesized') return body;
  const { query } = body;
  const isBare =
    query.with.length === 0 && query.orderBy.length === 0 && !query.limit && query.pipes.length === 0;
  return isBare ? stripped(query.body) : body;
}

/** The relation of the subset in a FROM clause that keeps each of its rows; not on the optional side of an outer join. */
function relationOf(from: BoundFrom, subset: BoundSubset): number | undefined {
  switch (from.kind) {
    case 'subset':
      return from.subset === subset ? from.relation : undefined;
    case 'join': {
      const left = ['RIGHT', 'FULL'].includes(from.join) ? undefined : relationOf(from.left, subset);
      return left ?? (['LEFT', 'FULL'].includes(from.join) ? undefined : relationOf(from.right, subset));
    }
    case 'unnest':
      return from.input && relationOf(from.input, subset);
    default:
      return undefined;
  }
}

function nextDepth(depth: BoundExpression, at: SqlPosition): BoundExpression {
  const message = `A recursive CTE has reached the maximum number of iterations: ${maxIterations}`;
  const failed = call('FAIL', `bq_fail('${message}')`, [], int64);
  const isOver = operator('>=', [depth, literal('INT64', String(maxIterations))], at);
  return {
    kind: 'case',
    type: int64,
    branches: [{ when: isOver, result: failed }],
    otherwise: operator('+', [depth, literal('INT64', '1')], at),
  };
}

/** The initial rows, each with the count 0. */
function counted(context: BindContext, { body, columns }: Pick<BoundQuery, 'body' | 'columns'>): BoundSelect {
  const relation = context.statement.nextId();
  const items = columns.map((column, index): BoundExpression => {
    const { type } = withType(column);
    return column.type.kind === 'NULL' ? { kind: 'null', type } : { kind: 'column', type, relation, index };
  });
  const query: BoundQuery = { subsets: [], body, orderBy: [], columns };
  return {
    kind: 'select',
    distinct: false,
    items: [...items, literal('INT64', '0')],
    from: { kind: 'derived', relation, query },
  };
}
