import type { OutgoingHttpHeaders } from 'node:http';
import { type ErrorCode, errorCodes, type GatewayError } from '../base/errors.ts';

/** The request headers on which a response depends, errors included. */
export const vary = 'Accept, Accept-Encoding, Authorization, X-API-KEY, LF-ENDPOINT-REDACT-PII';

/** The form of errors: our own, or the one that callers expect in drop-in mode (contract 2.15, 2.21). */
export type Compat = 'none' | 'logflare';

export type RenderedError = {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
};

/** In drop-in mode these are sent with status 200. */
const queryFailures: ReadonlySet<ErrorCode> = new Set([
  'invalid_parameter', 'invalid_query', 'sandbox_refused', 'result_too_large', 'engine_failed', 'deadline_exceeded',
]); // biome-ignore format: one list

/** In drop-in mode these all become the same 401. */
const accessFailures: ReadonlySet<ErrorCode> = new Set([
  'unauthorized', 'forbidden', 'endpoint_not_found', 'source_not_found', 'route_not_found',
]); // biome-ignore format: one list

/** Renders an error as status, headers and JSON body. */
export function renderError(error: GatewayError, requestId: string, compat: Compat): RenderedError {
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    // Varnish remembers "do not keep" under a key like any other response, so errors need the same Vary.
    vary,
    ...errorHeaders(error),
  };
  if (compat === 'logflare' && accessFailures.has(error.code)) {
    return { status: 401, headers, body: Buffer.from('{"error":"Unauthorized"}') };
  }
  const status = compat === 'logflare' && queryFailures.has(error.code) ? 200 : error.status;
  return { status, headers, body: Buffer.from(JSON.stringify({ error: errorObject(error, requestId) })) };
}

/** The headers that tell a client what to do about an error, in whatever form its body is. */
export function errorHeaders({ status, retryAfterSeconds }: GatewayError): OutgoingHttpHeaders {
  return {
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  };
}

/** The `error` object of contract 2.15. */
function errorObject(error: GatewayError, requestId: string) {
  const { code, message, status, position } = error;
  return {
    code,
    message,
    status,
    errors: [{ reason: errorCodes[code].reason, message, ...position }],
    request_id: requestId,
  };
}
