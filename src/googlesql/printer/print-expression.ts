import { isNested, nestedInArray } from '../functions/nested-comparison.ts';
import type { BoundCall, BoundExpression } from '../tree/bound-tree.ts';
import { duckDbType, fieldName } from '../tree/duckdb-type.ts';
import { concatOperands, quoteName, quoteText } from '../tree/quote-text.ts';
import { startOfText, UnsupportedSql } from '../tree/sql-error.ts';
import { typeAsPart } from '../tree/storage.ts';
import { arrayOf, pathSteps, type SqlType } from '../tree/types.ts';
import { givesOneRow } from '../tree/walk-bound-tree.ts';
import { printAggregate } from './print-aggregate.ts';
import { printCast } from './print-cast.ts';
import { existsInArray } from './print-condition.ts';
import { type JsonForm, printJsonText } from './print-json-text.ts';
import { printJsonNumber, printJsonValue } from './print-json-value.ts';
import { deeper, printLet, printOnce, subqueryDepth } from './print-let.ts';
import { printContains, printSqlText } from './print-sql-text.ts';
import { isPresent } from './print-storage.ts';
import { columnKey, type Printer } from './printer.ts';
import { fillTemplate, isNumbered } from './templates.ts';

/** Prints one bound expression. */
export function printExpression(printer: Printer, expression: BoundExpression): string {
  printer.count();
  const grouped = printer.groupedValues.size > 0 && printGroupedValue(printer, expression);
  if (grouped) return grouped;
  if (expression.kind === 'subquery' && mayHaveMoreRows(expression))
    return printOnlyElement(printer, expression);
  if (printer.let && mustLift(printer, expression)) return printer.let.lift(expression);
  const print = printers[expression.kind] as Print<BoundExpression['kind']>; // the one of its kind
  return print(printer, expression);
}

type Node<Kind extends BoundExpression['kind']> = Extract<BoundExpression, { kind: Kind }>;
type Print<Kind extends BoundExpression['kind']> = (printer: Printer, expression: Node<Kind>) => string;

const printers: { readonly [Kind in BoundExpression['kind']]: Print<Kind> } = {
  literal: (_, literal) => printLiteral(literal),
  null: (_, { type }) => (type.kind === 'NULL' ? 'null' : `cast(null as ${duckDbType(type)})`),
  parameter: (printer, { name, type }) => printParameter(printer.parameter(name), type),
  now: printer => `cast(${printer.now()} as timestamptz)`,
  column: ({ references }, { relation, index }) => references.get(columnKey(relation, index))!,
  field: (printer, { of, name }) => `(${printExpression(printer, of)}).${quoteName(name)}`,
  struct: printStruct,
  array: printArray,
  element: printElement,
  arrayLength: (printer, { of }) => printLength(printExpression(printer, of), of),
  cast(printer, cast) {
    printer.count(pathSteps(cast.type));
    return printJsonNumber(printer, cast) ?? printOnce(printer, [cast.of], ([sql]) => printCast(sql!, cast));
  },
  case: printCase,
  isNull: (printer, { of }) => printIsNull(printExpression(printer, of), of),
  call: printCall,
  let: (printer, { values, body }) => printLet(printer, values, inside => printExpression(inside, body)),
  named: (printer, { value }) => printer.let?.names.get(value) ?? printExpression(printer, value),
  jsonValue: printJsonValue,
  aggregate: printAggregate,
  try: (printer, { of }) => `try(${printExpression(printer, of)})`,
  subquery: (printer, subquery) => printSubquery(besideQuery(printer), subquery),
  inQuery: (printer, test) => printInQuery(besideQuery(printer), test),
};

/** @returns undefined for anything but a column of `groupedValues` */
function printGroupedValue(printer: Printer, value: BoundExpression): string | undefined {
  const place = printer.groupedValues.get(printer.keyOf(value));
  return place && printer.let && isLifted(printer, place) ? printer.let.lift(value) : place;
}

function besideQuery(printer: Printer): Printer {
  return printer.letDepth > 0 ? deeper(printer, subqueryDepth) : printer;
}

/** Whether an expression can't stand in a DuckDB lambda: an aggregate, a subquery, or a name of an enclosing query or lambda. */
function mustLift(printer: Printer, expression: BoundExpression): boolean {
  switch (expression.kind) {
    case 'aggregate':
    case 'subquery':
    case 'inQuery':
      return true;
    case 'named':
      return !printer.let?.names.has(expression.value);
    case 'column':
      return isLifted(printer, printer.references.get(columnKey(expression.relation, expression.index))!);
    default:
      return false;
  }
}

