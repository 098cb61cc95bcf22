import type { BoundExpression } from './bound-tree.ts';

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
    default:
      return false;
  }
}

/** Makes an expression of a value that it may name often; the value is calculated once. */
export function letIn(
  value: BoundExpression,
  make: (named: BoundExpression) => BoundExpression,
): BoundExpression {
  if (isRepeatable(value)) return make(value);
  const body = make({ kind: 'named', type: value.type, value });
  return { kind: 'let', type: body.type, values: [value], body };
}
