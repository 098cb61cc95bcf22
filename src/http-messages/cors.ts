import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** Origins whose pages may call us: `*` for any, or exact origins such as `https://studio.example`. */
export type CorsPolicy = { readonly origins: readonly string[] };

const exposed =
  'Age, Cache-Control, Cache-Status, ETag, Query-Receipt, Result-Max-Rows, Result-Truncated, Retry-After, Server-Timing, X-Cache, X-Request-Id';

/**
 * Adds the CORS headers of any response, errors included (contract 2.24); none for an origin that is not allowed.
 * @param origin of the request, if it has one
 * @param headers the headers to add to; an existing `vary` is extended
 */
export function addCorsHeaders(
  { origins }: CorsPolicy,
  origin: string | undefined,
  headers: OutgoingHttpHeaders,
): void {
  const isAnyAllowed = origins.includes('*');
  if (isAnyAllowed || (origin !== undefined && origins.includes(origin))) {
    headers['access-control-allow-origin'] = isAnyAllowed ? '*' : origin;
    headers['access-control-expose-headers'] = exposed;
  }
  if (!isAnyAllowed) headers.vary = headers.vary ? `${headers.vary}, Origin` : 'Origin';
}

/** The headers of a preflight response. Browsers never add tokens by themselves, so any request header is allowed. */
export function preflightHeaders(
  requestHeaders: IncomingHttpHeaders,
  methods: readonly string[],
): OutgoingHttpHeaders {
  const asked = requestHeaders['access-control-request-headers'];
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers':
      asked && /^[\w!#$%&'*+.^`|~, -]+$/.test(asked)
        ? asked
        : 'Authorization, Content-Type, LF-ENDPOINT-LABELS, LF-ENDPOINT-REDACT-PII, X-API-KEY, X-Request-Id',
    'access-control-max-age': '86400',
  };
}