/** Whether a column can't stand in a DuckDB lambda. */
const isLifted = (printer: Printer, place: string) => printer.liftsColumns || printer.readsOuterQuery(place);

function printCase(printer: Printer, { branches, otherwise }: Node<'case'>): string {
  const print = (inner: BoundExpression) => printExpression(printer, inner);
  const printed = branches.map(({ when, result }) => `when ${print(when)} then ${print(result)}`);
  return `(case ${printed.join(' ')}${otherwise ? ` else ${print(otherwise)}` : ''} end)`;
}

function printStruct(printer: Printer, { type: { fields }, values }: Node<'struct'>): string {
  // Appended rather than joined: `join` would copy nested records at each level.
  const printed = values.map(
    (value, i) => `${quoteText(fieldName(fields[i]!.name, i))}: ${printExpression(printer, value)}`,
  );
  return `{${printed.reduce((all, value) => `${all}, ${value}`)}}`;
}

/**
 * Values are bound as canonical texts, bytes in base64. DuckDB plans a statement when its values are bound, and also before that unless the
 * type of one of them is unknown. `||` hides the type, which halves the time of small statements.
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

function printArray(printer: Printer, { elements, type }: Node<'array'>): string {
  if (elements.length === 0) return `cast([] as ${duckDbType(type)})`;
  return `[${elements.map(element => printExpression(printer, element)).join(', ')}]`;
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

/** A stored ARRAY is never NULL, because NULL in its storage means empty. */
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

/** The greatest index that DuckDB reads as an INTEGER. */
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
  // No array is that long.
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

/** Whether a scalar subquery may return more than one row. */
const mayHaveMoreRows = ({ form, query }: Node<'subquery'>): boolean =>
  form === 'SCALAR' && !givesOneRow(query);

/**
 * Collects the values of a scalar subquery in a list and takes the only one where it is needed: DuckDB's own subquery fails for several
 * rows even in a branch that is not taken.
 */
function printOnlyElement(printer: Printer, expression: Node<'subquery'>): string {
  const { type } = expression;
  const fails = `cast(bq_fail_text('Scalar subquery produced more than one element') as ${duckDbType(type)})`;
  const list = printExpression(printer, { ...expression, form: 'ARRAY', type: arrayOf(type) });
  return `list_reduce(nullif(${list}, []), lambda one, more: ${fails})`;
}

/**
 * NaN equals nothing, but a list that contains it is not empty. FLOAT64 are compared as texts, and the empty text stands for NaN in the
 * list.
 */
function printInQuery(printer: Printer, { of, query }: Node<'inQuery'>): string {
  if (isNested(query.columns[0]!.type)) {
    const array = { kind: 'subquery', form: 'ARRAY', query, type: arrayOf(query.columns[0]!.type) } as const;
    return printExpression(printer, nestedInArray(of, array, startOfText));
  }
  const list = printer.query(printer, query, { keepsOrder: false });
  const value = printExpression(printer, of);
  if (query.columns[0]?.type.kind !== 'FLOAT64') return `(${value} in (${list}))`;
  // Adding zero turns -0 into 0: the two are equal.
  const text = (sql: string) => `cast(${sql} + 0.0::double as varchar)`;
  return `(${text(value)} in (select case when isnan(v) then '' else ${text('v')} end from (${list}) n(v)))`;
}

const enSpaces = Array.from({ length: 11 }, (_, i) => `chr(${8192 + i})`).join(' || ');

/** BigQuery's TRIM removes all white space of Unicode, DuckDB's only the space character. */
const whiteSpace = `(' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || chr(133) || chr(160) || chr(5760) || ${enSpaces} || chr(8232) || chr(8233) || chr(8239) || chr(8287) || chr(12288))`;

function printCall(printer: Printer, { template, arguments: values, unsupported }: BoundCall): string {
  if (unsupported) throw new UnsupportedSql(unsupported);
  const body = (printed: readonly string[]) =>
    fillTemplate(template, printed, name => callPart(printer, name, printed, values[0]));
  return printOnce(printer, values, body, isNumbered(template) ? template : undefined);
}

/** The text for a named hole in the template of a call; `jsonText` and its kind write the first operand. */
function callPart(
  printer: Printer,
  name: string,
  printed: readonly string[],
  first?: BoundExpression,
): string | undefined {
  const [sql = '', second = ''] = printed;
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
    case 'contains':
      return printContains(sql, firstType(), second);
    case 'sqlText':
      return printSqlText(sql, firstType(), 'text');
    case 'sqlLiteral':
      return printSqlText(sql, firstType(), 'literal');
    default:
      return undefined;
  }
}
