import { type ErrorCode, errorCodes, GatewayError } from '../base/errors.ts';
import type { LoadReason } from './cache-events.ts';

/** Failures of this gateway alone: another one may succeed. */
const ownFailures: ReadonlySet<ErrorCode> = new Set([
  'cancelled',
  'overloaded',
  'too_many_requests',
  'unavailable',
  'internal',
]);

/**
 * Encodes a failure for the waiters on other gateways; empty if they should run the query themselves.
 * @param reason of the query; a background query runs after callers' queries, so its missed deadline is not shared
 */
export function encodeFailure(
  { code, message, position, bytesLimit }: GatewayError,
  reason: LoadReason,
): string {
  // A place in the text of that caller; in another one's it may be elsewhere. It failed before it could cost anything.
  if (position) return '';
  if (reason !== 'miss' && code === 'deadline_exceeded') return '';
  return ownFailures.has(code) ? '' : JSON.stringify({ code, message, bytesLimit });
}

/** Payload for rows that are too large to be shared: each waiter runs the query itself, at once. */
export const tooLargePayload = '{"isTooLarge":true}';

/**
 * Decodes the failure of another gateway's query.
 * @param maxBytesBilled of this request; undefined = no limit
 * @returns undefined if there is none to share, or if it was refused for a lower limit than this request's
 */
export function decodeFailure(
  failurePayload: string,
  maxBytesBilled: number | undefined,
): GatewayError | undefined {
  if (failurePayload === '') return undefined;
  try {
    const { code, message, bytesLimit } = JSON.parse(failurePayload);
    if (!Object.hasOwn(errorCodes, code)) return undefined;
    if (bytesLimit !== undefined && !(bytesLimit >= (maxBytesBilled ?? Infinity))) return undefined;
    return new GatewayError(code, String(message), { bytesLimit });
  } catch {
    return undefined;
  }
}
