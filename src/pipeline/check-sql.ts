import { requireEndpoint, requireScope } from '../auth/caller.ts';
import { GatewayError } from '../base/errors.ts';
import type { Column } from '../base/rows.ts';
import { withoutValue } from '../endpoints/parameters/read-parameter.ts';
import type { Engine } from '../engine/engine.ts';
import type { CallerHeaders } from '../http-messages/caller-headers.ts';
import { readCallerSql } from './bind-parameters.ts';
import { requireFixedSubsets, requireTaken } from './fixed-parameters.ts';
import { identifyCaller } from './identify-caller.ts';
import { findEndpoint, type PlanDeps } from './plan-request.ts';
import { type RefusedStatement, refusalOf } from './refused-statement.ts';
import { type Redaction, redactError, redactionOf } from './representation.ts';

type CheckDeps = Pick<PlanDeps, 'tokens' | 'endpoints' | 'redactKinds'> & {
  readonly engine: Pick<Engine, 'check'>;
};

/** A caller's SQL to check without running it. */
export type CheckRequest = {
  readonly headers: CallerHeaders;
  /** Name or UUID of the endpoint. */
  readonly endpoint: string;
  readonly readSql: () => Promise<unknown>;
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal;
};

/**
 * Finds what is wrong with a caller's SQL, or else its columns. Only the front-end runs, so that an editor can check on every
 * keystroke. Values of parameters don't matter.
 * @throws GatewayError `unauthorized`, `too_many_requests`, `endpoint_not_found`, `forbidden`, `invalid_parameter`, and those of `readSql`
 */
export async function checkSql(
  { tokens, endpoints, redactKinds, engine }: CheckDeps,
  { headers, endpoint, readSql, signal }: CheckRequest,
): Promise<readonly Column[] | RefusedStatement> {
  const caller = await identifyCaller(tokens, headers.credentials);
  const definition = findEndpoint(endpoints, endpoint, caller);
  const { name, sql, parameters, sandbox } = definition;
  requireEndpoint(caller, name);
  requireScope(caller, 'sandbox');
  if (!sandbox)
    throw new GatewayError(
      'invalid_parameter',
      `The saved query "${name}" is not sandboxed; callers' SQL is allowed only over sandboxed ones`,
    );
  if (caller.fixedParameters) {
    requireTaken(definition, caller.fixedParameters);
    requireFixedSubsets(definition, caller.fixedParameters);
  }
  // Until the SQL is read, errors are redacted in any case.
  const kinds = definition.redactKinds ?? redactKinds;
  let redact: Redaction = kinds;
  try {
    const requested = redactionOf(kinds, definition, headers, caller);
    const callerSql = readCallerSql(definition, { sql: await readSql() });
    redact = requested;
    const statement = { sql, parameters: parameters.map(withoutValue), ...(callerSql && { callerSql }) };
    return await engine.check(statement, { signal, caller: caller.tokenId });
  } catch (thrown) {
    return refusalOf(redactError(thrown, redact));
  }
}
