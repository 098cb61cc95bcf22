import { GatewayError } from '../base/errors.ts';
import { decodePathSegment } from '../http-messages/read-query-string.ts';

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
