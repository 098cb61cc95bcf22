import { type BoundExpression, type BoundFrom, type BoundQuery, negated } from '../tree/bound-tree.ts';
import { readsAround, relationsInSubqueries, relationsOf } from '../tree/query-reads.ts';
import { scalar } from '../tree/types.ts';

type Join = Extract<BoundFrom, { kind: 'join' }>;
type Unnest = Extract<BoundFrom, { kind: 'unnest' }>;

/** The side of a join that keeps all its rows, and a query for the rows of the other side that match each of them. */
export type Lateral = {
  readonly kept: BoundFrom;
  readonly query: BoundQuery;
  readonly columns: readonly Column[];
};

type Column = Extract<BoundExpression, { kind: 'column' }>;

const bool = scalar('BOOL');

/** An outer join as a lateral query, if a subquery in its ON reads both sides; otherwise undefined. */
export function lateralOf({ join, left, right, on }: Join): Lateral | undefined {
  if ((join !== 'LEFT' && join !== 'RIGHT') || !on || !readsBoth(on, left, right)) return undefined;
  const [kept, other] = join === 'RIGHT' ? [right, left] : [left, right];
  return { kept, ...rowsOf(other, on) };
}

/** LEFT JOIN UNNEST as a lateral query, if a subquery in its ON reads the element; otherwise undefined. */
export function lateralUnnestOf(from: Unnest): Lateral | undefined {
  const { input, outer, on, relation } = from;
  if (!input || !outer || !on || !relationsInSubqueries(on).some(read => read.has(relation)))
    return undefined;
  return { kept: input, ...rowsOf({ ...from, input: undefined, outer: false, on: undefined }, on) };
}

/**
 * A FULL JOIN as a union, if DuckDB can't run the join: a subquery in its ON reads both sides, or something in it reads an enclosing query.
 * The rows are those of the LEFT JOIN, then those of the right side that match no row of the left. Otherwise undefined.
 */
export function unionOf({ join, left, right, on }: Join): Omit<Lateral, 'kept'> | undefined {
  if (join !== 'FULL' || !on) return undefined;
  const columns = [...columnsOf(left), ...columnsOf(right)];
  if (!readsBoth(on, left, right) && !readsAround({ kind: 'join', join, left, right, on })) return undefined;
  const fits: BoundExpression = {
    kind: 'subquery',
    form: 'EXISTS',
    type: bool,
    query: rowsOf(left, on).query,
  };
  const none = columnsOf(left).map(({ type }): BoundExpression => ({ kind: 'null', type }));
  const outputs = columns.map(outputOf);
  const matched = selectOf(columns, { kind: 'join', join: 'LEFT', left, right, on });
  const others = {
    ...selectOf([...none, ...columnsOf(right)], right),
    where: negated(fits),
  };
  const parts = [matched, others].map(body => ({ body, columns: outputs }));
  const body = { kind: 'setOperation', operator: 'UNION', all: true, parts, columns: outputs } as const;
  return { columns, query: { subsets: [], body, orderBy: [], columns: outputs } };
}

function readsBoth(on: BoundExpression, left: BoundFrom, right: BoundFrom): boolean {
  const sides = [left, right].map(relationsOf);
  return relationsInSubqueries(on).some(read => sides.every(side => !side.isDisjointFrom(read)));
}

/** The rows of a FROM clause that fulfil a condition, with all columns. */
function rowsOf(from: BoundFrom, where: BoundExpression): Omit<Lateral, 'kept'> {
  const columns = columnsOf(from);
  const body = { ...selectOf(columns, from), where };
  return { columns, query: { subsets: [], body, orderBy: [], columns: columns.map(outputOf) } };
}

const selectOf = (items: readonly BoundExpression[], from: BoundFrom) =>
  ({ kind: 'select', distinct: false, items, from }) as const;

const outputOf = ({ type }: Column) => ({ name: '', anonymous: true, type });

function columnsOf(from: BoundFrom): readonly Column[] {
  switch (from.kind) {
    case 'table':
      return from.table.columns.map(({ type }, index) => column(from.relation, index, type));
    case 'subset':
      return from.subset.query.columns.map(({ type }, index) => column(from.relation, index, type));
    case 'derived':
      return from.query.columns.map(({ type }, index) => column(from.relation, index, type));
    case 'join':
      return [...columnsOf(from.left), ...columnsOf(from.right)];
    case 'unnest': {
      const { array, relation, withOffset, input } = from;
      const element = array.type.kind === 'ARRAY' ? array.type.element : array.type;
      const own = [
        column(relation, 0, element),
        ...(withOffset ? [column(relation, 1, scalar('INT64'))] : []),
      ];
      return input ? [...columnsOf(input), ...own] : own;
    }
  }
}

const column = (relation: number, index: number, type: Column['type']): Column => ({
  kind: 'column',
  type,
  relation,
  index,
});
