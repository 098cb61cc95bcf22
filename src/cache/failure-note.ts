import { type ErrorCode, errorCodes, GatewayError } from '../errors.ts';

/** Failures of one gateway alone: another one may well succeed. */
const ownFailures: ReadonlySet<ErrorCode> = new Set(['cancelled', 'overloaded', 'unavailable', 'internal']);

/** Writes a failure down for those who wait on other gateways; empty where they had better try for themselves. */
export function writeFailureNote({ code, message, position }: GatewayError): string {
  return ownFailures.has(code) ? '' : JSON.stringify({ code, message, position });
}

/** Reads another gateway's failure; undefined where there is none to share. */
export function readFailureNote(note: string): GatewayError | undefined {
  if (note === '') return undefined;
  try {
    const { code, message, position } = JSON.parse(note);
    if (!Object.hasOwn(errorCodes, code)) return undefined;
    return new GatewayError(code, String(message), { position });
  } catch {
    return undefined;
  }
}
