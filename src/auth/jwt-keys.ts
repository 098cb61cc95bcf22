import {
  createLocalJWKSet,
  type FlattenedJWSInput,
  type JWTHeaderParameters,
  errors as joseErrors,
} from 'jose';
import type { Clock } from '../base/clock.ts';
import type { AuthEvent } from './auth-events.ts';

/** Finds the public key that a JWT was signed with. */
export type JwtKeys = (header: JWTHeaderParameters, token: FlattenedJWSInput) => ReturnType<KeySet>;

type KeySet = ReturnType<typeof createLocalJWKSet>;

type JwtKeysOptions = {
  /** Where the issuer publishes its keys (RFC 7517). */
  readonly url: string;
  readonly clock: Clock;
  readonly emit: (event: AuthEvent) => void;
  /** Maximum milliseconds to wait for the issuer. Default 5000. */
  readonly timeoutMs?: number;
};

/** Milliseconds for which keys are used without asking the issuer again: a withdrawn key is refused after that time. */
export const keysMs = 10 * 60_000;

/** Minimum milliseconds between two requests to the issuer, however many tokens name unknown keys. */
const cooldownMs = 30_000;

/** Maximum bytes of the issuer's answer. */
const maxBytes = 256 * 1024;

/** The issuer's keys could not be read, and none were read before. */
export class KeysUnavailableError extends Error {}

/**
 * Follows the keys of an issuer: reads them with the first token, when they are old, and when a token names an unknown key. While the
 * issuer does not answer, the keys read last stay in use.
 */
export function createJwtKeys({ url, clock, emit, timeoutMs = 5000 }: JwtKeysOptions): JwtKeys {
  let keys: KeySet | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    triedAtMs = clock.now();
    try {
      const response = await fetch(url, {
        signal: AbortSignal.timeout(timeoutMs),
        headers: { accept: 'application/json' },
        redirect: 'error',
      });
      if (response.status !== 200) throw new Error(`the status is ${response.status}`);
      keys = createLocalJWKSet(JSON.parse(await readBounded(response)));
      readAtMs = clock.now();
    } catch (error) {
      emit({ type: 'tokens.keys_failed', message: String(error) });
    }
  }

  async function readIfDue(): Promise<void> {
    if (clock.now() - triedAtMs < cooldownMs) return reading;
    reading = read();
    return reading;
  }

  return async (header, token) => {
    // Keys that are new enough are used while the issuer is asked for others: any caller can name an unknown one.
    if (clock.now() - readAtMs >= keysMs) await readIfDue();
    if (!keys) throw new KeysUnavailableError('The keys of the issuer can not be read yet');
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof joseErrors.JWKSNoMatchingKey)) throw error;
      await readIfDue();
      return keys(header, token);
    }
  };
}

async function readBounded({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > maxBytes) throw new Error(`there are more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
