import { timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { AuthEvent } from './auth-events.ts';
import { hashToken } from './hash-token.ts';
import { readTokens, type Scope, scopes, type TokenRecord } from './token-file.ts';

/** The owner of an accepted token, and what the token allows. */
export type Caller = {
  /** The visible part of the token; `development` for the plain one, `environment-` and its beginning for a bare hash. */
  readonly tokenId: string;
  /** What the token may do besides reading. */
  readonly scopes: ReadonlySet<Scope>;
  /** Bytes that one query of this caller may be billed; absent: no limit of its own. */
  readonly maxBytesBilled?: number | undefined;
};

/** The tokens that are accepted right now. */
export type Tokens = {
  /**
   * Finds the caller of a presented token.
   * @throws GatewayError `unauthorized`, with one message for unknown, expired and revoked tokens
   */
  authenticate(presented: string | undefined): Caller;
  /** Whether the token of a caller that `authenticate` gave would still be accepted. */
  isCurrent(caller: Caller): boolean;
  /** Reads the file again when it has changed. */
  refresh(): Promise<void>;
  close(): void;
};

type TokensOptions = {
  /** File of issued tokens; it need not exist yet. */
  readonly file: string;
  /** SHA-256 digests of further tokens, hexadecimal. */
  readonly hashes: readonly string[];
  /** One plain token, for development. */
  readonly accessToken: string | undefined;
  readonly clock: Clock;
  readonly emit: (event: AuthEvent) => void;
};

type Accepted = { readonly hash: Buffer; readonly caller: Caller; readonly expiresAtMs: number };

/** A longer text can't be a token, and is not worth hashing. */
const maxTokenLength = 4096;

/** Presented tokens that are remembered. */
const maxRecent = 1000;

/** Milliseconds between checks of the file; a revoked token is refused at most this much later. */
const refreshMs = 2000;

/**
 * Reads the accepted tokens and follows changes of their file.
 * @throws Error if the file exists and is broken at start
 */
export async function createTokens({
  file,
  hashes,
  accessToken,
  clock,
  emit,
}: TokensOptions): Promise<Tokens> {
  const fixed: Accepted[] = hashes.map(hash => {
    // Each has its own share of the engine, so each has its own name.
    const tokenId = `environment-${hash.slice(0, 8).toLowerCase()}`;
    return accepted(Buffer.from(hash, 'hex'), { tokenId, scopes: new Set() });
  });
  if (accessToken !== undefined) {
    const caller = { tokenId: 'development', scopes: new Set(scopes) };
    fixed.push(accepted(hashToken(accessToken), caller));
  }
  let issued: Accepted[] = [];
  let byCaller = indexByCaller(fixed);
  let readVersion = '';
  /** Tokens as they were presented and accepted: hashing one again takes longer than the rest of a hit. */
  const recent = new Map<string, Accepted>();

  async function load(): Promise<void> {
    const version = await versionOf(file);
    if (version === readVersion) return;
    readVersion = version;
    recent.clear();
    issued = (await readTokens(file)).filter(({ revokedAt }) => revokedAt === undefined).map(acceptedRecord);
    byCaller = indexByCaller([...fixed, ...issued]);
    emit({ type: 'tokens.loaded', count: issued.length });
  }

  await load();
  const refresh = () =>
    load().catch((error: Error) => emit({ type: 'tokens.broken', message: error.message }));
  const timer = setInterval(refresh, refreshMs).unref();

  return {
    authenticate(presented) {
      if (presented === undefined || presented === '') {
        throw new GatewayError('unauthorized', 'No access token; send X-API-KEY or Authorization: Bearer');
      }
      const found = recent.get(presented) ?? findAccepted(presented, [...fixed, ...issued]);
      if (found && clock.now() < found.expiresAtMs) {
        if (recent.size >= maxRecent) recent.clear();
        recent.set(presented, found);
        return found.caller;
      }
      throw new GatewayError('unauthorized', 'The access token is not known, has expired or was revoked');
    },
    isCurrent(caller) {
      const found = byCaller.get(caller);
      return found !== undefined && clock.now() < found.expiresAtMs;
    },
    refresh,
    close: () => clearInterval(timer),
  };
}

/** Compares with every token, in constant time each, so that the time says nothing about any of them. */
function findAccepted(presented: string, all: readonly Accepted[]): Accepted | undefined {
  if (presented.length > maxTokenLength) return undefined;
  const hash = hashToken(presented);
  let found: Accepted | undefined;
  for (const candidate of all) {
    if (timingSafeEqual(candidate.hash, hash)) found = candidate;
  }
  return found;
}

function indexByCaller(all: readonly Accepted[]): ReadonlyMap<Caller, Accepted> {
  return new Map(all.map(each => [each.caller, each]));
}

function acceptedRecord({ id, hash, scopes, maxBytesBilled, expiresAt }: TokenRecord): Accepted {
  const caller = { tokenId: id, scopes: new Set(scopes), maxBytesBilled };
  return accepted(Buffer.from(hash, 'hex'), caller, expiresAt);
}

function accepted(hash: Buffer, caller: Caller, expiresAt?: string): Accepted {
  const expiresAtMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  return { hash, caller, expiresAtMs };
}

async function versionOf(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'absent';
  }
}
