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

/** Escapes DuckDB text for a template (see `BoundCall.template`), in which a `$` starts a hole. */
export function inTemplate(sql: string): string {
  return sql.replaceAll('$', '$$$$');
}

/** Maximum operands in one chain. */
const maxInChain = 16;

/**
 * Joins DuckDB expressions by `||`. Many are split in halves: DuckDB nests the operators of `a || b || c`, and refuses more than 1,000
 * levels.
 */
export function concatOperands(operands: readonly string[]): string {
  if (operands.length <= maxInChain) return operands.join(' || ');
  const middle = operands.length >> 1;
  return `(${concatOperands(operands.slice(0, middle))}) || (${concatOperands(operands.slice(middle))})`;
}
