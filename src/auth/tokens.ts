import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { AuthEvent } from './auth-events.ts';
import { type Caller, endpointsPattern } from './caller.ts';
import type { PlainToken } from './logflare-tokens.ts';
import { allRights, defaultScopes, effectiveScopes } from './scopes.ts';
import { grantedScopes, isDenial, issuedIn, type TokenRecord, type TokenRecords } from './token-record.ts';
import { hashToken, isMistyped } from './token-text.ts';
import type { Meters } from './usage/meters.ts';

/** Identifies callers by their tokens, of any kind. */
export type Authenticator = {
  /**
   * Finds the caller of a presented token. Synchronous for issued tokens, so that the reader of the body is in place before the body arrives.
   * @throws GatewayError `unauthorized`, `unavailable`
   */
  authenticate(presented: string | undefined): Caller | Promise<Caller>;
  /** Whether the token of a caller from `authenticate` would still be accepted; costs next to nothing. */
  isCurrent(caller: Caller): boolean;
  /** Whether a token was accepted lately, as it was presented; costs next to nothing. */
  isAccepted(presented: string): boolean;
};

/** The currently accepted tokens. */
export type Tokens = Pick<Authenticator, 'isAccepted' | 'isCurrent'> & {
  /**
   * Finds the caller of a presented token.
   * @throws GatewayError `unauthorized`, with one message for unknown, expired and revoked tokens; `unavailable` for a token that
   * may be among those that could not be read yet
   */
  authenticate(presented: string | undefined): Caller;
  /** Whether one of these ids, of a subject or a single JSON Web Token, is denied. */
  isDenied(ids: readonly string[]): boolean;
  /** Reads the records again if they have changed. */
  refresh(): Promise<void>;
  /** Whether the records can't be read; those read before stay in use. */
  readonly isStale: boolean;
  close(): void;
};

type TokensOptions = {
  /** The records of issued tokens. */
  readonly records: TokenRecords;
  readonly meters: Pick<Meters, 'of'>;
  /** SHA-256 digests of further tokens, hexadecimal. */
  readonly hashes: readonly string[];
  /** One plain token, for development. */
  readonly accessToken: string | undefined;
  /** Further plain tokens; of two with the same text the last one counts. Default: none. */
  readonly plain?: readonly PlainToken[];
  readonly clock: Clock;
  readonly emit: (event: AuthEvent) => void;
};

type Accepted = { readonly hash: Buffer; readonly caller: Caller; readonly expiresAtMs: number };

/** Maximum characters of a token; longer texts are refused without hashing. */
const maxTokenLength = 4096;

/** Maximum number of presented tokens that are remembered. */
const maxRecent = 1000;

/** Milliseconds between checks of the records: half of the time within which a revoked token must be refused (contract 8.4). */
const refreshMs = 1000;

/**
 * Reads the accepted tokens and follows changes of their records.
 * @throws Error if the records can't be read at start
 */
export async function createTokens({
  records,
  meters,
  hashes,
  accessToken,
  plain = [],
  clock,
  emit,
}: TokensOptions): Promise<Tokens> {
  const fixed = fixedTokens({ hashes, accessToken, plain });
  let byCaller = indexByCaller(fixed);
  let byHash = indexByHash(fixed);
  let denied: ReadonlySet<string> = new Set();
  let readVersion: string | undefined;
  let isBroken = false;
  let loading = Promise.resolve();
  /** Tokens as they were presented and accepted: hashing one again takes longer than the rest of a hit. */
  const recent = new Map<string, Accepted>();

  async function load(): Promise<void> {
    const version = await records.version();
    if (version === readVersion) return;
    const read = await records.read();
    readVersion = version;
    recent.clear();
    denied = new Set(read.filter(isDenial).map(({ id }) => id));
    const issued = issuedIn(read)
      .filter(({ revokedAt }) => revokedAt === undefined)
      .flatMap(record => acceptedRecord(record, meters));
    byCaller = indexByCaller([...fixed, ...issued]);
    byHash = indexByHash([...fixed, ...issued]);
    emit({ type: 'tokens.loaded', count: issued.length });
  }

  // One at a time, so that an older state never replaces a newer one.
  function refresh(): Promise<void> {
    loading = loading.then(load).then(
      () => {
        isBroken = false;
      },
      (error: Error) => {
        if (!isBroken) emit({ type: 'tokens.broken', message: error.message });
        isBroken = true;
      },
    );
    return loading;
  }

  // A broken file fails the start, for its owner to repair; a Redis that does not answer may do so later.
  await (records.isRemote ? refresh() : load());
  const timer = setInterval(refresh, refreshMs).unref();

  return {
    authenticate(presented) {
      if (presented === undefined || presented === '') {
        throw new GatewayError('unauthorized', 'No access token; send X-API-KEY or Authorization: Bearer');
      }
      const found = recent.get(presented) ?? findAccepted(presented, byHash);
      if (found && clock.now() < found.expiresAtMs) {
        if (recent.size >= maxRecent) recent.clear();
        recent.set(presented, found);
        return found.caller;
      }
      if (readVersion === undefined) {
        throw new GatewayError('unavailable', 'The tokens can not be read yet; try again');
      }
      throw new GatewayError(
        'unauthorized',
        isMistyped(presented)
          ? 'The access token is mistyped or cut off: its checksum does not fit'
          : 'The access token is not known, has expired or was revoked',
      );
    },
    isCurrent(caller) {
      const found = byCaller.get(caller);
      return found !== undefined && clock.now() < found.expiresAtMs;
    },
    isAccepted: presented => recent.has(presented),
    isDenied: ids => denied.size > 0 && ids.some(id => denied.has(id)),
    refresh,
    get isStale() {
      return isBroken;
    },
    close: () => clearInterval(timer),
  };
}

