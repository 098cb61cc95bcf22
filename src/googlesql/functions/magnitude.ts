import type { BoundExpression } from '../tree/bound-tree.ts';

const numeric: ReadonlySet<string> = new Set(['INT64', 'FLOAT64', 'NUMERIC']);

/** For each type, a power of two that no value reaches; NUMERIC has 29 digits before its point. */
const typeExponents: Readonly<Record<string, number>> = { BOOL: 1, INT64: 64, NUMERIC: 97 };

/** Maximum rows of an aggregate, as a power of two. */
export const maxRowsExponent = 63;

/** Functions whose answer is no greater than their arguments, up to rounding. */
const bounded: ReadonlySet<string> = new Set([
  ...['unary -', 'unary +', 'ABS', 'SIGN', 'FLOOR', 'CEIL', 'CEILING', 'TRUNC', 'ROUND'],
  ...[
    'IF',
    'IFNULL',
    'COALESCE',
    'NULLIF',
    'GREATEST',
    'LEAST',
    'MIN',
    'MAX',
    'ANY_VALUE',
    'AVG',
    'APPROX_QUANTILES',
  ],
]);

/**
 * A power of two that a number never reaches in any row, derived from its parts; 1024 if it is only known to be finite.
 * @returns undefined if it may be NaN or infinite
 */
export function magnitude(value: BoundExpression): number | undefined {
  // Each enclosing operator asks again, about everything below.
  const found = known.get(value) ?? { exponent: exponentOf(value) };
  known.set(value, found);
  return found.exponent;
}

const known = new WeakMap<BoundExpression, { readonly exponent: number | undefined }>();

function exponentOf(value: BoundExpression): number | undefined {
  switch (value.kind) {
    case 'literal':
      if (!numeric.has(value.type.kind)) return undefined;
      return 1 + Math.max(0, Math.floor(Math.log2(Math.abs(Number(value.value)) || 1)));
    case 'null':
      return 0;
    case 'cast':
      return value.type.kind === 'FLOAT64' ? magnitude(value.of) : typeExponents[value.type.kind];
    case 'let':
      return magnitude(value.body);
    case 'named':
      return magnitude(value.value);
    case 'case':
      return greatest([
        ...value.branches.map(({ result }) => result),
        ...(value.otherwise ? [value.otherwise] : []),
      ]);
    case 'element':
      return value.of.kind === 'aggregate' ? magnitude(value.of) : typeExponents[value.type.kind];
    case 'aggregate':
    case 'call':
      return ofCall(value) ?? typeExponents[value.type.kind];
    default:
      return typeExponents[value.type.kind];
  }
}

/** Whether a number is finite in every row. */
export const isAlwaysFinite = (value: BoundExpression): boolean =>
  (magnitude(value) ?? Number.POSITIVE_INFINITY) <= 1024;

function ofCall({
  name,
  arguments: values,
}: Extract<BoundExpression, { kind: 'aggregate' | 'call' }>): number | undefined {
  const [left, right] = values;
  // Not CHECKED: that lets NaN and infinity of an operand through.
  if (name === 'FINITE') return 1024;
  if (bounded.has(name)) {
    // One bit for rounding; rounding to tens may add a digit.
    const most = greatest(name === 'IF' ? values.slice(1) : name === 'ROUND' ? values.slice(0, 1) : values);
    return most === undefined ? undefined : most + (name === 'ROUND' ? 4 : 1);
  }
  const sides = values.slice(0, 2).map(magnitude);
  const [first, second] = sides;
  if (!left || first === undefined) return undefined;
  if (name === 'SUM') return first + maxRowsExponent;
  if (!right || second === undefined) return undefined;
  if (name === '+' || name === '-') return Math.max(first, second) + 1;
  if (name === '*') return first + second;
  const divisor = name === '/' ? constantNumber(right) : undefined;
  return divisor ? first + Math.max(0, Math.ceil(-Math.log2(Math.abs(divisor)))) : undefined;
}

function greatest(values: readonly BoundExpression[]): number | undefined {
  let most = 0;
  for (const value of values) {
    const own = magnitude(value);
    if (own === undefined) return undefined;
    most = Math.max(most, own);
  }
  return most;
}

/** The number that a literal stands for, cast to FLOAT64 or not. */
export function constantNumber(value: BoundExpression): number | undefined {
  const literal = value.kind === 'cast' && value.type.kind === 'FLOAT64' ? value.of : value;
  const isNumber = literal.kind === 'literal' && numeric.has(literal.type.kind);
  return isNumber ? Number(literal.value) : undefined;
}
