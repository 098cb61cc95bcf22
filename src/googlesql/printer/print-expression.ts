import { GatewayError } from '../../base/errors.ts';
import { isNested, nestedInArray } from '../functions/nested-comparison.ts';
import {
  type BoundAggregate,
  type BoundCall,
  type BoundExpression,
  type BoundFrameBound,
  type BoundOrder,
  type BoundWindow,
  call,
  givesOneRow,
} from '../tree/bound-tree.ts';
import { typeAsPart } from '../tree/coercion.ts';
import { concatOperands } from '../tree/concat-operands.ts';
import { duckDbType, fieldName } from '../tree/duckdb-type.ts';
import { quoteName, quoteText } from '../tree/quote-text.ts';
import { onlyOnWarehouse, startOfText, UnsupportedSql } from '../tree/sql-error.ts';
import { arrayOf, pathSteps, type SqlType } from '../tree/types.ts';
import { printCast } from './print-cast.ts';
import { existsInArray } from './print-condition.ts';
import { type JsonForm, printJsonText } from './print-json-text.ts';
import { printJsonNumber, printJsonValue } from './print-json-value.ts';
import { deeper, printLet, printOnce, subqueryDepth } from './print-let.ts';
import { printOrderTerm } from './print-order-term.ts';
import { printSqlText } from './print-sql-text.ts';
import { isPresent } from './print-storage.ts';
import { type Printer, placeKey } from './printer.ts';

/** Prints one bound expression. */
export function printExpression(printer: Printer, expression: BoundExpression): string {
  printer.count();
  if (expression.kind === 'subquery' && mayHaveMoreRows(expression))
    return printOnlyElement(printer, expression);
  if (printer.let && mustLift(printer, expression)) return printer.let.lift(expression);
  const print = (inner: BoundExpression) => printExpression(printer, inner);
  switch (expression.kind) {
    case 'literal':
      return printLiteral(expression);
    case 'null':
      return expression.type.kind === 'NULL' ? 'null' : `cast(null as ${duckDbType(expression.type)})`;
    case 'parameter':
      return printParameter(printer.parameter(expression.name), expression.type);
    case 'now':
      return `cast(${printer.now()} as timestamptz)`;
    case 'column':
      return printer.places.get(placeKey(expression.relation, expression.index))!;
    case 'field':
      return groupedField(printer, expression) ?? `(${print(expression.of)}).${quoteName(expression.name)}`;
    case 'struct': {
      const { fields } = expression.type;
      // Not by `join`, which copies: records in one another hold what is in them at each level.
      const values = expression.values.map(
        (v, i) => `${quoteText(fieldName(fields[i]!.name, i))}: ${print(v)}`,
      );
      return `{${values.reduce((all, value) => `${all}, ${value}`)}}`;
    }
    case 'array':
      return printArray(print, expression);
    case 'element':
      return printElement(printer, expression);
    case 'arrayLength':
      return printLength(print(expression.of), expression.of);
    case 'cast':
      printer.count(pathSteps(expression.type));
      return (
        printJsonNumber(printer, expression) ??
        printOnce(printer, [expression.of], ([sql]) => printCast(sql!, expression))
      );
    case 'case': {
      const branches = expression.branches.map(
        ({ when, result }) => `when ${print(when)} then ${print(result)}`,
      );
      const otherwise = expression.otherwise ? ` else ${print(expression.otherwise)}` : '';
      return `(case ${branches.join(' ')}${otherwise} end)`;
    }
    case 'isNull':
      return printIsNull(print(expression.of), expression.of);
    case 'call':
      return printCall(printer, expression);
    case 'let':
      return printLet(printer, expression.values, inside => printExpression(inside, expression.body));
    case 'named':
      return printer.let?.names.get(expression.value) ?? print(expression.value);
    case 'jsonValue':
      return printJsonValue(printer, expression);
    case 'aggregate':
      return printAggregate(printer, expression);
    case 'try':
      return `try(${print(expression.of)})`;
    case 'subquery':
      return printSubquery(besideQuery(printer), expression);
    case 'inQuery':
      return printInQuery(besideQuery(printer), expression);
  }
}

function groupedField({ groupedFields, keyOf }: Printer, field: BoundExpression): string | undefined {
  return groupedFields.size > 0 ? groupedFields.get(keyOf(field)) : undefined;
}

function besideQuery(printer: Printer): Printer {
  return printer.letDepth > 0 ? deeper(printer, subqueryDepth) : printer;
}

