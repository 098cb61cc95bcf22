import { type ErrorCode, errorCodes, GatewayError } from '../base/errors.ts';
import type { LoadReason } from './cache-events.ts';

/** Failures of this gateway alone; another gateway may succeed. */
const ownFailures: ReadonlySet<ErrorCode> = new Set([
  'cancelled',
  'overloaded',
  'too_many_requests',
  'unavailable',
  'internal',
]);

/**
 * Encodes a failure for the waiters on other gateways.
 * @param reason why the query ran; background queries yield to callers' queries, so their missed deadlines are not shared
 * @returns empty if the waiters should run the query themselves
 */
export function encodeFailure(
  { code, message, position, bytesLimit }: GatewayError,
  reason: LoadReason,
): string {
  // The position belongs to this caller's text; in another caller's it may differ. Running that one again costs nothing: it fails before it starts.
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
