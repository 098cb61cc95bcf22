import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError, quoted } from '../base/errors.ts';

/** The request headers that identify the caller and control how the rows are looked up and shown. */
export type CallerHeaders = {
  /** The access token as presented; empty for a Bearer without one, absent if neither header is present. */
  readonly credentials: string | undefined;
  /**
   * `LF-ENDPOINT-REDACT-PII`: overrides the endpoint's setting for this request. A value that is neither true nor false is an
   * error, which the pipeline throws later: a missing token is reported first.
   */
  readonly redactPii: boolean | undefined | GatewayError;
  /** `Cache-Control: no-cache`: a query must run for this request. Ignored without the scope `no-cache`. */
  readonly noCache: boolean;
  /** `LF-ENDPOINT-LABELS` as sent; Node joins several such headers by commas. */
  readonly labels: string | undefined;
};

/** Reads the headers of a caller, once per request (contract 2.3, 2.5). */
export function readCallerHeaders(headers: IncomingHttpHeaders): CallerHeaders {
  return {
    credentials: readCredentials(headers),
    redactPii: readRedactPii(headers['lf-endpoint-redact-pii']),
    noCache: asksForNoCache(headers['cache-control']),
    labels: headers['lf-endpoint-labels']?.toString(),
  };
}

/** Represents an absent header in a key; no header can contain it, so that absent and empty differ. */
const absent = '\n';

/**
 * Joins all headers that `readCallerHeaders` reads, and Accept, as a key for remembered requests: requests with different keys may have
 * different answers.
 */
export function callerHeadersKey(headers: IncomingHttpHeaders): string {
  const { authorization = absent, accept = absent, 'cache-control': control = absent } = headers;
  const apiKey = headers['x-api-key'] ?? absent;
  const redact = headers['lf-endpoint-redact-pii'] ?? absent;
  const labels = headers['lf-endpoint-labels'] ?? absent;
  return `${authorization}\n${apiKey}\n${redact}\n${control}\n${accept}\n${labels}`;
}

/** `Authorization: Bearer <token>`, else `X-API-KEY`. */
export function readCredentials(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(headers.authorization ?? '');
  if (bearer) return (bearer[1] ?? '').trim();
  const key = headers['x-api-key'];
  return Array.isArray(key) ? key[0] : key;
}

/** `true` or `false` in any letter case. */
function readRedactPii(value: string | string[] | undefined): CallerHeaders['redactPii'] {
  if (value === undefined) return undefined;
  const text = String(value).trim().toLowerCase();
  if (text === 'true') return true;
  if (text === 'false') return false;
  return new GatewayError(
    'invalid_header',
    `Header LF-ENDPOINT-REDACT-PII is ${quoted(String(value))}; allowed: true, false`,
  );
}

/** Source: RFC 9111, section 5.2.1.4. */
function asksForNoCache(cacheControl: string | undefined): boolean {
  return cacheControl !== undefined && /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(cacheControl);
}
