import type {
  BoundBody,
  BoundExpression,
  BoundFrom,
  BoundOrder,
  BoundQuery,
  BoundSelect,
  OutputColumn,
  RowCount,
} from '../tree/bound-tree.ts';
import { coerce } from '../tree/coercion.ts';
import { duckDbType } from '../tree/duckdb-type.ts';
import { impliedPresence } from '../tree/implied-presence.ts';
import { mayFailItself } from '../tree/may-fail.ts';
import { isPath, pathsInSubqueries } from '../tree/query-reads.ts';
import { startOfText } from '../tree/sql-error.ts';
import { sameStorage } from '../tree/storage.ts';
import {
  childrenOf,
  holdsAggregate,
  holdsAnyAggregate,
  holdsSubquery,
  isConstant,
} from '../tree/walk-bound-tree.ts';
import { asCondition, conjunctsOf, printFilters } from './print-condition.ts';
import { closedFrom, type PrintedFrom, printFrom } from './print-from.ts';
import { amongFirst, printOrderTerm } from './print-order.ts';
import { convertStorage } from './print-storage.ts';
import { columnKey, type OwnRow, type Printer, subsetName } from './printer.ts';

/**
 * Prints a query with columns `c0`, `c1` … In SQL an ORDER BY without LIMIT has no meaning inside another query: it is left out, which
 * saves a sort.
 */
export function printQuery(outer: Printer, query: BoundQuery, options: { keepsOrder: boolean }): string {
  const groupedValues = new Map(outer.groupedValues);
  const printer: Printer = { ...outer, groupedValues, own: undefined, isCondition: false };
  const isSliced = query.limit !== undefined || query.offset !== undefined;
  const isWrapped = mustWrap(query);
  const moved = new Map<string, string>();
  const inner = printBody(printer, query.body, {
    filtered: printer.filteredColumns.get(query),
    query,
    moved,
  });
  const body = isWrapped ? `select * from (${inner})` : inner;
  // A constant orders nothing, and DuckDB would read the text '1' as the first column.
  const terms = query.orderBy.filter(
    ({ by }) => typeof by === 'number' || (by.kind !== 'literal' && by.kind !== 'null'),
  );
  const order = terms.map(item => printQueryOrder(printer, item, query, isWrapped)).join(', ');
  for (const [key, sql] of moved) printer.references.set(key, sql);
  const slice = [
    order && (options.keepsOrder || isSliced) ? ` order by ${order}` : '',
    query.limit === undefined ? '' : ` limit ${printRowCount(printer, query.limit)}`,
    query.offset === undefined ? '' : ` offset ${printRowCount(printer, query.offset)}`,
  ].join('');
  // Last, and in reverse: only now is it known which subsets are read, and how often.
  const subsets: string[] = [];
  for (const subset of query.subsets.toReversed()) {
    const uses = printer.usedSubsets.get(subset.id) ?? 0;
    if (uses === 0) continue;
    const inner = printQuery(printer, subset.query, { keepsOrder: false });
    const isCheap = !subset.isRecursive && (uses === 1 || readsOneSource(subset.query));
    // By itself, DuckDB plans and calculates some subsets once for each reader, whatever they cost.
    const kept = isCheap ? 'not materialized ' : subset.isRecursive ? '' : 'materialized ';
    subsets.unshift(`${subsetName(subset.id)} as ${kept}(${inner})`);
  }
  const recursive = query.subsets.some(subset => subset.isRecursive) ? 'recursive ' : '';
  return `${subsets.length > 0 ? `with ${recursive}${subsets.join(', ')} ` : ''}${body}${slice}`;
}

const printRowCount = (printer: Printer, count: RowCount) =>
  typeof count === 'number' ? String(count) : printer.expression(printer, count);

/** Only a plain SELECT can order by more than its columns, as FLOAT64 requires: see `printOrderTerm`. */
function mustWrap({ body, orderBy, columns }: BoundQuery): boolean {
  const isPlain = body.kind === 'select' && !body.distinct;
  return !isPlain && orderBy.some(({ by }) => typeof by === 'number' && columns[by]!.type.kind === 'FLOAT64');
}

/** A filtered scan is cheaper to repeat than to materialise: each reader's filters are pushed into it. */
function readsOneSource({ body, limit }: BoundQuery): boolean {
  return (
    body.kind === 'select' &&
    limit === undefined &&
    !body.groupBy &&
    !body.distinct &&
    body.from?.kind === 'table'
  );
}

