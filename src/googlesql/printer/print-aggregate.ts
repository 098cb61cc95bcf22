import { GatewayError } from '../../base/errors.ts';
import {
  type BoundAggregate,
  type BoundExpression,
  type BoundFrameBound,
  type BoundOrder,
  type BoundWindow,
  call,
} from '../tree/bound-tree.ts';
import { onlyOnWarehouse, startOfText, UnsupportedSql } from '../tree/sql-error.ts';
import { printOrderTerm } from './print-order.ts';
import type { Printer } from './printer.ts';
import { fillTemplate } from './templates.ts';

/** Prints an aggregate call, or with OVER an analytic one. */
export function printAggregate(printer: Printer, aggregate: BoundAggregate): string {
  if (aggregate.unsupported) throw new UnsupportedSql(aggregate.unsupported);
  const printed = ownArguments(
    printer,
    aggregate,
    aggregate.arguments.map(value => printer.expression(printer, value)),
  );
  // Window functions take IGNORE NULLS inside their parentheses, where their templates have `$filter`.
  const isInside = aggregate.template.includes('$filter)');
  const ignored = aggregate.ignoreNulls ? ' ignore nulls' : '';
  const conditions = [
    ...(aggregate.filter ? [printer.expression(printer, aggregate.filter)] : []),
    ...(aggregate.ignoreNulls && !isInside ? [`${printed[0]} is not null`] : []),
  ];
  const filter = conditions.length > 0 ? ` filter (where ${conditions.join(' and ')})` : '';
  const hasOwnFilter = aggregate.template.includes('$filter');
  if (isSortedSet(aggregate)) return printSortedSet(aggregate, printed);
  const order = aggregate.orderBy.map(item => printOrder(printer, item)).join(', ');
  const parts: Readonly<Record<string, string>> = {
    distinct: aggregate.distinct ? 'distinct ' : '',
    order: order ? ` order by ${order}` : '',
    filter: isInside ? ignored : filter,
    over:
      (hasOwnFilter ? '' : filter) +
      (aggregate.over ? ` over (${printWindow(printer, aggregate.over)})` : ''),
  };
  return fillTemplate(aggregate.template, printed, name => parts[name]);
}

/** Makes an aggregate over outer columns alone belong to this query, see `OwnRow`. */
function ownArguments(
  printer: Printer,
  { over, name }: BoundAggregate,
  printed: readonly string[],
): readonly string[] {
  const [first, ...others] = printed;
  if (first === undefined || over || !printer.readsOuterQueryOnly(printed.join(' '))) return printed;
  if (!printer.own)
    throw new GatewayError(
      'invalid_query',
      `${name} over columns of an outer query alone is not supported in ORDER BY`,
    );
  printer.own.alias ??= printer.newAlias();
  return [`(case when ${printer.own.alias}.own then ${first} end)`, ...others];
}

/**
 * Whether distinct calculated values are aggregated in their own order. DuckDB requires the term of ORDER BY to be one of the arguments,
 * and recognises no two expressions as equal that may fail.
 */
function isSortedSet({ distinct, orderBy, arguments: [value] }: BoundAggregate): boolean {
  return (
    distinct &&
    orderBy.length > 0 &&
    value?.kind === 'call' &&
    !['FLOAT64', 'STRUCT'].includes(value.type.kind)
  );
}

function printSortedSet(
  { name, type, ignoreNulls, orderBy }: BoundAggregate,
  printed: readonly string[],
): string {
  const { descending, nulls } = orderBy[0]!;
  const isBytes = type.kind === 'BYTES';
  const [value, separator = isBytes ? "','::blob" : "','"] = printed;
  const isText = name === 'STRING_AGG';
  const filter = isText || ignoreNulls ? ` filter (where ${value} is not null)` : '';
  const list = `list_sort(array_agg(distinct ${value})${filter}, '${descending ? 'desc' : 'asc'}', 'nulls ${nulls.toLowerCase()}')`;
  return isText ? `${isBytes ? 'bq_bytes_join' : 'array_to_string'}(${list}, ${separator})` : list;
}

function printWindow(around: Printer, { partitionBy, orderBy, frame }: BoundWindow): string {
  // DuckDB's parser accepts no window in the keys of another, not even in a subquery.
  if (around.isWindowKey) throw onlyOnWarehouse('A window in the keys of another', startOfText);
  const printer = { ...around, isWindowKey: true };
  const parts: string[] = [];
  if (partitionBy.length > 0) {
    parts.push(`partition by ${partitionBy.map(key => printer.expression(printer, key)).join(', ')}`);
  }
  const print = hasDistance(frame) ? printRangeKey : printOrder;
  if (orderBy.length > 0) parts.push(`order by ${orderBy.map(item => print(printer, item)).join(', ')}`);
  if (frame) {
    const start = printBound(printer, frame.start);
    const range = frame.end ? `between ${start} and ${printBound(printer, frame.end)}` : start;
    parts.push(`${frame.unit.toLowerCase()} ${range}`);
  }
  return parts.join(' ');
}

/** Whether a frame is bounded by distances along the values of its key. */
function hasDistance(frame: BoundWindow['frame']): boolean {
  return frame?.unit === 'RANGE' && [frame.start, frame.end].some(bound => bound && 'distance' in bound);
}

/**
 * The only key of a RANGE frame with distances. DuckDB adds the distances to it, so INT64 is widened and NUMERIC counted in billionths:
 * neither may overflow. FLOAT64 is negated and sorted the other way round, because DuckDB sorts NaN last and BigQuery first.
 */
function printRangeKey(printer: Printer, { by, descending, nulls }: BoundOrder): string {
  // The binder allows a distance only with a key that is an expression.
  const key = by as BoundExpression;
  const template = rangeKeys[key.type.kind] ?? '$1';
  const sql = printer.expression(printer, call('RANGE key', template, [key], key.type));
  return `${sql} ${descending === (key.type.kind === 'FLOAT64') ? 'asc' : 'desc'} nulls ${nulls.toLowerCase()}`;
}

const rangeKeys: Readonly<Record<string, string>> = {
  FLOAT64: '(-$1)',
  INT64: 'cast($1 as hugeint)',
  NUMERIC: 'bq_billionths($1)',
};

function printBound(printer: Printer, bound: BoundFrameBound): string {
  if (bound.kind !== 'PRECEDING' && bound.kind !== 'FOLLOWING') return bound.kind.toLowerCase();
  const { distance } = bound;
  const isNumeric = distance.type.kind === 'NUMERIC';
  const along = isNumeric ? call('RANGE distance', rangeKeys.NUMERIC!, [distance], distance.type) : distance;
  return `${printer.expression(printer, along)} ${bound.kind.toLowerCase()}`;
}

function printOrder(printer: Printer, { by, ...order }: BoundOrder): string {
  const key = typeof by === 'number' ? String(by + 1) : printer.expression(printer, by);
  const type = typeof by === 'number' ? undefined : by.type;
  return printOrderTerm({ key, value: () => key, type }, order);
}
