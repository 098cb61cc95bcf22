import { countMentions } from '../functions/duckdb-macros.ts';
import { type BoundExpression, childrenOf } from '../tree/bound-tree.ts';
import { isPlainConstant, isRepeatable } from '../tree/let-in.ts';
import type { Printer } from './printer.ts';

/** Nested lambdas. On a busy machine DuckDB took 50 to 470 ms to plan this many, and up to 4 s for 150. */
const maxLetDepth = 60;

/** A subquery in a value is a join, and each one around it plans it again. */
export const subqueryDepth = 6;

/**
 * The printer for what is nested this many lambdas deeper.
 * @throws RangeError for a nesting that nobody would write
 */
export function deeper(printer: Printer, by: number): Printer {
  if (printer.letDepth + by > maxLetDepth) throw new RangeError('Expressions nested too deep');
  return { ...printer, letDepth: printer.letDepth + by };
}

/**
 * Prints values and what is made of them, each value once: DuckDB's SQL has no LET, and a lambda over a list of one element is the
 * cheapest thing there that names a value. Decision 48 has the figures. The members have no names: DuckDB loses those of a struct in
 * the array of a correlated subquery.
 * @param body prints with the printer that it is given, in which the values have names
 */
export function printLet(
  printer: Printer,
  values: readonly BoundExpression[],
  body: (inside: Printer) => string,
): string {
  const around = deeper(printer, 1);
  const members: string[] = [];
  const nameOf = (value: BoundExpression): string => {
    const text = printer.expression(around, value);
    // Two calls of RAND are two numbers.
    const at = /\b(?:random|uuid)\(\)/.test(text) ? -1 : members.indexOf(text);
    return `struct_extract(v, ${at < 0 ? members.push(text) : at + 1})`;
  };
  const names = new Map(values.map(value => [value, nameOf(value)]));
  const inside: Printer = { ...around, let: { names, lift: nameOf } };
  const text = body(inside);
  const record = members.join(', ');
  // DuckDB looks for all that a lambda names in the query around, once something beside it is of that query.
  const isMixed = printer.readsOuterQuery(record) && printer.readsOwnQuery(text);
  if (isMixed && !printer.liftsColumns) return printLet({ ...printer, liftsColumns: true }, values, body);
  return `array_extract(list_transform([row(${record})], lambda v: ${text}), 1)`;
}

/**
 * Prints something that is made of operands; one that it names more than once gets a name of its own, unless it is a column or a
 * constant. With a TRY in it every operand but a constant has a name, see `tryWith`.
 */
export function printOnce(
  printer: Printer,
  operands: readonly BoundExpression[],
  body: (texts: readonly string[]) => string,
): string {
  const text = body(operands.map((_, i) => `$${i + 1}`));
  const isTried = /\btry\(/.test(text);
  const compound = operands.filter(operand => !(isTried ? isPlainConstant : isRepeatable)(operand));
  const counts = compound.length > 0 ? countMentions(text) : undefined;
  const isRepeated = operands.some(
    (operand, i) => compound.includes(operand) && (counts?.get(`$${i + 1}`) ?? 0) > 1,
  );
  if (compound.length > 0 && (isTried || isRepeated)) {
    return printLet(printer, compound, inside =>
      body(operands.map(operand => inside.let?.names.get(operand) ?? inside.expression(inside, operand))),
    );
  }
  const whole = body(operands.map(operand => printer.expression(printer, operand)));
  if (printer.let || !/\blambda /.test(text)) return whole;
  if (!operands.some(holdsQuery) && !printer.readsOuterQuery(whole)) return whole;
  // The lambda of a template can't hold these.
  const named = operands.filter(operand => !isPlainConstant(operand));
  return printLet({ ...printer, liftsColumns: true }, named, inside =>
    body(operands.map(operand => inside.let?.names.get(operand) ?? inside.expression(inside, operand))),
  );
}

function holdsQuery(value: BoundExpression): boolean {
  return ['aggregate', 'subquery', 'inQuery'].includes(value.kind) || childrenOf(value).some(holdsQuery);
}
