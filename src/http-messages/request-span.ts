import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import { markFailed, startServerSpan } from '../base/spans.ts';
import type { RequestFacts } from './request-context.ts';
import { pathOf } from './request-context.ts';

/** Methods that may name a span; callers can send any word. Source: OpenTelemetry, semantic conventions for HTTP spans. */
const knownMethods: ReadonlySet<string> = new Set([
  'CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE',
]); // biome-ignore format: one list

/**
 * Starts the span of a request, which ends when its response is closed. The query string holds parameters, so it is left out.
 * @param route its path, with names in place of variable parts; undefined if there is no such route
 */
export function openRequestSpan(
  request: IncomingMessage,
  response: ServerResponse,
  route: string | undefined,
): Span {
  const { method = '', headers, httpVersion } = request;
  const isKnown = knownMethods.has(method);
  const shownMethod = isKnown ? method : 'HTTP';
  const span = startServerSpan(
    route === undefined ? shownMethod : `${shownMethod} ${route}`,
    {
      'http.request.method': isKnown ? method : '_OTHER',
      'url.scheme': 'http',
      'url.path': pathOf(request),
      'network.protocol.version': httpVersion,
      ...(route === undefined ? {} : { 'http.route': route }),
      ...(headers['user-agent'] === undefined ? {} : { 'user_agent.original': headers['user-agent'] }),
    },
    headers,
  );
  response.once('close', () => span.end());
  return span;
}

/** Records on the span of a request how it was answered. */
export function recordStatus(
  span: Span,
  requestId: string,
  status: number,
  facts: Readonly<RequestFacts>,
): void {
  const { endpoint, cache, tokenId, rows } = facts;
  span.setAttributes({
    'http.response.status_code': status,
    'saved_query.request_id': requestId,
    ...(endpoint === undefined ? {} : { 'saved_query.endpoint': endpoint }),
    ...(cache === undefined ? {} : { 'saved_query.cache.state': cache }),
    ...(tokenId === undefined ? {} : { 'saved_query.token_id': tokenId }),
    ...(rows === undefined ? {} : { 'saved_query.rows': rows }),
  });
  // A caller's error does not mark the server's span as failed.
  if (status >= 500) markFailed(span, String(status));
}
