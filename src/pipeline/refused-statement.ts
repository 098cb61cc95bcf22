import { type SqlPosition, toGatewayError } from '../base/errors.ts';

/** The engine would not run the statement: a verdict on the SQL, not a failure of the request. */
export type RefusedStatement = {
  readonly code: 'invalid_query' | 'sandbox_refused';
  readonly message: string;
  readonly position: SqlPosition | undefined;
};

/** @throws what was thrown, unless it refuses the statement */
export function refusalOf(thrown: unknown): RefusedStatement {
  const { code, message, position } = toGatewayError(thrown);
  if (code === 'invalid_query' || code === 'sandbox_refused') return { code, message, position };
  throw thrown;
}
