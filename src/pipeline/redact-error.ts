import { GatewayError } from '../base/errors.ts';
import { redactText } from '../redaction/redact-text.ts';
import type { Redaction } from './form-of.ts';

/** Redacts the message of a failure as the rows would have been: it may repeat one of their values (contract 9.6). */
export function redactError(thrown: unknown, kinds: Redaction): unknown {
  if (!kinds || !(thrown instanceof GatewayError)) return thrown;
  const message = redactText(thrown.message, kinds);
  return message === thrown.message ? thrown : thrown.withMessage(message);
}