function printBody(printer: Printer, body: BoundBody, around: Around = { moved: new Map() }): string {
  switch (body.kind) {
    case 'select':
      return printSelect(printer, body, around);
    case 'query':
      // Not only in parentheses: DuckDB accepts no LIMIT after them if there is one inside.
      return `select * from (${printer.query(printer, body.query, { keepsOrder: false })})`;
    case 'setOperation': {
      const rows = constantRows(printer, body);
      if (rows) return rows;
      const operator = `${body.operator.toLowerCase()}${body.all ? ' all' : ''}`;
      const parts = body.parts.map(part =>
        asColumns(`(${printBody(printer, part.body)})`, part.columns, body.columns),
      );
      return parts.join(` ${operator} `);
    }
  }
}

/**
 * `select 1 union all select 2` as VALUES: one scan, in the order of the text. DuckDB runs branches in any order, which would show in
 * arrays without ORDER BY and in ties.
 */
function constantRows(
  printer: Printer,
  { operator, all, parts, columns }: Extract<BoundBody, { kind: 'setOperation' }>,
): string | undefined {
  if (operator !== 'UNION' || !all) return undefined;
  const rows: string[] = [];
  for (const { body, columns: own } of parts) {
    if (body.kind !== 'select' || body.from || body.where || !body.items.every(isConstant)) return undefined;
    const values = body.items.map((item, i) => {
      const { type } = columns[i]!;
      // Field by field: converting the record would repeat its text for each of them.
      if (item.kind === 'struct') return printer.expression(printer, coerce(item, type, startOfText));
      return convert(printer.expression(printer, item), own[i]!.type, type);
    });
    rows.push(`(${values.join(', ')})`);
  }
  const names = columns.map((_, i) => `c${i}`).join(', ');
  return `select ${names} from (values ${rows.join(', ')}) as ${printer.newAlias()}(${names})`;
}

/** Casts a branch to the types that the whole set operation has. */
function asColumns(sql: string, from: readonly OutputColumn[], to: readonly OutputColumn[]): string {
  if (from.every(({ type }, i) => sameStorage(type, to[i]!.type))) return sql;
  const columns = from.map(({ type }, i) => `${convert(`c${i}`, type, to[i]!.type)} as c${i}`);
  return `(select ${columns.join(', ')} from ${sql})`;
}

function convert(sql: string, from: OutputColumn['type'], to: OutputColumn['type']): string {
  if (sameStorage(from, to)) return sql;
  const isUntyped = from.kind === 'ARRAY' && from.element.kind === 'NULL';
  if (from.kind === to.kind && !isUntyped) return convertStorage(sql, from, to);
  if (from.kind === 'NULL' || to.kind !== 'TIMESTAMP') return `cast(${sql} as ${duckDbType(to)})`;
  return `timezone('UTC', cast(${sql} as timestamp))`;
}

type Around = {
  /** Positions of items on which an enclosing query has conditions; DuckDB pushes these down, except through GROUP BY. Default: none. */
  readonly filtered?: ReadonlySet<number> | undefined;
  /** The query to which the body belongs, for its ORDER BY; absent for a branch of a set operation. */
  readonly query?: BoundQuery;
  /** The references of outer columns before they were moved; they are put back when ORDER BY is printed. */
  readonly moved: Map<string, string>;
};

