import { type ErrorCode, errorCodes, GatewayError } from '../base/errors.ts';
import type { LoadReason } from './cache-events.ts';

/** Failures of one gateway alone: another one may well succeed. */
const ownFailures: ReadonlySet<ErrorCode> = new Set([
  'cancelled',
  'overloaded',
  'too_many_requests',
  'unavailable',
  'internal',
]);

/**
 * Writes a failure down for those who wait on other gateways; empty where they had better try for themselves.
 * @param reason of the query; one that nobody waited for runs behind callers' queries, so being late is its own failure
 */
export function encodeFailure(
  { code, message, position, bytesLimit }: GatewayError,
  reason: LoadReason,
): string {
  if (reason !== 'miss' && code === 'deadline_exceeded') return '';
  return ownFailures.has(code) ? '' : JSON.stringify({ code, message, position, bytesLimit });
}

/** What those who wait are told where the rows are too large to be shared: each runs the query for itself, at once. */
export const tooLargePayload = '{"isTooLarge":true}';

/**
 * Reads the failure of somebody else's query.
 * @param maxBytesBilled of one's own; undefined = no limit
 * @returns undefined where there is none to share: it was refused for a lower limit than one's own
 */
export function decodeFailure(
  failurePayload: string,
  maxBytesBilled: number | undefined,
): GatewayError | undefined {
  if (failurePayload === '') return undefined;
  try {
    const { code, message, position, bytesLimit } = JSON.parse(failurePayload);
    if (!Object.hasOwn(errorCodes, code)) return undefined;
    if (bytesLimit !== undefined && !(bytesLimit >= (maxBytesBilled ?? Infinity))) return undefined;
    return new GatewayError(code, String(message), { position, bytesLimit });
  } catch {
    return undefined;
  }
}
