import { createHash } from 'node:crypto';
import {
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  errors as joseErrors,
  jwtVerify,
} from 'jose';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { type Caller, endpointsPattern } from './caller.ts';
import { type JwtKeys, KeysUnavailableError, keysMs } from './jwt-keys.ts';
import { effectiveScopes, scopes } from './scopes.ts';
import { grantSchemas, maxFixedLength } from './token-record.ts';
import type { Authenticator, Tokens } from './tokens.ts';
import type { Meters } from './usage/meters.ts';
import { givenLimits, type TokenLimits } from './usage/token-limits.ts';

/** Which JSON Web Tokens are accepted, and which claims they need. */
export type JwtOptions = {
  /** `iss`. */
  readonly issuer: string;
  /** Must be one of `aud`. */
  readonly audience: string;
  /** Key of HS256. Absent: tokens signed by it are refused. */
  readonly secret: string | undefined;
  /** Keys of the other algorithms. Absent: their tokens are refused. */
  readonly keys: JwtKeys | undefined;
  /** Seconds by which the issuer's clock may differ. */
  readonly leewaySeconds: number;
  /** Maximum seconds after its issue (`iat`) for which a token is accepted. Absent: until it expires. */
  readonly maxAgeSeconds: number | undefined;
  /** Parameters that are fixed by a claim each: every token needs those claims. */
  readonly parameterClaims: ReadonlyMap<string, string>;
  /** Limits of each subject whose token has none. */
  readonly limits: TokenLimits | undefined;
  readonly meters: Pick<Meters, 'ofSubject'>;
  /** Whether the tokens of a subject, or this one, were revoked here. */
  readonly isDenied: (ids: readonly string[]) => boolean;
  readonly clock: Clock;
};

/** Checks JSON Web Tokens (RFC 7519). */
export type JwtVerifier = {
  /**
   * @throws GatewayError `unauthorized` with the reason; `unavailable` while the issuer's keys can't be read
   */
  verify(presented: string): Promise<Caller>;
  /** Whether the token of a caller from `verify` would still be accepted. */
  isCurrent(caller: Caller): boolean;
  /** Whether a token was accepted lately, as it was presented. */
  isAccepted(presented: string): boolean;
};

/** Accepts issued tokens, and JSON Web Tokens of one issuer. */
export function acceptJwts(
  tokens: Pick<Tokens, 'authenticate' | 'isAccepted' | 'isCurrent'>,
  jwt: JwtVerifier,
): Authenticator {
  return {
    authenticate(presented) {
      try {
        return tokens.authenticate(presented);
      } catch (error) {
        // A plain token may have the form of a JWT, so JWTs come second.
        if (!(error instanceof GatewayError) || presented === undefined || !looksLikeJwt(presented)) {
          throw error;
        }
        return jwt.verify(presented);
      }
    },
    isCurrent: caller => tokens.isCurrent(caller) || jwt.isCurrent(caller),
    isAccepted: presented => tokens.isAccepted(presented) || jwt.isAccepted(presented),
  };
}

/** The claims by which a token may state its grants. A token with other values for them is refused. */
const claimsSchema = z.object({
  sub: z.string().min(1),
  exp: z.number(),
  scope: z.string().default(''),
  sqg_endpoints: grantSchemas.endpoints.optional(),
  sqg_parameters: grantSchemas.parameters.optional(),
  sqg_max_bytes_billed: grantSchemas.maxBytesBilled.optional(),
  sqg_limits: givenLimits.optional(),
});

/** Algorithms by the kind of their keys. A public key is never tried as a secret, nor the other way round. */
const publicAlgorithms = ['RS256', 'ES256', 'EdDSA'];

/** Maximum number of tokens remembered as presented: checking a signature takes longer than the rest of a hit. */
const maxRecent = 1000;

type Verified = {
  readonly caller: Caller;
  readonly untilMs: number;
  /** Ids by which it may be denied. */
  readonly ids: readonly string[];
};

/** Whether a text has the form of a JWT. */
export function looksLikeJwt(presented: string): boolean {
  return /^ey[\w-]{1,1024}\.[\w-]{1,4096}\.[\w-]{0,1024}$/.test(presented);
}

