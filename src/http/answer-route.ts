import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { requireScope } from '../auth/caller.ts';
import type { Scope } from '../auth/scopes.ts';
import { GatewayError } from '../base/errors.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { Connections } from '../http-messages/connections.ts';
import { preflightHeaders } from '../http-messages/cors.ts';
import { maxUrlLength } from '../http-messages/http-limits.ts';
import { decodePathSegment } from '../http-messages/read-query-string.ts';
import { hasBody, type RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { redactError } from '../pipeline/representation.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { answerCatalogue } from './answer-catalogue.ts';
import { answerCheck } from './answer-check.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { answerLogs } from './answer-logs.ts';
import { answerPages, type PageDeps } from './answer-pages.ts';
import type { RestHandler } from './answer-rest.ts';
import { answerRows, type LoadingDeps } from './answer-rows.ts';
import { answerWarm } from './answer-warm.ts';
import { documentBytes, json } from './json-response.ts';

/** The route of a path. */
export type Route =
  | { readonly name: 'rest'; readonly endpoint: string }
  /** The catalogue of all saved queries, or of one. */
  | { readonly name: 'catalogue'; readonly endpoint: string | undefined }
  | { readonly name: 'rows'; readonly source: string }
  /** The check of SQL for one saved query. */
  | { readonly name: 'check'; readonly endpoint: string }
  | { readonly name: 'asset'; readonly file: string }
  | { readonly name: Page }
  | {
      readonly name:
        | 'graphql'
        | 'mcp'
        | 'openapi'
        | 'llms'
        | Probe
        | 'metrics'
        | 'invalidate'
        | 'warm'
        | 'logs';
    };

/** Routes for browsers, and those that the pages request before they have a token. */
type Page = 'home' | 'docs' | 'dialect' | 'sample';

/** Routes by which orchestrators probe the process. */
type Probe = 'health' | 'livez' | 'readyz';

/** The methods of each route, besides OPTIONS. `docs/rest.md` lists the routes; a test keeps the two equal. */
export const routeMethods: Record<Route['name'], readonly string[]> = {
  rest: ['GET', 'HEAD', 'POST'],
  catalogue: ['GET', 'HEAD'],
  rows: ['POST'],
  logs: ['POST'],
  check: ['POST'],
  dialect: ['GET', 'HEAD'],
  sample: ['GET', 'HEAD'],
  graphql: ['GET', 'POST'],
  mcp: ['POST'],
  openapi: ['GET', 'HEAD'],
  llms: ['GET', 'HEAD'],
  health: ['GET', 'HEAD'],
  livez: ['GET', 'HEAD'],
  readyz: ['GET', 'HEAD'],
  metrics: ['GET', 'HEAD'],
  invalidate: ['POST'],
  warm: ['GET', 'HEAD'],
  home: ['GET', 'HEAD'],
  docs: ['GET', 'HEAD'],
  asset: ['GET', 'HEAD'],
};

/** The value of the header `Allow`. */
export function allowOf(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ');
}

/** The paths of the fixed routes. */
const fixedRoutes: Record<
  string,
  Exclude<Route['name'], 'rest' | 'catalogue' | 'rows' | 'check' | 'asset'>
> = {
  '/api/logs': 'logs',
  '/logs': 'logs',
  '/api/dialect': 'dialect',
  '/api/sample': 'sample',
  '/graphql': 'graphql',
  '/mcp': 'mcp',
  '/openapi.json': 'openapi',
  '/llms.txt': 'llms',
  '/health': 'health',
  '/livez': 'livez',
  '/readyz': 'readyz',
  '/metrics': 'metrics',
  '/admin/invalidate': 'invalidate',
  '/admin/warm': 'warm',
  '/': 'home',
  '/docs': 'docs',
};

/** Three spellings of the REST route; the last two are older (contract 2.1). */
const restPath =
  /^(?:\/api\/endpoints\/query\/name\/|\/api\/endpoints\/query\/|\/endpoints\/query\/)([^/]+)$/;

const rowsPath = /^\/api\/sources\/([^/]+)\/rows$/;

/** The path of the catalogue. `query` is not a name here: it would be the start of a path above. */
const cataloguePath = /^\/api\/endpoints(?:\/(?!query$)([^/]+))?$/;

const checkPath = /^\/api\/endpoints\/([^/]+)\/check$/;

const assetPath = /^\/assets\/([^/]+)$/;

/**
 * Finds the route of a path.
 * @throws GatewayError `route_not_found`, `invalid_request`
 */
export function matchRoute(path: string): Route {
  const segment = restPath.exec(path)?.[1];
  if (segment !== undefined) return { name: 'rest', endpoint: decodePathSegment(segment) };
  const checked = checkPath.exec(path)?.[1];
  if (checked !== undefined) return { name: 'check', endpoint: decodePathSegment(checked) };
  const asset = assetPath.exec(path)?.[1];
  if (asset !== undefined) return { name: 'asset', file: asset };
  const listed = cataloguePath.exec(path);
  if (listed) return { name: 'catalogue', endpoint: listed[1] && decodePathSegment(listed[1]) };
  const source = rowsPath.exec(path)?.[1];
  if (source !== undefined) return { name: 'rows', source: decodePathSegment(source) };
  const name = Object.hasOwn(fixedRoutes, path) ? fixedRoutes[path] : undefined;
  if (name) return { name };
  throw new GatewayError('route_not_found', `No route has the path ${JSON.stringify(path.slice(0, 120))}`);
}

/** Routes that orchestrators and scrapers poll all day, and that would only clutter traces. */
const untraced: ReadonlySet<Route['name']> = new Set(['health', 'livez', 'readyz', 'metrics']);

/**
 * The name of a path's route in traces: the path, with names in place of variable parts.
 * @returns undefined if there is no such route, false if it is not traced
 */
export function tracedRoute(path: string): string | undefined | false {
  if (restPath.test(path)) return path.replace(/[^/]+$/, '{endpoint}');
  if (checkPath.test(path)) return '/api/endpoints/{endpoint}/check';
  if (rowsPath.test(path)) return '/api/sources/{source}/rows';
  if (assetPath.test(path)) return '/assets/{file}';
  const listed = cataloguePath.exec(path);
  if (listed) return listed[1] === undefined ? path : '/api/endpoints/{endpoint}';
  const name = Object.hasOwn(fixedRoutes, path) ? fixedRoutes[path] : undefined;
  return name && (untraced.has(name) ? false : path);
}

/** Whether requests should be sent here, and what is degraded. */
export type Health = {
  readonly isReady: boolean;
  /** Words such as `store_down`. */
  readonly reasons: readonly string[];
  /** Problems in files of saved queries and sources, such as `a.sql:3: name`. Absent if there are none, or they may not be shown. */
  readonly broken?: readonly string[];
};

/** What the routes need. */
export type RouteDeps = PageDeps & {
  readonly pipeline: PipelineDeps;
  readonly graphql: (context: RequestContext) => Promise<HttpResponse>;
  /** Answers agents' messages. */
  readonly mcp: (context: RequestContext) => Promise<HttpResponse>;
  /** Loads rows; absent with a warehouse, which is filled by its owner. */
  readonly loading: LoadingDeps | undefined;
  /** For `GET /admin/warm`. */
  readonly schedule: Pick<WarmSchedule, 'state'>;
  /** Renders the metrics for a scraper. */
  readonly metrics: () => Promise<HttpResponse>;
  /** Whether the metrics need a token with the scope `metrics`. */
  readonly metricsNeedToken: boolean;
  /** Whether the documents that list all saved queries need a token with the scope `introspect`. */
  readonly documentsNeedToken: boolean;
  /** The OpenAPI document of the saved queries currently served. */
  readonly openapi: () => Promise<Buffer>;
  /** The page for language models about the saved queries currently served. */
  readonly llmsText: () => Promise<Buffer>;
  readonly health: () => Health;
  /** Maximum milliseconds to wait for each next part of a body. */
  readonly receiveTimeoutMs: number;
};

type Routing = RouteDeps & {
  readonly rest: RestHandler;
  readonly connections: Pick<Connections, 'enter'>;
  readonly isStopping: boolean;
};

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
  let route: Route | undefined;
  try {
    route = matchRoute(context.path);
    return await answerMethod(deps, context, route);
  } catch (thrown) {
    // A browser would hide the 404 of the request itself behind an error of its own.
    if (!route && isPreflight(context.request))
      return optionsResponse(context.request, ['GET', 'HEAD', 'POST']);
    // The message may repeat a path, a name, a header or a body (contract 9.6). Errors about a saved query are redacted by the pipeline.
    throw route?.name === 'rest' ? thrown : redactError(thrown, deps.pipeline.redactKinds);
  }
}

