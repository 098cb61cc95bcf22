import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** Origins whose pages may call us: `*` for any, or exact origins such as `https://studio.example`. */
export type CorsPolicy = { readonly origins: readonly string[] };

const exposed = 'Age, Cache-Control, ETag, Retry-After, Server-Timing, X-Cache, X-Request-Id';

/** CORS headers of any answer, errors too (contract section 2); empty for an origin that is not allowed. */
export function corsHeaders(policy: CorsPolicy, requestHeaders: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { origin } = requestHeaders;
  if (policy.origins.includes('*')) {
    return { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
  }
  if (origin === undefined || !policy.origins.includes(origin)) return { vary: 'Origin' };
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed, vary: 'Origin' };
}

/** What a preflight asks for beyond `corsHeaders`. Tokens are never ambient, so any request header may be sent. */
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
        : 'Authorization, Content-Type, LF-ENDPOINT-REDACT-PII, X-API-KEY, X-Request-Id',
    'access-control-max-age': '86400',
  };
}