/** The tokens from the environment, which are accepted as long as the process runs. */
function fixedTokens({
  hashes,
  accessToken,
  plain,
}: Required<Pick<TokensOptions, 'hashes' | 'accessToken' | 'plain'>>): Accepted[] {
  const bare = hashes.map(hash => {
    // Each has its own name, and so its own share of the engine.
    const tokenId = `environment-${hash.slice(0, 8).toLowerCase()}`;
    return accepted(Buffer.from(hash, 'hex'), { tokenId, scopes: effectiveScopes(defaultScopes) });
  });
  const developer = { tokenId: 'development', scopes: effectiveScopes(allRights) };
  const own = accessToken === undefined ? [] : [{ token: accessToken, caller: developer }];
  return [...bare, ...[...own, ...plain].map(({ token, caller }) => accepted(hashToken(token), caller))];
}

/** Bytes of the start of a hash by which a token is looked up. */
const indexBytes = 16;

/**
 * Indexes tokens by the start of their hashes. A caller cannot choose the hash of a text, so the time of the look-up reveals nothing about
 * any token; the whole hash is then compared in constant time.
 */
function indexByHash(all: readonly Accepted[]): ReadonlyMap<string, Accepted> {
  return new Map(all.map(each => [each.hash.toString('latin1', 0, indexBytes), each]));
}

/** Compared with a hash that no token's begins like, so that refusing it takes as long. */
const nobodysHash = Buffer.alloc(32);

function findAccepted(presented: string, byHash: ReadonlyMap<string, Accepted>): Accepted | undefined {
  if (presented.length > maxTokenLength) return undefined;
  const hash = hashToken(presented);
  const candidate = byHash.get(hash.toString('latin1', 0, indexBytes));
  return timingSafeEqual(candidate?.hash ?? nobodysHash, hash) ? candidate : undefined;
}

function indexByCaller(all: readonly Accepted[]): ReadonlyMap<Caller, Accepted> {
  return new Map(all.map(each => [each.caller, each]));
}

/** The accepted tokens of a record: its own, and the one it replaced as long as that is accepted. */
function acceptedRecord(record: TokenRecord, meters: Pick<Meters, 'of'>): Accepted[] {
  const { id, hash, endpoints, parameters, maxBytesBilled, expiresAt, previous } = record;
  const caller: Caller = {
    tokenId: id,
    scopes: effectiveScopes(grantedScopes(record)),
    ...(endpoints && { endpoints: endpointsPattern(endpoints) }),
    ...(parameters && { fixedParameters: parameters }),
    ...(maxBytesBilled && { maxBytesBilled }),
    meter: meters.of(id, record.limits),
  };
  const own = accepted(Buffer.from(hash, 'hex'), caller, expiresAt);
  if (!previous) return [own];
  const untilMs = Math.min(Date.parse(previous.until), own.expiresAtMs);
  // A caller object of its own, because it is current until a different time.
  return [own, { hash: Buffer.from(previous.hash, 'hex'), caller: { ...caller }, expiresAtMs: untilMs }];
}

function accepted(hash: Buffer, caller: Caller, expiresAt?: string): Accepted {
  const expiresAtMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  return { hash, caller, expiresAtMs };
}
