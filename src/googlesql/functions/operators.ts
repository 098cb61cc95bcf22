import type { SqlPosition } from '../../base/errors.ts';
import { type BoundCall, type BoundExpression, call } from '../tree/bound-tree.ts';
import { concatenable } from '../tree/coercion.ts';
import { isPlainConstant, isRepeatable } from '../tree/let-in.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { bindRow, row, rowsByName, unsupported, type Variant } from './function-row.ts';
import { constantNumber, isAlwaysFinite, magnitude } from './magnitude.ts';
import { isNested, nestedDistinction, nestedEquality } from './nested-comparison.ts';
import { intervalOperatorRows } from './times/functions-interval.ts';

/**
 * In BigQuery NaN is neither equal to, less nor greater than anything; in DuckDB it equals itself and is the greatest number. These are the
 * templates for that, with the arguments that make the test unnecessary if one of them is never NaN.
 */
const withNan: Readonly<Record<string, readonly [template: string, tested: readonly number[]]>> = {
  '=': ['($1 = $2 and not (isnan($1) and isnan($2)))', [0, 1]],
  '!=': ['($1 != $2 or (isnan($1) and isnan($2)))', [0, 1]],
  '<': ['($1 < $2 and not (isnan($2) and $1 is not null))', [1]],
  '<=': ['($1 <= $2 and not (isnan($2) and $1 is not null))', [1]],
  '>': ['($1 > $2 and not (isnan($1) and $2 is not null))', [0]],
  '>=': ['($1 >= $2 and not (isnan($1) and $2 is not null))', [0]],
};

/** Compared with a constant, a range excludes NaN and names the number only once. */
const beyondConstant: Readonly<Record<string, readonly [template: string, constant: number]>> = {
  '>': ["($1 between nextafter($2, 'infinity'::double) and 'infinity'::double)", 1],
  '>=': ["($1 between $2 and 'infinity'::double)", 1],
  '<': ["($2 between nextafter($1, 'infinity'::double) and 'infinity'::double)", 0],
  '<=': ["($2 between $1 and 'infinity'::double)", 0],
};

function comparisonVariants(name: string, tested: readonly number[]): readonly Variant[] {
  const plain = {
    template: `($1 ${name} $2)`,
    applies: (values: readonly BoundExpression[]) => tested.some(i => isAlwaysFinite(values[i]!)),
  };
  const [template, constant] = beyondConstant[name] ?? [];
  if (!template) return [plain];
  return [plain, { template, applies: values => constantNumber(values[constant!]!) !== undefined }];
}

const comparisons = Object.entries(withNan).flatMap(([name, [template, tested]]) => [
  row(`${name}(FLOAT64, FLOAT64) BOOL`, template, { variants: comparisonVariants(name, tested) }),
  row(`${name}(C, C) BOOL`, `($1 ${name} $2)`),
]);

/** A literal divisor other than 0 needs no check. */
const byConstant: Variant = {
  template: '($1 / $2)',
  applies: ([, divisor]) => Boolean(constantNumber(divisor!)),
};

const arithmetic = ['+', '-', '*'].flatMap(name => [
  row(`${name}(INT64, INT64) INT64`, `($1 ${name} $2)`),
  row(
    `${name}(NUMERIC, NUMERIC) NUMERIC`,
    name === '*' ? 'bq_numeric_product($1, $2)' : `cast(($1 ${name} $2) as decimal(38, 9))`,
  ),
  row(`${name}(BIGNUMERIC, BIGNUMERIC) BIGNUMERIC`, unsupported),
  row(`${name}(FLOAT64, FLOAT64) FLOAT64`, `($1 ${name} $2)`),
]);

/** `INTERVAL n PART`; units longer than a day are steps of the calendar. */
const intervals = Object.entries({
  MICROSECOND: 'to_microseconds($1)',
  MILLISECOND: 'to_microseconds($1 * 1000)',
  SECOND: 'to_microseconds($1 * 1000000)',
  MINUTE: 'to_microseconds($1 * 60000000)',
  HOUR: 'to_microseconds($1 * 3600000000)',
  DAY: 'to_days(cast($1 as integer))',
  WEEK: 'to_days(cast($1 * 7 as integer))',
  MONTH: 'to_months(cast($1 as integer))',
  QUARTER: 'to_months(cast($1 * 3 as integer))',
  YEAR: 'to_months(cast($1 * 12 as integer))',
}).map(([part, template]) => row(`INTERVAL ${part}(INT64) INTERVAL`, template));

