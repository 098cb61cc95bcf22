import type { BoundExpression } from './bound-tree.ts';
import { isConstant } from './walk-bound-tree.ts';

/** Whether a value costs nothing to name twice: a column, a field of one, a constant. */
export function isRepeatable(value: BoundExpression): boolean {
  switch (value.kind) {
    case 'literal':
    case 'null':
    case 'parameter':
    case 'now':
    case 'column':
    case 'named':
      return true;
    case 'field':
      return isRepeatable(value.of);
    case 'cast':
      return value.of.type.kind === 'INT64' && value.type.kind === 'FLOAT64' && isRepeatable(value.of);
    // A number of units of time.
    case 'call':
      return value.name.startsWith('INTERVAL ') && value.arguments.every(isRepeatable);
    default:
      return false;
  }
}

/**
 * NULL if the expression made of the values fails; the values themselves are calculated outside, where their failures still count.
 * Everything but constants gets a name: DuckDB calculates common subexpressions once and before TRY, but does not look for them in a lambda.
 */
export function tryWith(
  values: readonly BoundExpression[],
  make: (named: readonly BoundExpression[]) => BoundExpression,
): BoundExpression {
  const changing = values.filter(value => !isPlainConstant(value));
  const of = make(
    values.map(value => (isPlainConstant(value) ? value : { kind: 'named', type: value.type, value })),
  );
  const body: BoundExpression = { kind: 'try', type: of.type, of };
  return changing.length === 0 ? body : { kind: 'let', type: of.type, values: changing, body };
}

/** Whether a value is the same in every row, and nothing is calculated. */
export const isPlainConstant = (value: BoundExpression): boolean => isRepeatable(value) && isConstant(value);

const foldedCalls: ReadonlySet<string> = new Set(['+', '-', '*', '||', 'CONCAT']);

/**
 * Whether a value is an INT64 or a text made of literals and parameters. DuckDB calculates it once, when it plans the statement: repeating
 * it costs less than naming it, which takes almost a microsecond for each row.
 * @param steps maximum depth of casts and operators
 */
export function isFolded(value: BoundExpression, steps = 2): boolean {
  if (isPlainConstant(value)) return true;
  const { kind } = value.type;
  if (steps === 0 || (kind !== 'INT64' && kind !== 'STRING')) return false;
  if (value.kind === 'cast') return kind === 'INT64' && isFolded(value.of, steps - 1);
  return (
    value.kind === 'call' &&
    foldedCalls.has(value.name) &&
    value.arguments.every(each => isFolded(each, steps - 1))
  );
}

/** Makes an expression that may use a value several times; the value is calculated once. */
export function letIn(
  value: BoundExpression,
  make: (named: BoundExpression) => BoundExpression,
): BoundExpression {
  if (isRepeatable(value)) return make(value);
  const body = make({ kind: 'named', type: value.type, value });
  return { kind: 'let', type: body.type, values: [value], body };
}

/** `letIn` for a STRUCT: each of its parts has a name, and the STRUCT itself is not made. */
export function letInParts(
  value: BoundExpression,
  make: (named: BoundExpression) => BoundExpression,
): BoundExpression {
  if (value.kind !== 'struct') return letIn(value, make);
  const values = value.values.filter(part => !isRepeatable(part));
  const body = make({
    ...value,
    values: value.values.map(part =>
      isRepeatable(part) ? part : { kind: 'named', type: part.type, value: part },
    ),
  });
  return values.length === 0 ? body : { kind: 'let', type: body.type, values, body };
}
