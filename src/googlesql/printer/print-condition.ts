import { isNested } from '../functions/nested-comparison.ts';
import type { BoundExpression, BoundFrom, BoundQuery, BoundSelect } from '../tree/bound-tree.ts';
import { impliedPresence } from '../tree/implied-presence.ts';
import { isRepeatable } from '../tree/let-in.ts';
import { mayFailItself } from '../tree/may-fail.ts';
import { plainStorage, sameStorage } from '../tree/storage.ts';
import { sameType } from '../tree/types.ts';
import { holdsAggregate } from '../tree/walk-bound-tree.ts';
import { holdsField, holdsQuery } from './print-let.ts';
import { isPresent } from './print-storage.ts';
import { aliasesIn, columnKey, type Printer } from './printer.ts';

/**
 * Prints the terms of a condition. NULL counts as false here, which makes EXISTS over an array a plain predicate that DuckDB pushes into
 * the scan.
 */
export function printConjuncts(printer: Printer, condition: BoundExpression): string[] {
  return conjunctsOf(condition).map(part => {
    const test = part.kind === 'subquery' ? existsInArray(printer, part.query, part.form) : undefined;
    return (
      test ??
      structInQuery(printer, part) ??
      floatInQuery(printer, part) ??
      printer.expression(asCondition(printer, part), part)
    );
  });
}

/**
 * Prints the conditions on the rows of a FROM clause, those of WHERE among them. Conditions on the records of a subset's rows become one that
 * DuckDB does not push into the scan, where it evaluates each by itself and without what it knows of the column, at three times the cost. What it
 * pushes reads one column, so a test of another one is added that is never true (decision 178).
 * @param filters of the FROM clause
 */
export function printFilters(
  printer: Printer,
  { from, where }: Pick<BoundSelect, 'from' | 'where'>,
  filters: readonly string[],
): string[] {
  const parts = where ? conjunctsOf(where) : [];
  const tests = where ? printConjuncts(printer, where) : [];
  const beside = from && columnBeside(printer, from);
  if (beside === undefined) return [...filters, ...tests];
  const ofRecords = [...filters, ...tests.filter((_, at) => isRecordTest(parts[at]!))];
  const others = tests.filter((_, at) => !isRecordTest(parts[at]!));
  if (ofRecords.length === 0) return others;
  return [`((${ofRecords.join(' and ')}) or ${beside} is distinct from ${beside})`, ...others];
}

/** Whether a condition reads fields of a record, and can stand within another one: it neither fails nor holds a query, which would become a slower join. */
const isRecordTest = (condition: BoundExpression): boolean =>
  holdsField(condition) && !mayFailItself(condition) && !holdsQuery(condition);

/** A column of scalars that a subset takes from its table as it is, if the FROM clause reads one subset with the records of its rows. */
function columnBeside(printer: Printer, from: BoundFrom): string | undefined {
  if (from.kind === 'unnest') return from.input && !from.on ? columnBeside(printer, from.input) : undefined;
  if (from.kind !== 'subset') return undefined;
  const { body } = from.subset.query;
  if (body.kind !== 'select') return undefined;
  const index = body.items.findIndex(item => item.kind === 'column' && !isNested(item.type));
  return printer.references.get(columnKey(from.relation, index));
}

/** The terms of AND. */
export function conjunctsOf(condition: BoundExpression): readonly BoundExpression[] {
  const isChain = condition.kind === 'call' && condition.name === 'AND';
  return isChain ? condition.arguments.flatMap(conjunctsOf) : [condition];
}

/**
 * The printer for a condition that decides which rows are kept; unchanged for one that may fail, which DuckDB evaluates after all others.
 */
export const asCondition = (printer: Printer, condition: BoundExpression): Printer =>
  mayFailItself(condition) ? printer : { ...printer, isCondition: true };

