import type { IncomingMessage } from 'node:http';
import { GatewayError, quoted } from '../base/errors.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { Connections } from '../http-messages/connections.ts';
import { preflightHeaders } from '../http-messages/cors.ts';
import { maxUrlLength } from '../http-messages/http-limits.ts';
import { hasBody, type RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { type Redaction, redactError, redactMessage } from '../pipeline/representation.ts';
import { matchRoute, probes, type RouteName, routes, type ServerDeps } from './routes.ts';

type Routing = ServerDeps & { readonly connections: Pick<Connections, 'enter'> };

/**
 * Answers a request by the handler of its route.
 * @throws GatewayError
 */
export async function answerRoute(deps: Routing, context: RequestContext): Promise<HttpResponse> {
  const { url = '' } = context.request;
  if (url.length > maxUrlLength) {
    throw new GatewayError(
      'uri_too_long',
      `The URL has ${url.length} bytes; allowed: ${maxUrlLength}. POST takes more`,
    );
  }
  let name: RouteName | undefined;
  try {
    const route = matchRoute(context.path);
    name = route.name;
    return await answerMethod(deps, context, route);
  } catch (thrown) {
    // A browser would hide the 404 of the request itself behind an error of its own.
    if (!name && isPreflight(context.request))
      return optionsResponse(context.request, ['GET', 'HEAD', 'POST']);
    // The message may repeat a path, a name, a header or a body (contract 9.6). Errors about a saved query are redacted by the pipeline.
    throw name === 'rest' ? thrown : redactError(thrown, deps.pipeline.redactKinds);
  }
}

async function answerMethod(
  deps: Routing,
  context: RequestContext,
  { name, segment }: ReturnType<typeof matchRoute>,
): Promise<HttpResponse> {
  const { method = '', headers, socket } = context.request;
  const { methods, answer } = routes[name];
  if (method === 'OPTIONS') return optionsResponse(context.request, methods);
  if (!methods.includes(method)) {
    throw new GatewayError(
      'method_not_allowed',
      `${method} is not offered here; allowed: ${allowOf(methods)}`,
    );
  }
  if (name !== 'logs') rejectEncodedBody(context.request, deps.pipeline.redactKinds);
  if (probes.has(name)) return answer(deps, context, segment);
  const leave = deps.connections.enter(socket, readCredentials(headers));
  try {
    return await answer(deps, context, segment);
  } finally {
    leave();
  }
}

/** The value of the header `Allow`. */
function allowOf(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ');
}

/** Adds to a 405 the list of allowed methods (RFC 9110, section 15.5.6). */
export function withAllow(response: HttpResponse, path: string): HttpResponse {
  const { methods } = routes[matchRoute(path).name];
  return { ...response, headers: { ...response.headers, allow: allowOf(methods) } };
}

/** Source: Fetch standard, "CORS-preflight fetch". */
function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function optionsResponse({ headers }: IncomingMessage, methods: readonly string[]): HttpResponse {
  return {
    status: 204,
    headers: { allow: allowOf(methods), ...preflightHeaders(headers, methods) },
    body: Buffer.alloc(0),
  };
}

function rejectEncodedBody(request: IncomingMessage, redact: Redaction): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || !hasBody(request)) return;
  const message = `Content-Encoding is ${quoted(encoding)}; allowed: a body without one`;
  throw new GatewayError('unsupported_media_type', redactMessage(message, redact));
}