/** Whether DuckDB's lambdas can't hold an expression: an aggregate, a subquery, what a query or a lambda around this one names. */
function mustLift(printer: Printer, expression: BoundExpression): boolean {
  switch (expression.kind) {
    case 'aggregate':
    case 'subquery':
    case 'inQuery':
      return true;
    case 'named':
      return !printer.let?.names.has(expression.value);
    case 'column':
      return (
        printer.liftsColumns ||
        printer.readsOuterQuery(printer.places.get(placeKey(expression.relation, expression.index))!)
      );
    default:
      return false;
  }
}

type Print = (expression: BoundExpression) => string;
type Node<Kind extends BoundExpression['kind']> = Extract<BoundExpression, { kind: Kind }>;

/**
 * Values are bound as canonical texts, bytes in base64. DuckDB plans a statement again when its values are there; while it does not know
 * the type of one of them, which `||` hides, it plans nothing before: half of the time of small statements.
 */
function printParameter(placeholder: string, type: SqlType): string {
  if (type.kind === 'BYTES') return `from_base64(${placeholder} || '')`;
  if (type.kind !== 'ARRAY') return `cast(${placeholder} || '' as ${duckDbType(type)})`;
  if (type.element.kind === 'BYTES') {
    return `list_transform(cast(${placeholder} as varchar[]), lambda e: from_base64(e))`;
  }
  return `cast(${placeholder} as ${duckDbType(type)})`;
}

function printLiteral({ type, value }: Node<'literal'>): string {
  switch (type.kind) {
    case 'STRING':
      return quoteText(value);
    case 'BOOL':
      return value.toLowerCase();
    case 'BYTES':
      return `unhex('${Buffer.from(value, 'latin1').toString('hex')}')`;
    case 'INT64':
      return `cast(${value} as bigint)`;
    case 'FLOAT64':
      return `cast('${value}' as double)`;
    default: {
      const zoned = type.kind === 'TIMESTAMP' && /^(.+) ([A-Z].*)$/.exec(value);
      if (zoned) return `bq_instant(${quoteText(zoned[2]!)}, cast(${quoteText(zoned[1]!)} as timestamp))`;
      return `cast(${quoteText(value)} as ${duckDbType(type)})`;
    }
  }
}

function printArray(print: Print, { elements, type }: Node<'array'>): string {
  if (elements.length === 0) return `cast([] as ${duckDbType(type)})`;
  return `[${elements.map(print).join(', ')}]`;
}

function printLength(sql: string, expression: BoundExpression): string {
  const { type } = expression;
  if (type.kind === 'ARRAY' && type.single)
    return `(case when ${isPresent(sql, type)} then cast(1 as bigint) else 0 end)`;
  return isStored(expression) ? `coalesce(len(${sql}), 0)` : `len(${sql})`;
}

/** A table holds no NULL array: what DuckDB stores as NULL is empty. A computed array may be NULL. */
function isStored({ kind, type }: BoundExpression): boolean {
  return (kind === 'column' || kind === 'field') && !(type.kind === 'ARRAY' && type.nulls === 'NULL');
}

/** An ARRAY is never NULL to look at only where it is stored as a record: there NULL means empty. */
function printIsNull(sql: string, expression: BoundExpression): string {
  const { type } = expression;
  if (type.kind === 'STRUCT') return `(not ${isPresent(sql, type)})`;
  if (type.kind === 'ARRAY') return isStored(expression) ? 'false' : `(${sql} is null)`;
  return `(${sql} is null)`;
}

function printElement(printer: Printer, expression: Node<'element'>): string {
  return printOnce(printer, [expression.of, expression.index], ([array, position]) =>
    elementText(expression, array!, position!),
  );
}

/** DuckDB reads larger numbers as another type. */
const maxLiteralIndex = 2n ** 31n - 1n;

function elementText({ of, index, safe, type }: Node<'element'>, array: string, position: string): string {
  const literal = index.kind === 'literal' ? BigInt(index.value) : undefined;
  const outside = safe
    ? ''
    : ` else cast(error('Array index ' || ${position} || ' is out of bounds') as ${duckDbType(type)})`;
  if (of.type.kind === 'ARRAY' && of.type.single) {
    const present = isPresent(array, of.type);
    if (literal === 0n && safe) return array;
    const isIn = literal === 0n ? present : `${present} and ${position} = 0`;
    return `(case when ${isIn} then ${array}${outside} end)`;
  }
  // No array is so long.
  if (literal !== undefined && literal >= maxLiteralIndex && safe) return `list_extract(${array}, 0)`;
  if (literal !== undefined && literal >= 0n && safe) return `list_extract(${array}, ${literal + 1n})`;
  if (literal !== undefined && literal >= 0n && literal < maxLiteralIndex) {
    const outside = `when ${isStored(of) ? 'true' : `${array} is not null`} then bq_fail('Array index ${literal} is out of bounds')`;
    return `list_extract(${array}, case when len(${array}) > ${literal} then ${literal + 1n} ${outside} end)`;
  }
  const unknown = isStored(of) ? `${position} is null` : `${array} is null or ${position} is null`;
  const missing = safe
    ? ''
    : ` when not (${unknown}) then bq_fail('Array index ' || ${position} || ' is out of bounds')`;
  return `list_extract(${array}, case when ${position} >= 0 and ${position} < len(${array}) then ${position} + 1${missing} end)`;
}

