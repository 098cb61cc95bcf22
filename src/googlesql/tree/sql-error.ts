import { GatewayError, type SqlPosition } from '../../base/errors.ts';

/** A fault in a query's text, worded like BigQuery's own: `Unrecognized name: foo at [1:8]`. */
export function invalidQuery(message: string, at: SqlPosition): GatewayError {
  return new GatewayError('invalid_query', `${shortened(message)} at [${at.line}:${at.column}]`, {
    position: at,
  });
}

/** A caller's SQL reaches for what the sandbox keeps closed: another table, another kind of statement. */
export function sandboxRefused(message: string, at: SqlPosition): GatewayError {
  return new GatewayError('sandbox_refused', `${shortened(message)} at [${at.line}:${at.column}]`, {
    position: at,
  });
}

/** Characters of a message: a name or a type in it may be as long as the text. */
const maxMessage = 1000;

function shortened(message: string): string {
  return message.length > maxMessage ? `${message.slice(0, maxMessage).toWellFormed()}…` : message;
}