/** The operators, each a function whose name is its symbol. */
const operatorRows = rowsByName([
  row('AND(BOOL...) BOOL', '($and)'),
  row('OR(BOOL...) BOOL', '($or)'),
  row('NOT(BOOL) BOOL', '(not $1)'),
  row('IS TRUE(BOOL) BOOL', '($1 is true)'),
  row('IS FALSE(BOOL) BOOL', '($1 is false)'),
  row('IS DISTINCT FROM(C, C) BOOL', '($1 is distinct from $2)'),
  ...comparisons,
  row('LIKE(STRING, STRING) BOOL', 'bq_like($1, $2)'),
  row('LIKE(BYTES, BYTES) BOOL', 'bq_bytes_like($1, $2)'),
  row('||(STRING, STRING) STRING', '($1 || $2)'),
  row('||(BYTES, BYTES) BYTES', 'cast(($1 || $2) as blob)'),
  row('||(ARRAY<T>, ARRAY<T>) ARRAY<T>', 'bq_array_concat($1, $2)'),
  ...arithmetic,
  row('/(FLOAT64, FLOAT64) FLOAT64', 'bq_divide($1, $2)', { variants: [byConstant] }),
  row('/(NUMERIC, NUMERIC) NUMERIC', 'bq_numeric_divide($1, $2)'),
  row('/(BIGNUMERIC, BIGNUMERIC) BIGNUMERIC', unsupported),
  row('+(DATE, INT64) DATE', 'bq_ranged_date($1 + cast($2 as integer))'),
  row('-(DATE, INT64) DATE', 'bq_ranged_date($1 - cast($2 as integer))'),
  ...intervalOperatorRows,
  ...intervals,
  row('unary -(INT64) INT64', '(-$1)'),
  row('unary -(NUMERIC) NUMERIC', '(-$1)'),
  row('unary -(FLOAT64) FLOAT64', '(-$1)'),
  row('unary +(INT64) INT64', '$1'),
  row('unary +(NUMERIC) NUMERIC', '$1'),
  row('unary +(FLOAT64) FLOAT64', '$1'),
  row('unary ~(INT64) INT64', '(~$1)'),
  row('&(INT64, INT64) INT64', '($1 & $2)'),
  row('|(INT64, INT64) INT64', '($1 | $2)'),
  row('^(INT64, INT64) INT64', 'xor($1, $2)'),
  row('<<(INT64, INT64) INT64', 'bq_shift_left($1, $2)'),
  row('>>(INT64, INT64) INT64', 'bq_shift_right($1, $2)'),
  row('unary ~(BYTES) BYTES', 'bq_bytes_not($1)'),
  ...Object.entries({ '&': 'and', '|': 'or', '^': 'xor' }).map(([name, word]) =>
    row(`${name}(BYTES, BYTES) BYTES`, `bq_bytes_${word}($1, $2)`),
  ),
  ...Object.entries({ '<<': 'left', '>>': 'right' }).map(([name, word]) =>
    row(`${name}(BYTES, INT64) BYTES`, `bq_bytes_shift_${word}($1, $2)`),
  ),
]);

/** A call of an operator, which is a function whose name is a symbol. */
export function operator(name: string, values: readonly BoundExpression[], at: SqlPosition): BoundExpression {
  if (name in nestedOperators && values.some(({ type }) => isNested(type)))
    return nestedOperators[name]!(values, at);
  const [left, right] = values;
  if (name === '+' && left?.type.kind === 'INT64' && right?.type.kind === 'DATE')
    return operator(name, [right, left], at);
  const rows = operatorRows.get(name);
  if (!rows) throw invalidQuery(`Operator ${name} is not supported`, at);
  const makesSmaller = name === '/' && Math.abs(constantNumber(values[1]!) ?? 0) >= 1;
  const bound = bindRow(
    rows,
    `operator ${name}`,
    arithmeticNames.has(name) && !makesSmaller
      ? values.map((value, i) => (name === '/' && i === 1 ? value : unchecked(value)))
      : name === '||'
        ? concatenable(values, at)
        : values,
    at,
  );
  if (bound.type.kind === 'FLOAT64' && arithmeticNames.has(name) && !makesSmaller) return finite(bound);
  return name === 'LIKE' ? withPattern(bound, at) : bound;
}

/** Operators of STRUCTs and ARRAYs. */
const nestedOperators: Readonly<
  Record<string, (values: readonly BoundExpression[], at: SqlPosition) => BoundExpression>
> = {
  '=': (values, at) => nestedEquality(values, operator, at),
  '!=': (values, at) => operator('NOT', [nestedEquality(values, operator, at)], at),
  'IS DISTINCT FROM': nestedDistinction,
};

const arithmeticNames: ReadonlySet<string> = new Set(['+', '-', '*', '/']);

/** Refuses an untyped NULL as the operand of an explicit operator; BETWEEN, IN and CASE accept it. */
export function refuseBareNull(symbol: string, values: readonly BoundExpression[], at: SqlPosition): void {
  if (values.some(isBareNull)) throw invalidQuery(`Operands of ${symbol} cannot be literal NULL`, at);
}

const isBareNull = (value: BoundExpression): boolean => value.kind === 'null' && value.type.kind === 'NULL';

