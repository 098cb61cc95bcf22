/** Operands that are written one behind the other. */
const mostInARow = 16;

/**
 * Joins DuckDB expressions by `||`. Many are written in halves, for DuckDB reads `a || b || c` as one expression in another and refuses
 * more than 1,000 levels.
 */
export function concatOperands(operands: readonly string[]): string {
  if (operands.length <= mostInARow) return operands.join(' || ');
  const middle = operands.length >> 1;
  return `(${concatOperands(operands.slice(0, middle))}) || (${concatOperands(operands.slice(middle))})`;
}