async function answerMethod(deps: Routing, context: RequestContext, route: Route): Promise<HttpResponse> {
  const { method = '', headers } = context.request;
  const methods = routeMethods[route.name];
  if (method === 'OPTIONS') return optionsResponse(context.request, methods);
  if (!methods.includes(method)) {
    throw new GatewayError(
      'method_not_allowed',
      `${method} is not offered here; allowed: ${allowOf(methods)}`,
    );
  }
  if (route.name !== 'logs') rejectEncodedBody(context.request);
  const credentials = isProbe(route) ? undefined : readCredentials(headers);
  const leave = deps.connections.enter(context.request.socket, credentials);
  try {
    return await answerBy(deps, context, route);
  } finally {
    leave();
  }
}

/** Source: Fetch standard, "CORS-preflight fetch". */
function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function optionsResponse({ headers }: IncomingMessage, methods: readonly string[]): HttpResponse {
  return {
    status: 204,
    headers: { allow: allowOf(methods), ...preflightHeaders(headers, methods) },
    body: noBody,
  };
}

/** Whether a route reports the gateway's health, for which no token is needed. */
const isProbe = ({ name }: Route) => name === 'livez' || name === 'readyz' || name === 'health';

async function answerBy(deps: Routing, context: RequestContext, route: Route): Promise<HttpResponse> {
  const { headers } = context.request;
  switch (route.name) {
    case 'rest':
      return deps.rest(context, route.endpoint);
    case 'catalogue':
      return answerCatalogue(deps.pipeline, context, route.endpoint);
    case 'rows':
      return answerRows(deps, context, route.source);
    case 'logs':
      return answerLogs(deps, context);
    case 'check':
      return answerCheck(deps.pipeline, context, route.endpoint);
    case 'graphql':
      return deps.graphql(context);
    case 'mcp':
      return deps.mcp(context);
    case 'llms':
      if (deps.documentsNeedToken) await requireScopeOf(deps, headers, 'introspect');
      return documentBytes(await deps.llmsText(), 'text/markdown');
    case 'openapi':
      if (deps.documentsNeedToken) await requireScopeOf(deps, headers, 'introspect');
      return documentBytes(await deps.openapi(), 'application/json');
    case 'metrics':
      if (deps.metricsNeedToken) await requireScopeOf(deps, headers, 'metrics');
      return deps.metrics();
    case 'invalidate':
      return answerInvalidate(deps.pipeline, context);
    case 'warm':
      return answerWarm(deps.pipeline.tokens, deps.schedule, context);
    case 'health':
      return json({ status: 'ok', cache: deps.pipeline.cache.storeHealth().isUp ? 'up' : 'down' });
    case 'livez':
      return json({ status: 'alive' });
    case 'readyz':
      return answerReady(deps);
    case 'home':
    case 'docs':
    case 'asset':
    case 'dialect':
    case 'sample':
      return answerPages(deps, context, route);
  }
}

/** @throws GatewayError `unauthorized`, `forbidden` */
async function requireScopeOf(
  { pipeline }: Pick<RouteDeps, 'pipeline'>,
  headers: IncomingHttpHeaders,
  scope: Scope,
): Promise<void> {
  requireScope(await pipeline.tokens.authenticate(readCredentials(headers)), scope);
}

function rejectEncodedBody(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || !hasBody(request)) return;
  throw new GatewayError(
    'unsupported_media_type',
    `Content-Encoding is ${JSON.stringify(encoding.slice(0, 120))}; allowed: a body without one`,
  );
}

/** Tells a load balancer whether to send requests here: 503 if not. The reasons also name what is merely degraded. */
function answerReady({ health, isStopping }: Routing): HttpResponse {
  const { isReady, reasons, ...more } = health();
  if (isReady && !isStopping) return json({ status: 'ready', reasons, ...more });
  const response = json({
    status: 'unready',
    reasons: isStopping ? ['stopping', ...reasons] : reasons,
    ...more,
  });
  return { ...response, status: 503, headers: { ...response.headers, 'retry-after': '2' } };
}

const noBody = Buffer.alloc(0);
