import { createHash, randomBytes as systemRandomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** A source of random bytes. */
export type RandomBytes = (size: number) => Buffer;

/** A new id: the visible part of a token. */
export function newTokenId(randomBytes: RandomBytes = systemRandomBytes): string {
  return randomBytes(4).toString('hex');
}

/** A new token of 64 characters: `sqg_<id>_`, 256 random bits in base64url, and the CRC-32 of all that in hexadecimal. */
export function newTokenText(id: string, randomBytes: RandomBytes = systemRandomBytes): string {
  const text = `sqg_${id}_${randomBytes(32).toString('base64url')}`;
  return text + checksum(text);
}

/** Whether a text is an issued token with a typing error: it has the form of one, but the wrong checksum. */
export function isMistyped(presented: string): boolean {
  const [, text = '', sum] = /^(sqg_[0-9a-f]{8}_[\w-]{43})([0-9a-f]{8})$/.exec(presented) ?? [];
  return sum !== undefined && checksum(text) !== sum;
}

/** The token id in a presented text, whether or not such a token exists; undefined if the text does not have the form of an issued token. */
export function claimedTokenId(presented: string | undefined): string | undefined {
  return /^sqg_([0-9a-f]{8})_/.exec(presented ?? '')?.[1];
}

/** SHA-256 of a token. Tokens carry 256 random bits, so a slow hash would protect nothing more. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