/**
 * Makes an overflow fail. It is checked once, at the top of a calculation, instead of at every step; and not if the operands are too
 * small to overflow, or for a quotient by a constant. A divisor is checked separately, because dividing by infinity would hide it. An
 * operand that is NaN or infinite itself may make the result so.
 */
export function finite(of: BoundExpression): BoundExpression {
  if ((magnitude(of) ?? Number.POSITIVE_INFINITY) <= 1023) return of;
  const checked = stepsOf(of) > maxSteps ? call('FINITE', 'bq_finite_long($1)', [of], of.type) : checkOf(of);
  beforeChecks.set(checked, of);
  return checked;
}

/**
 * Maximum operators of a calculation whose operands are checked one by one, and of one that is printed twice instead of named: DuckDB
 * recognises equal expressions, and calculates them once.
 */
const [maxSteps, maxRepeated] = [100, 8];

function checkOf(of: BoundExpression): BoundExpression {
  const operands = [...operandsOf(of, new Set())];
  const unsure = operands.filter(operand => !isAlwaysFinite(operand));
  const check = (template: string, values: readonly BoundExpression[]) =>
    call(unsure.length > 0 ? 'CHECKED' : 'FINITE', template, values, of.type);
  const areFinite = (placeOf: (operand: BoundExpression) => string) =>
    unsure.map(operand => `isfinite(${placeOf(operand)})`).join(' and ') || 'true';
  // DuckDB calculates a constant even if no row needs it, except in a lambda.
  if (stepsOf(of) <= maxRepeated && operands.every(isRepeatable) && !operands.every(isPlainConstant)) {
    const placeOf = (operand: BoundExpression) => `\${${operands.indexOf(operand) + 1}}`;
    return check(`bq_finite(${templateOf(of, placeOf)}, ${areFinite(placeOf)})`, operands);
  }
  const compound = unsure.filter(operand => !isRepeatable(operand));
  const names = new Map(compound.map(value => [value, { kind: 'named', type: value.type, value } as const]));
  const body = check(
    `bq_finite($1, ${areFinite(operand => `\${${unsure.indexOf(operand) + 2}}`)})`,
    [of, ...unsure].map(value => withNames(value, names)),
  );
  return compound.length === 0 ? body : { kind: 'let', type: of.type, values: compound, body };
}

/** The template of a whole calculation. */
function templateOf(of: BoundExpression, placeOf: (operand: BoundExpression) => string): string {
  if (!isArithmetic(of)) return placeOf(of);
  return of.template.replace(/\$(\d)/g, (_, n) => templateOf(of.arguments[Number(n) - 1]!, placeOf));
}

/** By check, the calculation that it checks: an operator on top drops the check, and checks the whole calculation once. */
const beforeChecks = new WeakMap<BoundExpression, BoundExpression>();

const unchecked = (value: BoundExpression): BoundExpression => beforeChecks.get(value) ?? value;

const isArithmetic = (value: BoundExpression): value is BoundCall =>
  value.kind === 'call' && arithmeticNames.has(value.name) && value.type.kind === 'FLOAT64';

const knownSteps = new WeakMap<BoundExpression, number>();

function stepsOf(of: BoundExpression): number {
  if (!isArithmetic(of)) return 0;
  const steps = knownSteps.get(of) ?? of.arguments.reduce((sum, value) => sum + stepsOf(value), 1);
  knownSteps.set(of, steps);
  return steps;
}

/** Adds the operands of a calculation to those found. */
function operandsOf(of: BoundExpression, found: Set<BoundExpression>): ReadonlySet<BoundExpression> {
  if (!isArithmetic(of)) return found.add(of);
  for (const value of of.arguments) operandsOf(value, found);
  return found;
}

function withNames(
  of: BoundExpression,
  names: ReadonlyMap<BoundExpression, BoundExpression>,
): BoundExpression {
  if (!isArithmetic(of)) return names.get(of) ?? of;
  return { ...of, arguments: of.arguments.map(value => withNames(value, names)) };
}

/** A constant pattern is checked here, and stays a LIKE that DuckDB can optimise. */
function withPattern(bound: BoundExpression, at: SqlPosition): BoundExpression {
  const pattern = bound.kind === 'call' ? bound.arguments[1] : undefined;
  if (bound.kind !== 'call' || pattern?.kind !== 'literal' || pattern.type.kind !== 'STRING') return bound;
  if (/\\*$/.exec(pattern.value)![0].length % 2 === 1)
    throw invalidQuery('LIKE pattern ends with a backslash', at);
  // Without an escape DuckDB searches for a prefix or a part of the text, in two thirds of the time.
  const isPlain = !pattern.value.includes('\\');
  return { ...bound, template: isPlain ? '($1 like $2)' : String.raw`($1 like $2 escape '\')` };
}