function printSelect(
  printer: Printer,
  select: BoundSelect,
  { filtered = new Set(), query, moved }: Around,
): string {
  const conditional = select.groupBy ? [] : select.items.filter((_, i) => filtered.has(i));
  noteFiltered(printer, select, conditional);
  if (select.from) {
    for (const relation of impliedPresence(select.from, select.where)) printer.impliedRelations.add(relation);
  }
  const first = query && amongFirst(query);
  // Printed before FROM, which changes the texts of its columns.
  const firstTimes = first && printer.query(printer, first.query, { keepsOrder: false });
  const scan = select.from && printSelectFrom(printer, select, select.from);
  const filters = printFilters(printer, select, scan?.filters ?? []);
  if (first) {
    const [operator, last] = first.descending ? ['>=', 'min'] : ['<=', 'max'];
    filters.push(
      `${printer.expression(printer, first.column)} ${operator} (select ${last}(c0) from (${firstTimes}))`,
    );
  }
  const rows = scan && { ...scan, filters };
  const order = (query?.orderBy ?? []).flatMap(({ by }) => (typeof by === 'number' ? [] : [by]));
  const added = outerColumnsOfWindows(printer, select, order);
  for (const { key } of added) moved.set(key, printer.references.get(key)!);
  const wider = rows && added.length > 0 ? closedFrom(printer, rows, added) : rows;
  const source = wider && withGroupedValues(printer, select, wider, order);
  const conditions = source?.filters ?? filters;
  const own: OwnRow = {};
  const inside: Printer = { ...printer, own };
  const print = (expression: BoundExpression) =>
    printer.expression(
      conditional.includes(expression) ? asCondition(inside, expression) : inside,
      expression,
    );
  const items = select.items.map((item, i) => {
    const text = isTextKey(printer, select, item) ? `(case when true then ${print(item)} end)` : print(item);
    return `${text} as c${i}`;
  });
  const last = [
    conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '',
    select.groupBy
      ? ` group by ${[printGroupBy(printer, select.groupBy, select), ...added.map(({ key }) => printer.references.get(key)!)].join(', ')}`
      : '',
    select.having ? ` having ${print(select.having)}` : '',
    select.qualify ? ` qualify ${print(select.qualify)}` : '',
  ];
  const beside = own.alias
    ? `${source?.sql ? ' cross join' : ' from'} (select true as own) as ${own.alias}`
    : '';
  return [
    `select ${select.distinct ? 'distinct ' : ''}${items.join(', ')}`,
    source?.sql ? ` from ${source.sql}` : '',
    beside,
    ...last,
  ].join('');
}

/** Notes which columns of the queries in FROM have conditions. */
function noteFiltered(
  { filteredColumns }: Printer,
  { from, where }: BoundSelect,
  conditional: readonly BoundExpression[],
): void {
  const conditions = [...(where ? conjunctsOf(where) : []), ...conditional].filter(c => !mayFailItself(c));
  const queries = from && conditions.length > 0 ? queriesOf(from) : [];
  if (queries.length === 0) return;
  for (const { relation, index } of conditions.flatMap(columnsOf)) {
    const query = queries.find(found => found.relation === relation)?.query;
    if (query) filteredColumns.set(query, (filteredColumns.get(query) ?? new Set()).add(index));
  }
}

function queriesOf(from: BoundFrom): readonly { relation: number; query: BoundQuery }[] {
  switch (from.kind) {
    case 'table':
      return [];
    case 'subset':
      return [{ relation: from.relation, query: from.subset.query }];
    case 'derived':
      return [from];
    case 'join':
      return [...queriesOf(from.left), ...queriesOf(from.right)];
    case 'unnest':
      return from.input ? queriesOf(from.input) : [];
  }
}

type Column = Extract<BoundExpression, { kind: 'column' }>;

const columnsOf = (expression: BoundExpression): readonly Column[] =>
  expression.kind === 'column' ? [expression] : childrenOf(expression).flatMap(columnsOf);

/** A record needs no scan, but without FROM an aggregate would belong to the enclosing query. */
function printSelectFrom(printer: Printer, select: BoundSelect, from: BoundFrom): PrintedFrom {
  const source = printFrom(printer, from);
  const { groupBy, having, qualify, items, distinct } = select;
  const needsScan = groupBy || having || qualify || distinct || items.some(holdsAnyAggregate);
  return source.sql || !needsScan ? source : closedFrom(printer, source);
}