function printSubquery(printer: Printer, { form, query }: Node<'subquery'>): string {
  if (form === 'EXISTS') {
    const test = existsInArray(printer, query, form);
    return test
      ? `coalesce(${test}, false)`
      : `exists (${printer.query(printer, query, { keepsOrder: false })})`;
  }
  const sql = printer.query(printer, query, { keepsOrder: form === 'ARRAY' });
  return form === 'ARRAY' ? `coalesce(array(${sql}), [])` : `(${sql})`;
}

/** Whether a query whose only value is wanted may have more rows. */
const mayHaveMoreRows = ({ form, query }: Node<'subquery'>): boolean =>
  form === 'SCALAR' && !givesOneRow(query);

/**
 * All values of the query as a list, and one of them where it is asked for: DuckDB's own subquery fails for more rows whether or not
 * a branch takes its value.
 */
function printOnlyElement(printer: Printer, expression: Node<'subquery'>): string {
  const { type } = expression;
  const fails = `cast(bq_fail_text('Scalar subquery produced more than one element') as ${duckDbType(type)})`;
  const list = printExpression(printer, { ...expression, form: 'ARRAY', type: arrayOf(type) });
  return `list_reduce(nullif(${list}, []), lambda one, more: ${fails})`;
}

/** NaN equals nothing, and yet is an element. As texts FLOAT64 have one more than there are numbers, which stands for it in the list. */
function printInQuery(printer: Printer, { of, query }: Node<'inQuery'>): string {
  if (isNested(query.columns[0]!.type)) {
    const array = { kind: 'subquery', form: 'ARRAY', query, type: arrayOf(query.columns[0]!.type) } as const;
    return printExpression(printer, nestedInArray(of, array, startOfText));
  }
  const list = printer.query(printer, query, { keepsOrder: false });
  const value = printExpression(printer, of);
  if (query.columns[0]?.type.kind !== 'FLOAT64') return `(${value} in (${list}))`;
  // Of two zeros both are the one that is not negative.
  const text = (sql: string) => `cast(${sql} + 0.0::double as varchar)`;
  return `(${text(value)} in (select case when isnan(v) then '' else ${text('v')} end from (${list}) n(v)))`;
}

const enSpaces = Array.from({ length: 11 }, (_, i) => `chr(${8192 + i})`).join(' || ');

/** BigQuery's TRIM takes off what Unicode calls white space, DuckDB's the space character alone. */
const whiteSpace = `(' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || chr(133) || chr(160) || chr(5760) || ${enSpaces} || chr(8232) || chr(8233) || chr(8239) || chr(8287) || chr(12288))`;

function printCall(printer: Printer, { template, arguments: values, unsupported }: BoundCall): string {
  if (unsupported) throw new UnsupportedSql(unsupported);
  const body = (printed: readonly string[]) =>
    fill(template, printed, name => callPart(printer, name, printed, values[0]));
  return printOnce(printer, values, body, piecesOf(template).isNumbered ? template : undefined);
}

/** What a name in the template of a call stands for; the forms of a text are those of its first operand. */
function callPart(
  printer: Printer,
  name: string,
  printed: readonly string[],
  first?: BoundExpression,
): string | undefined {
  const [sql = ''] = printed;
  const firstType = () => {
    const type = typeAsPart(first!);
    printer.count(pathSteps(type));
    return type;
  };
  const json = (form: JsonForm) => printJsonText(sql, firstType(), form);
  switch (name) {
    case '*':
      return printed.join(', ');
    case '||':
      return concatOperands(printed);
    case 'and':
      return printed.join(' and ');
    case 'or':
      return printed.join(' or ');
    case 'null':
      return printed.map(value => `${value} is null`).join(' or ');
    case 'space':
      return whiteSpace;
    case 'jsonText':
      return json('text');
    case 'jsonValue':
      return json('value');
    case 'jsonWide':
      return json('wide');
    case 'sqlText':
      return printSqlText(sql, firstType(), 'text');
    case 'sqlLiteral':
      return printSqlText(sql, firstType(), 'literal');
    default:
      return undefined;
  }
}

