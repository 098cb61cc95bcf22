import { GatewayError } from '../base/errors.ts';

/** Default maximum bytes of one result, rendered as JSON: 16 MiB. */
export const defaultMaxResultBytes = 16 * 1024 * 1024;

/** The error of a query whose result exceeds the maximum bytes of an answer. */
export function resultTooLarge(maxResultBytes: number): GatewayError {
  return new GatewayError(
    'result_too_large',
    `The result is too large; allowed: ${maxResultBytes} bytes of JSON. Ask for fewer rows or columns`,
  );
}
