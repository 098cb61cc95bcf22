/** A DuckDB string literal. NUL, which DuckDB's parser stops at, becomes a call. */
export function quoteText(text: string): string {
  if (!text.includes('\0')) return quoted(text);
  return `(${concatOperands(text.split(/(\0)/).map(part => (part === '\0' ? 'chr(0)' : quoted(part))))})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** A DuckDB identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** DuckDB text as part of a template (see `BoundCall.template`), in which a `$` of its own would begin a place for an argument. */
export function inTemplate(sql: string): string {
  return sql.replaceAll('$', '$$$$');
}

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
