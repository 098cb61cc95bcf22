import { type Caller, requireScope } from '../auth/caller.ts';
import type { Scope } from '../auth/scopes.ts';
import type { Authenticator } from '../auth/tokens.ts';
import { countRequests } from '../auth/usage/meters.ts';

/**
 * Identifies the caller of a request that is not for rows, and counts the request against the limits of its token.
 * @param credentials as presented
 * @param scope one that the request needs; absent: any token will do
 * @throws GatewayError `unauthorized`, `forbidden`, `too_many_requests`, `unavailable`
 */
export async function identifyCaller(
  tokens: Pick<Authenticator, 'authenticate'>,
  credentials: string | undefined,
  scope?: Scope,
): Promise<Caller> {
  const caller = await tokens.authenticate(credentials);
  if (scope) requireScope(caller, scope);
  countRequests(caller.meter, 1);
  return caller;
}