/** Makes a verifier of the tokens of one issuer. */
export function createJwtVerifier(options: JwtOptions): JwtVerifier {
  const { issuer, audience, secret, keys, leewaySeconds, maxAgeSeconds, isDenied, clock } = options;
  const secretKey = secret === undefined ? undefined : new TextEncoder().encode(secret);
  const algorithms = [...(secretKey ? ['HS256'] : []), ...(keys ? publicAlgorithms : [])];
  const keyOf: JWTVerifyGetKey = (header, token) => {
    if (header.alg === 'HS256' && secretKey) return secretKey;
    if (header.alg !== 'HS256' && keys) return keys(header, token);
    throw new joseErrors.JOSEAlgNotAllowed('"alg" is not allowed');
  };
  const recent = new Map<string, Verified>();
  const byCaller = new WeakMap<Caller, Verified>();

  async function verifyUncached(presented: string): Promise<Verified> {
    const payload = await readPayload(presented, keyOf, {
      algorithms,
      issuer,
      audience,
      clockTolerance: leewaySeconds,
      currentDate: new Date(clock.now()),
      requiredClaims: ['exp', 'sub'],
      ...(maxAgeSeconds && { maxTokenAge: maxAgeSeconds }),
    });
    const { caller, exp } = readCaller(payload, options);
    const endSeconds = Math.min(exp, maxAgeSeconds ? Number(payload.iat) + maxAgeSeconds : exp);
    // No longer than keys are used: the issuer may withdraw the token's key meanwhile.
    const untilMs = Math.min((endSeconds + leewaySeconds) * 1000, clock.now() + keysMs);
    const ids = [caller.tokenId, ...(payload.jti === undefined ? [] : [`jti:${payload.jti}`])];
    const verified = { caller, untilMs, ids };
    byCaller.set(caller, verified);
    return verified;
  }

  const isCurrent = ({ untilMs, ids }: Verified) => clock.now() < untilMs && !isDenied(ids);

  return {
    async verify(presented) {
      const known = recent.get(presented);
      if (known && isCurrent(known)) return known.caller;
      try {
        const verified = await verifyUncached(presented);
        if (isDenied(verified.ids)) throw new RefusedClaim('it was revoked');
        if (recent.size >= maxRecent) recent.clear();
        recent.set(presented, verified);
        return verified.caller;
      } catch (error) {
        throw toRefusal(error);
      }
    },
    isAccepted: presented => recent.has(presented),
    isCurrent(caller) {
      const verified = byCaller.get(caller);
      return verified !== undefined && isCurrent(verified);
    },
  };
}

/** Checks a token's signature and standard claims, and returns its payload. Of several keys without an id, each is tried. */
async function readPayload(
  presented: string,
  keyOf: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(presented, keyOf, options)).payload;
  } catch (error) {
    if (!(error instanceof joseErrors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(presented, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof joseErrors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new joseErrors.JWSSignatureVerificationFailed();
  }
}

function readCaller(
  payload: JWTPayload,
  { issuer, parameterClaims, limits: defaultLimits, meters }: JwtOptions,
): { caller: Caller; exp: number } {
  const claims = claimsSchema.parse(payload);
  const fixed: Record<string, string> = { ...claims.sqg_parameters };
  for (const [parameter, claim] of parameterClaims) {
    const read = grantSchemas.fixedValue.safeParse(payload[claim]);
    if (!read.success)
      throw new RefusedClaim(
        `the claim "${claim}" is missing, or is not a text of 1 to ${maxFixedLength} characters`,
      );
    if (Object.hasOwn(fixed, parameter) && fixed[parameter] !== read.data) {
      throw new RefusedClaim(`the claims "${claim}" and "sqg_parameters" differ`);
    }
    fixed[parameter] = read.data;
  }
  const granted = scopes.filter(scope => claims.scope.split(' ').includes(scope));
  const { sqg_endpoints: endpoints, sqg_max_bytes_billed: maxBytesBilled } = claims;
  const limits = claims.sqg_limits ?? defaultLimits;
  // A subject may be an e-mail address: logs and labels show a hash.
  const tokenId = `jwt-${createHash('sha256').update(`${issuer}\n${claims.sub}`).digest('hex').slice(0, 12)}`;
  const caller: Caller = {
    tokenId,
    scopes: effectiveScopes(granted),
    ...(endpoints && { endpoints: endpointsPattern(endpoints) }),
    ...(Object.keys(fixed).length > 0 && { fixedParameters: fixed }),
    ...(maxBytesBilled && { maxBytesBilled }),
    ...(limits && { meter: meters.ofSubject(tokenId, limits) }),
  };
  return { caller, exp: claims.exp };
}

/** A validly signed token that is refused for its claims. */
class RefusedClaim extends Error {}

function toRefusal(error: unknown): GatewayError {
  if (error instanceof KeysUnavailableError) {
    return new GatewayError('unavailable', `${error.message}; try again`, { cause: error });
  }
  return new GatewayError('unauthorized', `The access token is refused: ${reasonOf(error)}`, {
    cause: error,
  });
}

/** Why a token is refused; the text repeats nothing of the token except names of claims. */
function reasonOf(error: unknown): string {
  if (error instanceof RefusedClaim) return error.message;
  if (error instanceof z.ZodError)
    return `the claim "${String(error.issues[0]?.path[0])}" is missing, or has a value that is not allowed`;
  if (error instanceof joseErrors.JWTExpired) return 'it has expired';
  if (error instanceof joseErrors.JWTClaimValidationFailed) {
    return `the claim "${error.claim}" is missing, or has a value that is not allowed`;
  }
  if (error instanceof joseErrors.JOSEAlgNotAllowed) return 'its algorithm is not allowed';
  if (error instanceof joseErrors.JWKSNoMatchingKey) return 'its key is not among those of the issuer';
  return 'its signature or its form is wrong';
}
