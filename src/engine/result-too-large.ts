import { GatewayError } from '../base/errors.ts';

/** Bytes of one result, rendered as JSON, unless an engine is configured otherwise: 16 MiB. */
export const defaultMaxResultBytes = 16 * 1024 * 1024;

/** The error of a query whose rows have more bytes than an answer may have. */
export function resultTooLarge(maxResultBytes: number): GatewayError {
  return new GatewayError(
    'result_too_large',
    `The result is too large; allowed: ${maxResultBytes} bytes of JSON. Ask for fewer rows or columns`,
  );
}