/**
 * `(a, b) IN (query)` by DuckDB's own comparison, which hashes. It considers two NULLs equal, and two NaN, so parts with either are
 * excluded first. That the result should then be NULL, not false, makes no difference in a condition.
 */
function structInQuery(printer: Printer, condition: BoundExpression): string | undefined {
  if (condition.kind !== 'inQuery' || condition.of.kind !== 'struct') return undefined;
  const { of, query } = condition;
  const { type } = query.columns[0]!;
  const isPlain = sameType(of.type, type) && sameStorage(type, plainStorage(type));
  if (!isPlain || of.type.fields.some(field => isNested(field.type)) || !of.values.every(isRepeatable))
    return undefined;
  const parts = of.values.map(value => printer.expression(printer, value));
  const known = parts.map((part, i) =>
    of.values[i]!.type.kind === 'FLOAT64' ? `not isnan(${part})` : `${part} is not null`,
  );
  const value = printer.expression(printer, { ...of, type } as BoundExpression); // the types differ in names only
  return `(${known.join(' and ')} and ${value} in (${printer.query(printer, query, { keepsOrder: false })}))`;
}

/**
 * `x IN (query)` of FLOAT64 without NaN in the list, which equals nothing. If the list has only NaN, the result for NULL is false instead
 * of NULL, which makes no difference in a condition.
 */
function floatInQuery(printer: Printer, condition: BoundExpression): string | undefined {
  if (condition.kind !== 'inQuery' || condition.query.columns[0]?.type.kind !== 'FLOAT64') return undefined;
  const list = printer.query(printer, condition.query, { keepsOrder: false });
  const value = printer.expression(asCondition(printer, condition), condition.of);
  return `(${value} in (select v from (${list}) n(v) where not isnan(v)))`;
}

/**
 * EXISTS over the elements of one array as a test of the array itself; a correlated join would cost as much as the whole table. The text
 * may be NULL where EXISTS is false.
 * @returns undefined when the subquery does more than that
 */
export function existsInArray(printer: Printer, query: BoundQuery, form: string): string | undefined {
  const { body } = query;
  if (form !== 'EXISTS' || query.subsets.length > 0 || query.limit !== undefined || body.kind !== 'select') {
    return undefined;
  }
  const { from, where, groupBy, having, qualify, items } = body;
  if (groupBy || having || qualify || items.some(holdsAggregate) || from?.kind !== 'unnest') return undefined;
  if (from.input || from.withOffset || from.outer) return undefined;
  if (from.array.type.kind === 'ARRAY' && from.array.type.single) return existsInSingle(printer, from, where);
  return where && holdsQuery(where) ? undefined : existsInList(printer, from, where);
}

type Unnest = Extract<BoundFrom, { kind: 'unnest' }>;

function existsInSingle(printer: Printer, from: Unnest, where: BoundExpression | undefined): string {
  const array = printer.expression(printer, from.array);
  printer.references.set(columnKey(from.relation, 0), array);
  const tests = impliedPresence(from, where).has(from.relation) ? [] : [isPresent(array, from.array.type)];
  const parts = [...tests, ...(where ? printConjuncts(printer, where) : [])];
  return `(${parts.join(' and ')})`;
}

function existsInList(
  printer: Printer,
  from: Unnest,
  where: BoundExpression | undefined,
): string | undefined {
  const array = printer.expression(printer, from.array);
  if (!where) return `(len(${array}) > 0)`;
  const element = printer.newAlias();
  printer.references.set(columnKey(from.relation, 0), element);
  const test = printConjuncts(printer, where).join(' and ');
  const others = [...aliasesIn(test)].filter(alias => alias !== element);
  // If something next to a lambda belongs to the enclosing query, DuckDB resolves all names in the lambda there.
  const isMixed = printer.readsOuterQuery(array) && printer.readsOwnQuery(others.join(' '));
  return isMixed || printer.readsOuterQuery(test)
    ? undefined
    : `(len(list_filter(${array}, lambda ${element}: ${test})) > 0)`;
}
