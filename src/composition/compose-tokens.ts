import { dirname, join } from 'node:path';
import type { JwtOptions } from '../auth/jwt.ts';
import { logflareTokens } from '../auth/logflare-tokens.ts';
import { openRedisTokens, type RedisTokens } from '../auth/redis-tokens.ts';
import { tokenFile } from '../auth/token-file.ts';
import type { TokenRecords } from '../auth/token-record.ts';
import { type Authenticator, createTokens, type Tokens } from '../auth/tokens.ts';
import { createFileLedger } from '../auth/usage/file-ledger.ts';
import { createMeters } from '../auth/usage/meters.ts';
import type { UsageLedger } from '../auth/usage/usage-ledger.ts';
import type { Clock } from '../base/clock.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import type { Config } from './config.ts';

type TokensConfig = Pick<
  Config,
  'DATA_DIR' | 'REDIS_URL' | Extract<keyof Config, `TOKEN${string}` | `JWT_${string}` | `LOGFLARE_${string}`>
>;

type Storage = {
  readonly records: TokenRecords;
  readonly ledger: UsageLedger;
  readonly redis: RedisTokens | undefined;
};

function openStorage({ DATA_DIR, TOKENS_FILE, TOKENS_STORE, REDIS_URL }: TokensConfig): Storage {
  const file = TOKENS_FILE ?? join(DATA_DIR, 'tokens.json');
  const redis = REDIS_URL ? openRedisTokens(REDIS_URL) : undefined;
  return {
    records: TOKENS_STORE === 'redis' && redis ? redis.records : tokenFile(file),
    ledger: redis?.ledger ?? createFileLedger(join(dirname(file), 'token-usage.json')),
    redis,
  };
}

/** Maximum milliseconds that a start or a command waits for Redis. */
const readyMs = 3000;

type TokensDeps = {
  readonly accessToken: string | undefined;
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
};

/** The tokens of a gateway. */
type GatewayTokens = Authenticator & Pick<Tokens, 'refresh' | 'isStale'> & { close(): Promise<void> };

/** Composes the tokens of a gateway: their records, their use, and the JSON Web Tokens of an issuer. */
export async function composeTokens(
  config: TokensConfig,
  { accessToken, clock, emit }: TokensDeps,
): Promise<GatewayTokens> {
  const { records, ledger, redis } = openStorage(config);
  const meters = createMeters({ ledger, clock, emit });
  if (config.TOKENS_STORE === 'redis') await redis?.ready(readyMs).catch(() => undefined);
  const hashes = config.TOKEN_HASHES ?? [];
  const tokens = await createTokens({
    records,
    meters,
    hashes,
    accessToken,
    plain: logflareTokens({
      publicToken: config.LOGFLARE_PUBLIC_ACCESS_TOKEN,
      privateToken: config.LOGFLARE_PRIVATE_ACCESS_TOKEN,
    }),
    clock,
    emit,
  });
  redis?.subscribe(() => void tokens.refresh());
  const accepted = await withJwts(config, tokens, { meters, clock, emit });
  return {
    authenticate: accepted.authenticate,
    isAccepted: accepted.isAccepted,
    isCurrent: accepted.isCurrent,
    refresh: tokens.refresh,
    get isStale() {
      return tokens.isStale;
    },
    async close() {
      tokens.close();
      await meters.close();
      redis?.close();
    },
  };
}

/** The same tokens, and JSON Web Tokens if the settings name an issuer. */
async function withJwts(
  config: TokensConfig,
  tokens: Tokens,
  { meters, clock, emit }: Omit<TokensDeps, 'accessToken'> & Pick<JwtOptions, 'meters'>,
): Promise<Authenticator> {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_SECRET: secret, JWT_JWKS_URL: url } = config;
  if (!issuer || !audience) return tokens;
  // Loaded only when needed: most gateways have no issuer.
  const { acceptJwts, createJwtVerifier } = await import('../auth/jwt.ts');
  const { createJwtKeys } = await import('../auth/jwt-keys.ts');
  const verifier = createJwtVerifier({
    issuer,
    audience,
    secret,
    keys: url ? createJwtKeys({ url, clock, emit }) : undefined,
    leewaySeconds: config.JWT_LEEWAY_SECONDS,
    maxAgeSeconds: config.JWT_MAX_AGE_SECONDS,
    parameterClaims: config.JWT_PARAMETER_CLAIMS ?? new Map(),
    limits: config.JWT_LIMITS,
    meters,
    isDenied: tokens.isDenied,
    clock,
  });
  return acceptJwts(tokens, verifier);
}

/** Tokens as a command uses them. */
export type CommandTokens = {
  readonly records: TokenRecords;
  readonly lastUses: UsageLedger['lastUses'];
  close(): void;
};

/** Opens the tokens for a command. A change reaches all gateways at once if Redis is up. */
export async function openCommandTokens(config: TokensConfig): Promise<CommandTokens> {
  const { records, ledger, redis } = openStorage(config);
  const isReady = await redis?.ready(config.TOKENS_STORE === 'redis' ? readyMs : readyMs / 3).then(
    () => true,
    () => false,
  );
  return {
    records: {
      ...records,
      async change(change) {
        await records.change(change);
        // Without the message, gateways find the change by polling.
        if (isReady) await redis?.publish().catch(() => undefined);
      },
    },
    lastUses: tokenIds => ledger.lastUses(tokenIds).catch(() => new Map()),
    close: () => redis?.close(),
  };
}
