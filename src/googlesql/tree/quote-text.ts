import { concatOperands } from './concat-operands.ts';

/** A DuckDB string literal. NUL, which DuckDB's parser stops at, becomes a call. */
export function quoteText(text: string): string {
  const quoted = text
    .split(/(\0)/)
    .map(part => (part === '\0' ? 'chr(0)' : `'${part.replaceAll("'", "''")}'`));
  return quoted.length === 1 ? quoted[0]! : `(${concatOperands(quoted)})`;
}

/** A DuckDB identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** DuckDB text as part of a template (see `BoundCall.template`), in which a `$` of its own would begin a place for an argument. */
export function inTemplate(sql: string): string {
  return sql.replaceAll('$', '$$$$');
}
