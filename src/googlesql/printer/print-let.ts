import { countMentions } from '../functions/duckdb-macros.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { isFolded, isPlainConstant, isRepeatable } from '../tree/let-in.ts';
import { childrenOf } from '../tree/walk-bound-tree.ts';
import { columnKey, type Printer } from './printer.ts';
import { rememberedByTemplate } from './templates.ts';

/** Maximum depth of nested lambdas. On a busy machine DuckDB took 50 to 470 ms to plan this many, and up to 4 s for 150. */
const maxLetDepth = 60;

/** Levels for which a subquery counts: it is a join, which DuckDB plans again for each enclosing lambda. */
export const subqueryDepth = 6;

/**
 * The printer for text that is nested this many lambdas deeper.
 * @throws RangeError for an excessive depth
 */
export function deeper(printer: Printer, by: number): Printer {
  if (printer.letDepth + by > maxLetDepth) throw new RangeError('Expressions nested too deep');
  return { ...printer, letDepth: printer.letDepth + by };
}

/**
 * Prints values and an expression over them, each value once: DuckDB's SQL has no LET, and a lambda over a list of one element is the
 * cheapest way to name a value. Decision 48 has the figures. The members have no names: DuckDB loses those of a struct in
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
  const positions = new Map<string, number>();
  const nameOf = (value: BoundExpression): string => {
    const text = printer.expression(around, value);
    // Two calls of RAND are different numbers.
    const known = /\b(?:random|uuid)\(\)/.test(text) ? undefined : positions.get(text);
    const position = known ?? members.push(text);
    positions.set(text, position);
    return `struct_extract(v, ${position})`;
  };
  const names = new Map(values.map(value => [value, nameOf(value)]));
  const inside: Printer = { ...around, let: { names, lift: nameOf } };
  const text = body(inside);
  const record = members.join(', ');
  // If something next to a lambda belongs to the enclosing query, DuckDB resolves all names in the lambda there.
  const isMixed = printer.readsOuterQuery(record) && printer.readsOwnQuery(text);
  if (isMixed && !printer.liftsColumns) return printLet({ ...printer, liftsColumns: true }, values, body);
  return `array_extract(list_transform([row(${record})], lambda v: ${text}), 1)`;
}

/** How a template uses its operands. */
type Uses = {
  readonly isTried: boolean;
  readonly holdsLambda: boolean;
  /** How often it names each, `$1` for the first. */
  readonly counts: ReadonlyMap<string, number>;
};

const usesIn = rememberedByTemplate(
  (template): Uses => ({
    isTried: /\btry\(/.test(template),
    holdsLambda: /\blambda /.test(template),
    counts: countMentions(template),
  }),
);

/**
 * Prints a text made of operands. An operand that the text repeats gets a name, unless it is a column, a constant or `isFolded`; with a
 * TRY in the text, every operand but a constant does, see `tryWith`.
 * @param text the body with `$1`, `$2` and so on as operands, if it is known
 */
export function printOnce(
  printer: Printer,
  operands: readonly BoundExpression[],
  body: (texts: readonly string[]) => string,
  text = body(operands.map((_, i) => `$${i + 1}`)),
): string {
  const { isTried, holdsLambda, counts } = usesIn(text);
  const isCompound = (operand: BoundExpression) =>
    isTried ? !isPlainConstant(operand) : !isRepeatable(operand) && !isFolded(operand);
  const isRepeated = (operand: BoundExpression, i: number) =>
    (counts.get(`$${i + 1}`) ?? 0) > 1 && isCompound(operand);
  const compound = isTried || operands.some(isRepeated) ? operands.filter(isCompound) : [];
  if (compound.length > 0) {
    return printLet(printer, compound, inside =>
      body(operands.map(operand => inside.let?.names.get(operand) ?? inside.expression(inside, operand))),
    );
  }
  const isHeld = printer.let || !holdsLambda || !operands.some(operand => needsName(printer, operand));
  if (isHeld) return body(operands.map(operand => printer.expression(printer, operand)));
  const named = operands.filter(operand => !isPlainConstant(operand));
  return printLet({ ...printer, liftsColumns: true }, named, inside =>
    body(operands.map(operand => inside.let?.names.get(operand) ?? inside.expression(inside, operand))),
  );
}

/** Whether a value can't stand in the lambda of a template: it contains a query, an aggregate or a column of an enclosing query. */
function needsName(printer: Printer, value: BoundExpression): boolean {
  const { holdsQuery, columns } = contentOf(value);
  return holdsQuery || columns.values().some(key => printer.readsOuterQuery(printer.references.get(key)!));
}

/** Whether a query or an aggregate is in a value, or in what it names. */
export const holdsQuery = (value: BoundExpression): boolean => contentOf(value).holdsQuery;

/** Whether a value reads a field of a record. */
export const holdsField = (value: BoundExpression): boolean => contentOf(value).holdsField;

/** `columns`: the key of one column of each relation, for its columns all belong to one query. */
type Content = {
  readonly holdsQuery: boolean;
  readonly holdsField: boolean;
  readonly columns: ReadonlyMap<number, string>;
};

const known = new WeakMap<BoundExpression, Content>();

/** What a value contains; found once, however many calls enclose it. */
function contentOf(value: BoundExpression): Content {
  const found = known.get(value) ?? contentOfParts(value);
  known.set(value, found);
  return found;
}

function contentOfParts(value: BoundExpression): Content {
  if (value.kind === 'column')
    return {
      holdsQuery: false,
      holdsField: false,
      columns: new Map([[value.relation, columnKey(value.relation, value.index)]]),
    };
  const parts = (value.kind === 'named' ? [value.value] : childrenOf(value)).map(contentOf);
  const holdsQuery =
    ['aggregate', 'subquery', 'inQuery'].includes(value.kind) || parts.some(part => part.holdsQuery);
  const holdsField = value.kind === 'field' || parts.some(part => part.holdsField);
  return { holdsQuery, holdsField, columns: parts.map(part => part.columns).reduce(together, none) };
}

const none: ReadonlyMap<number, string> = new Map();

/** The columns of both; one of the two maps if it has every relation of the other. */
function together(a: Content['columns'], b: Content['columns']): Content['columns'] {
  const [more, less] = a.size < b.size ? [b, a] : [a, b];
  return less.keys().every(relation => more.has(relation)) ? more : new Map([...less, ...more]);
}
