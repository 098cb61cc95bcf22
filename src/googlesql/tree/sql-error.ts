import { GatewayError, type SqlPosition, shortened } from '../../base/errors.ts';

/** Where an error is reported that has no position of its own: one about the whole text, or one found while printing. */
export const startOfText: SqlPosition = { line: 1, column: 1 };

/** An error in a query's text, worded like BigQuery's own: `Unrecognized name: foo at [1:8]`. */
export function invalidQuery(message: string, at: SqlPosition): GatewayError {
  return new GatewayError('invalid_query', `${shortened(message)} at [${at.line}:${at.column}]`, {
    position: at,
  });
}

/** A caller's SQL uses something that the sandbox forbids: another table, another kind of statement. */
export function sandboxRefused(message: string, at: SqlPosition): GatewayError {
  return new GatewayError('sandbox_refused', `${shortened(message)} at [${at.line}:${at.column}]`, {
    position: at,
  });
}

/** Valid GoogleSQL that has no DuckDB form. The warehouse runs it; the embedded engine refuses it by name. */
export type Unsupported = { readonly message: string; readonly at: SqlPosition };

/** The error for SQL that only the warehouse runs. `bindSpecial` catches it for a function that also has rows for the warehouse. */
export class UnsupportedSql extends GatewayError {
  readonly reason: Unsupported;

  constructor(reason: Unsupported) {
    const { message, position } = invalidQuery(reason.message, reason.at);
    super('invalid_query', message, { position });
    this.reason = reason;
  }
}

/** @param what `function SOUNDEX`, `PIVOT` */
export function onlyOnWarehouse(what: string, at: SqlPosition): UnsupportedSql {
  return new UnsupportedSql({ message: `${what} is not supported on the embedded engine`, at });
}