function printAggregate(printer: Printer, aggregate: BoundAggregate): string {
  if (aggregate.unsupported) throw new UnsupportedSql(aggregate.unsupported);
  const printed = ownArguments(
    printer,
    aggregate,
    aggregate.arguments.map(value => printExpression(printer, value)),
  );
  // Functions of windows alone pass over NULL by words in their brackets.
  const isInside = aggregate.template.includes('$filter)');
  const ignored = aggregate.ignoreNulls ? ' ignore nulls' : '';
  const conditions = [
    ...(aggregate.filter ? [printExpression(printer, aggregate.filter)] : []),
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
  return fill(aggregate.template, printed, name => parts[name]);
}

/** See `OwnRow`. */
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
 * Whether an array or text is to hold distinct values in their own order, and they are calculated: DuckDB wants to find the
 * term of ORDER BY among the arguments, and takes no two expressions that may fail for the same.
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

/** A template taken apart: texts, and between them the holes, without their dollar signs and brackets. */
type Pieces = {
  readonly texts: readonly string[];
  readonly holes: readonly string[];
  /** Whether its holes are all for one operand each. */
  readonly isNumbered: boolean;
};

const hole =
  /\$(\d|\{\d+\}|\*|\|\||null|and|order|or|space|distinct|filter|over|jsonText|jsonValue|jsonWide|sqlText|sqlLiteral|\$)/;

const knownPieces = new Map<string, Pieces>();

/** Templates that are kept apart, and how long they are at most: those of the functions' rows, not what a statement makes for itself. */
const [maxKept, maxKeptLength] = [1000, 300];

function piecesOf(template: string): Pieces {
  const known = knownPieces.get(template);
  if (known) return known;
  const split = template.split(hole);
  const texts = split.filter((_, i) => i % 2 === 0);
  const holes = split.filter((_, i) => i % 2 === 1).map(name => name.replace(/[{}]/g, ''));
  const pieces = { texts, holes, isNumbered: holes.every(name => /^\d/.test(name)) };
  if (knownPieces.size >= maxKept) knownPieces.clear();
  if (template.length <= maxKeptLength) knownPieces.set(template, pieces);
  return pieces;
}

/**
 * Fills a template in one pass, so that nothing in an argument is ever read as part of the template. Nothing is copied either, as
 * `replace` and `join` would: calls in one another hold what is in them at each level.
 * @param partOf what a hole that has a name stands for
 */
function fill(
  template: string,
  values: readonly string[],
  partOf: (name: string) => string | undefined,
): string {
  const { texts, holes } = piecesOf(template);
  let filled = texts[0]!;
  for (const [i, name] of holes.entries()) {
    const text = name === '$' ? name : (values[Number(name) - 1] ?? partOf(name));
    if (text === undefined) throw new Error(`The template ${template} asks for what its call does not have`);
    filled += text + texts[i + 1]!;
  }
  return filled;
}

function printWindow(around: Printer, { partitionBy, orderBy, frame }: BoundWindow): string {
  // DuckDB's parser takes no window in the keys of one, nor in a subquery there.
  if (around.isWindowKey) throw onlyOnWarehouse('A window in the keys of another', startOfText);
  const printer = { ...around, isWindowKey: true };
  const parts: string[] = [];
  if (partitionBy.length > 0) {
    parts.push(`partition by ${partitionBy.map(key => printExpression(printer, key)).join(', ')}`);
  }
  const print = isDistance(frame) ? printRangeKey : printOrder;
  if (orderBy.length > 0) parts.push(`order by ${orderBy.map(item => print(printer, item)).join(', ')}`);
  if (frame) {
    const start = printBound(printer, frame.start);
    const range = frame.end ? `between ${start} and ${printBound(printer, frame.end)}` : start;
    parts.push(`${frame.unit.toLowerCase()} ${range}`);
  }
  return parts.join(' ');
}

/** Whether a frame reaches so far along the values of its key. */
function isDistance(frame: BoundWindow['frame']): boolean {
  return frame?.unit === 'RANGE' && [frame.start, frame.end].some(bound => bound && 'distance' in bound);
}

/**
 * The only key of a RANGE with distances, which are added to it and taken from it: an INT64 must not overflow, nor a NUMERIC, which is
 * counted in billionths. Of FLOAT64 the negative, the other way round: DuckDB sorts NaN last, BigQuery first.
 */
function printRangeKey(printer: Printer, { by, descending, nulls }: BoundOrder): string {
  // A distance needs a key that is an expression.
  const key = by as BoundExpression;
  const template = rangeKeys[key.type.kind] ?? '$1';
  const sql = printExpression(printer, call('RANGE key', template, [key], key.type));
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
  return `${printExpression(printer, along)} ${bound.kind.toLowerCase()}`;
}

function printOrder(printer: Printer, { by, ...order }: BoundOrder): string {
  const key = typeof by === 'number' ? String(by + 1) : printExpression(printer, by);
  const type = typeof by === 'number' ? undefined : by.type;
  return printOrderTerm({ key, value: () => key, type }, order);
}
