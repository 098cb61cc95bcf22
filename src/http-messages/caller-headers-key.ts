import type { IncomingHttpHeaders } from 'node:http';

/** What no header can hold: an absent header is none that is empty. */
const absent = '\n';

/**
 * Joins the request headers that decide who asks, what is answered and under which labels, for doors that remember whole requests: two requests
 * with different keys may have different answers.
 */
export function callerHeadersKey(headers: IncomingHttpHeaders): string {
  const { authorization = absent, accept = absent, 'cache-control': control = absent } = headers;
  const apiKey = headers['x-api-key'] ?? absent;
  const redact = headers['lf-endpoint-redact-pii'] ?? absent;
  const labels = headers['lf-endpoint-labels'] ?? absent;
  return `${authorization}\n${apiKey}\n${redact}\n${control}\n${accept}\n${labels}`;
}
