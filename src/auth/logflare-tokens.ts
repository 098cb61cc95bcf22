import { type Caller, endpointsPattern } from './caller.ts';
import { allRights, effectiveScopes } from './scopes.ts';

/** A plain token of the environment, and what it allows. */
export type PlainToken = { readonly token: string; readonly caller: Caller };

/** The two tokens that a self-hosted Supabase gives its Logflare. */
type LogflareTokens = {
  /** May only send events. */
  readonly publicToken: string | undefined;
  /** May read, and has all other rights. If both have the same text, this one counts. */
  readonly privateToken: string | undefined;
};

/** The Logflare tokens as plain tokens, with their grants here. */
export function logflareTokens({ publicToken, privateToken }: LogflareTokens): PlainToken[] {
  const sender: Caller = {
    tokenId: 'logflare-public',
    scopes: effectiveScopes(['write']),
    endpoints: endpointsPattern([]),
  };
  const owner: Caller = { tokenId: 'logflare-private', scopes: effectiveScopes(allRights) };
  return [
    ...(publicToken === undefined ? [] : [{ token: publicToken, caller: sender }]),
    ...(privateToken === undefined ? [] : [{ token: privateToken, caller: owner }]),
  ];
}
