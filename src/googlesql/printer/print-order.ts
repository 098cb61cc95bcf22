import type { BoundExpression, BoundFrom, BoundOrder, BoundQuery, BoundSelect } from '../tree/bound-tree.ts';
import { valuesWhereTrue } from '../tree/implied-presence.ts';
import type { SqlType } from '../tree/types.ts';
import { childrenOf, holdsAnyAggregate, isConstant } from '../tree/walk-bound-tree.ts';

/** What a term of ORDER BY sorts by. */
type SortKey = {
  /** The expression, or the number of its column. */
  readonly key: string;
  /** The expression itself, for a FLOAT64. */
  readonly value: () => string;
  readonly type: SqlType | undefined;
};

/** Prints a term of ORDER BY. NaN is the least number to BigQuery, the greatest to DuckDB. */
export function printOrderTerm(
  { key, value, type }: SortKey,
  { descending, nulls }: Pick<BoundOrder, 'descending' | 'nulls'>,
): string {
  const nullOrder = `nulls ${nulls.toLowerCase()}`;
  const plain = `${key} ${descending ? 'desc' : 'asc'} ${nullOrder}`;
  if (type?.kind !== 'FLOAT64') return plain;
  return `isnan(${value()}) ${descending ? 'asc' : 'desc'} ${nullOrder}, ${plain}`;
}

type Column = Extract<BoundExpression, { kind: 'column' }>;

/** Maximum rows of LIMIT and OFFSET for which `amongFirst` looks up the times. */
const maxFirst = 10_000;

/** A column, and a query for its first values. */
type FirstValues = { readonly column: Column; readonly query: BoundQuery; readonly descending: boolean };

/**
 * For the first rows by time of one stored table, the column of times and a query for theirs; undefined for any other query. With the
 * condition that a row's time is not beyond the last of these the rows stay the same. DuckDB finds the times in a few narrow columns, and then
 * reads the wide ones only there, instead of in whole groups of 122,880 rows. If few rows fit, it searches the table twice, so this is only for tests that cost little (decision 149).
 */
export function amongFirst({
  body,
  orderBy: [first],
  limit,
  offset = 0,
}: BoundQuery): FirstValues | undefined {
  if (body.kind !== 'select' || !body.from || !isPlain(body) || !first) return undefined;
  if (typeof limit !== 'number' || typeof offset !== 'number' || limit + offset > maxFirst) return undefined;
  const key = typeof first.by === 'number' ? body.items[first.by] : first.by;
  const scan = scanOf(body.from);
  if (key?.kind !== 'column' || key.type.kind !== 'TIMESTAMP' || !scan) return undefined;
  const { from, where } = body;
  const tests = [...scan.tests, ...(where ? [where] : [])];
  // The query that is made below: it has no wide columns.
  if (body.items.length === 1 && body.items[0] === key) return undefined;
  const isTime = (value: BoundExpression) => isColumn(value, key) || isColumn(value, scan.originOf(key));
  const isOwn = (relation: number) => scan.relations.includes(relation);
  // NULL is neither before nor after a time, so some test must already leave out rows without one.
  if (!tests.every(test => isCheap(test, isOwn)) || !tests.flatMap(valuesWhereTrue).some(isTime))
    return undefined;
  const query: BoundQuery = {
    subsets: [],
    body: { kind: 'select', distinct: false, items: [key], from, ...(where && { where }) },
    orderBy: [{ ...first, by: 0 }],
    limit: limit + offset,
    columns: [{ name: '', anonymous: true, type: key.type }],
  };
  return { column: key, query, descending: first.descending };
}

const isPlain = ({ distinct, groupBy, having, qualify, items }: BoundSelect): boolean =>
  !distinct && !groupBy && !having && !qualify && !items.some(holdsAnyAggregate);

const isColumn = (value: BoundExpression, column: Column | undefined): boolean =>
  value.kind === 'column' && value.relation === column?.relation && value.index === column.index;

type Scan = {
  readonly relations: readonly number[];
  /** The conditions of a subset, and the records. */
  readonly tests: readonly BoundExpression[];
  /** The column of the stored table that a column passes on unchanged. */
  originOf(column: Column): Column | undefined;
};

/** What a FROM clause reads, if it reads one stored table: directly, or through a subset that only filters it, with or without records of its rows. */
function scanOf(from: BoundFrom): Scan | undefined {
  switch (from.kind) {
    case 'table':
      return { relations: [from.relation], tests: [], originOf: column => column };
    case 'subset': {
      const { body, limit, offset, subsets } = from.subset.query;
      if (body.kind !== 'select' || body.from?.kind !== 'table' || !isPlain(body)) return undefined;
      if (limit !== undefined || offset !== undefined || subsets.length > 0) return undefined;
      const { items, where } = body;
      const originOf = ({ relation, index }: Column) => {
        const item = relation === from.relation ? items[index] : undefined;
        return item?.kind === 'column' ? item : undefined;
      };
      return { relations: [from.relation, body.from.relation], tests: where ? [where] : [], originOf };
    }
    case 'unnest': {
      const { relation, array, input, outer, on } = from;
      const isRecord = array.type.kind === 'ARRAY' && array.type.single;
      const scan = isRecord && input && !outer && !on ? scanOf(input) : undefined;
      return scan && { ...scan, relations: [...scan.relations, relation], tests: [...scan.tests, array] };
    }
    default:
      return undefined;
  }
}

const comparisons: ReadonlySet<string> = new Set(['AND', 'OR', 'NOT', '=', '!=', '<', '<=', '>', '>=', 'IN']);

/** Whether a condition only compares columns of the scan and constants, which are the same each time they are calculated. */
function isCheap(condition: BoundExpression, isOwn: (relation: number) => boolean): boolean {
  if (condition.kind === 'column') return isOwn(condition.relation);
  if (isConstant(condition)) return !holdsVolatile(condition);
  const isComparison = condition.kind === 'call' && comparisons.has(condition.name);
  if (!isComparison && condition.kind !== 'isNull' && condition.kind !== 'field') return false;
  return childrenOf(condition).every(child => isCheap(child, isOwn));
}

/** RAND and GENERATE_UUID are the calls without arguments. */
const holdsVolatile = (value: BoundExpression): boolean =>
  (value.kind === 'call' && value.arguments.length === 0) || childrenOf(value).some(holdsVolatile);
