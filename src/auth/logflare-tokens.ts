import { type Caller, endpointsPattern } from './caller.ts';
import { effectiveScopes, scopes } from './scopes.ts';

/** A plain token of the environment, and what it allows. */
export type PlainToken = { readonly token: string; readonly caller: Caller };

/** The two tokens of a Logflare that a self-hosted Supabase starts. */
type LogflareTokens = {
  /** Sends events, and asks nothing. */
  readonly publicToken: string | undefined;
  /** Asks, and has all other rights. Where both are the same text, this one counts. */
  readonly privateToken: string | undefined;
};

/** What the tokens of a Logflare allow here. */
export function logflareTokens({ publicToken, privateToken }: LogflareTokens): PlainToken[] {
  const sender: Caller = {
    tokenId: 'logflare-public',
    scopes: effectiveScopes(['write']),
    endpoints: endpointsPattern([]),
  };
  const rights = scopes.filter(scope => scope !== 'force-redact');
  const owner: Caller = { tokenId: 'logflare-private', scopes: effectiveScopes(rights) };
  return [
    ...(publicToken === undefined ? [] : [{ token: publicToken, caller: sender }]),
    ...(privateToken === undefined ? [] : [{ token: privateToken, caller: owner }]),
  ];
}