/** Makes columns of keys that DuckDB does not recognise where they are named again: see `Printer.groupedValues`. */
function withGroupedValues(
  printer: Printer,
  { groupBy = [], items, having, qualify }: BoundSelect,
  source: PrintedFrom,
  order: readonly BoundExpression[],
): PrintedFrom {
  const fields = keysBy(printer, groupBy, key => key.kind === 'field' && isPath(key));
  const queries = keysBy(printer, groupBy, holdsSubquery);
  const read = new Set<number>();
  const findQueries = (value: BoundExpression): void => {
    if (queries.has(printer.keyOf(value))) read.add(printer.keyOf(value));
    else childrenOf(value).forEach(findQueries);
  };
  const others = [having, qualify, ...order].filter(value => value !== undefined);
  if (fields.size > 0) {
    for (const path of [...items, ...others].flatMap(value => [...pathsInSubqueries(value)]))
      for (let at = path; at.kind === 'field'; at = at.of) read.add(printer.keyOf(at));
  }
  if (queries.size > 0) {
    // An item that is a key is written once: the key is its position.
    const calculated = items.filter(item => !queries.has(printer.keyOf(item)));
    [...calculated, ...others].forEach(findQueries);
  }
  const named = [...fields, ...queries].filter(([key]) => read.has(key));
  if (named.length === 0) return source;
  const added = named.map(([key, value]) => ({ key: `key ${key}`, sql: printer.expression(printer, value) }));
  const closed = closedFrom(printer, source, added);
  for (const [key] of named) printer.groupedValues.set(key, printer.references.get(`key ${key}`)!);
  return closed;
}

function keysBy(
  { keyOf }: Printer,
  keys: readonly BoundExpression[],
  is: (key: BoundExpression) => boolean,
): ReadonlyMap<number, BoundExpression> {
  return new Map(keys.filter(is).map(key => [keyOf(key), key]));
}

/**
 * Outer columns that windows read, and their references. DuckDB's windows accept none, so they become columns of this query's FROM, and keys if
 * it has GROUP BY. None if all rows are one group.
 */
function outerColumnsOfWindows(
  printer: Printer,
  { groupBy, groupingSets, having, items, qualify }: BoundSelect,
  order: readonly BoundExpression[],
): readonly { readonly key: string; readonly sql: string }[] {
  const isOneGroup = groupBy ? groupBy.length === 0 || groupingSets : having || items.some(holdsAggregate);
  if (isOneGroup) return [];
  const found = new Map<string, string>();
  for (const value of [...items, ...order, ...(qualify ? [qualify] : [])])
    for (const { relation, index } of columnsOfWindows(value)) {
      const key = columnKey(relation, index);
      const sql = printer.references.get(key)!;
      if (printer.readsOuterQuery(sql)) found.set(key, sql);
    }
  return [...found].map(([key, sql]) => ({ key, sql }));
}

const columnsOfWindows = (value: BoundExpression): readonly Column[] =>
  value.kind === 'aggregate' && value.over ? columnsOf(value) : childrenOf(value).flatMap(columnsOfWindows);

/**
 * Whether a selected text literal is a group key. DuckDB takes every literal that equals a key for that key, even where it requires a
 * constant, such as the separator of a list; so the key itself is written differently.
 */
function isTextKey({ keyOf }: Printer, { groupBy }: BoundSelect, item: BoundExpression): boolean {
  if (item.kind !== 'literal' || item.type.kind !== 'STRING') return false;
  return groupBy?.some(key => keyOf(key) === keyOf(item)) ?? false;
}

/** A key that is also selected is written as its position, so that DuckDB need not recognise the two as equal. */
function printGroupBy(
  printer: Printer,
  keys: NonNullable<BoundSelect['groupBy']>,
  { items, groupingSets }: BoundSelect,
): string {
  if (keys.length === 0) return '()';
  const positions = new Map(items.map((item, i) => [printer.keyOf(item), i + 1] as const).reverse());
  const printed = keys.map(key => positions.get(printer.keyOf(key)) ?? printer.expression(printer, key));
  if (!groupingSets) return printed.join(', ');
  const sets = groupingSets.map(set => `(${set.map(key => printed[key]).join(', ')})`);
  return `grouping sets (${sets.join(', ')})`;
}

function printQueryOrder(
  printer: Printer,
  { by, ...order }: BoundOrder,
  { body, columns }: BoundQuery,
  isWrapped: boolean,
): string {
  const isNamed = typeof by === 'number' && (isWrapped || body.kind !== 'select');
  const position = typeof by === 'number' ? by : undefined;
  const type = typeof by === 'number' ? columns[by]!.type : by.type;
  const value = (): string => {
    if (isNamed) return `c${position}`;
    const item = body.kind === 'select' && position !== undefined ? body.items[position] : undefined;
    // A number is always a position.
    return printer.expression(printer, item ?? (by as BoundExpression));
  };
  if (position !== undefined && !isNamed)
    return printOrderTerm({ key: String(position + 1), value, type }, order);
  const key = value();
  return printOrderTerm({ key, value: () => key, type }, order);
}
