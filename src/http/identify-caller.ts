import { type Caller, requireScope } from '../auth/caller.ts';
import type { Scope } from '../auth/scopes.ts';
import type { Authenticator } from '../auth/tokens.ts';
import { countRequests } from '../auth/usage/meters.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { RequestContext } from '../http-messages/request-context.ts';

/**
 * Identifies the caller of a request about the gateway rather than for rows, and counts the request against its token's limits.
 * @param scope absent: any token will do
 * @throws GatewayError `unauthorized`, `forbidden`, `too_many_requests`, `unavailable`
 */
export async function identifyCaller(
  tokens: Pick<Authenticator, 'authenticate'>,
  { request }: RequestContext,
  scope?: Scope,
): Promise<Caller> {
  const caller = await tokens.authenticate(readCredentials(request.headers));
  if (scope) requireScope(caller, scope);
  countRequests(caller.meter, 1);
  return caller;
}
