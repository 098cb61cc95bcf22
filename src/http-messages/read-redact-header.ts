import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../base/errors.ts';

/**
 * Reads `LF-ENDPOINT-REDACT-PII` (contract 2.5): `true` or `false` in any letter case.
 * @returns undefined when the header is absent
 * @throws GatewayError `invalid_header` for anything else
 */
export function readRedactHeader(headers: IncomingHttpHeaders): boolean | undefined {
  const value = headers['lf-endpoint-redact-pii'];
  if (value === undefined) return undefined;
  const text = String(value).trim().toLowerCase();
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw new GatewayError(
    'invalid_header',
    `Header LF-ENDPOINT-REDACT-PII is ${JSON.stringify(String(value).slice(0, 60))}; allowed: true, false`,
  );
}
