import { createHash } from 'node:crypto';

/** SHA-256 of a token. Tokens carry 256 random bits, so a slow hash would protect nothing more. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
