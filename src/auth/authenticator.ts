import { GatewayError } from '../base/errors.ts';
import type { Caller } from './caller.ts';
import { type JwtVerifier, looksLikeJwt } from './jwt.ts';
import type { Tokens } from './tokens.ts';

/** Identifies callers by their tokens, of any kind. */
export type Authenticator = {
  /**
   * Finds the caller of a presented token. Synchronous for issued tokens, so that the reader of the body is in place before the body arrives.
   * @throws GatewayError `unauthorized`, `unavailable`
   */
  authenticate(presented: string | undefined): Caller | Promise<Caller>;
  /** Whether the token of a caller from `authenticate` would still be accepted; costs next to nothing. */
  isCurrent(caller: Caller): boolean;
};

/**
 * Accepts issued tokens, and JSON Web Tokens of one issuer.
 * @param jwt absent: no JSON Web Tokens are accepted
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
        // A plain token may have the form of a JWT, so JWTs come second.
        if (!jwt || !(error instanceof GatewayError) || presented === undefined || !looksLikeJwt(presented)) {
          throw error;
        }
        return jwt.verify(presented);
      }
    },
    isCurrent: caller => tokens.isCurrent(caller) || (jwt?.isCurrent(caller) ?? false),
  };
}
