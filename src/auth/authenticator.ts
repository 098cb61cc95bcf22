import { GatewayError } from '../base/errors.ts';
import type { Caller } from './caller.ts';
import { type JwtVerifier, looksLikeJwt } from './jwt.ts';
import type { Tokens } from './tokens.ts';

/** Finds out who asks, by tokens of whatever kind. */
export type Authenticator = {
  /**
   * Finds the caller of a presented token; at once for an issued one, so that its request's body is read before the rest of it comes.
   * @throws GatewayError `unauthorized`, `unavailable`
   */
  authenticate(presented: string | undefined): Caller | Promise<Caller>;
  /** Whether the token of a caller that `authenticate` gave would still be accepted; costs a hit next to nothing. */
  isCurrent(caller: Caller): boolean;
};

/**
 * Accepts issued tokens, and those of an issuer of JSON Web Tokens.
 * @param jwt absent: none are accepted
 */
export function createAuthenticator(
  tokens: Pick<Tokens, 'authenticate' | 'isCurrent'>,
  jwt: JwtVerifier | undefined,
): Authenticator {
  return {
    authenticate(presented) {
      try {
        return tokens.authenticate(presented);
      } catch (error) {
        // A plain token may have the form of a JWT, so that comes second.
        if (!jwt || !(error instanceof GatewayError) || presented === undefined || !looksLikeJwt(presented)) {
          throw error;
        }
        return jwt.verify(presented);
      }
    },
    isCurrent: caller => tokens.isCurrent(caller) || (jwt?.isCurrent(caller) ?? false),
  };
}
