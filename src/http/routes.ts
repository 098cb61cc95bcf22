import { requireScope } from '../auth/caller.ts';
import type { Scope } from '../auth/scopes.ts';
import { errorCodes, GatewayError, quoted } from '../base/errors.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import { decodePathSegment } from '../http-messages/read-query-string.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { answerCatalogue } from './answer-catalogue.ts';
import { answerCheck } from './answer-check.ts';
import { answerInvalidate } from './answer-invalidate.ts';
import { answerLogs } from './answer-logs.ts';
import { answerAsset, answerDialect, answerDocs, answerHome, type PageDeps } from './answer-pages.ts';
import type { RestHandler } from './answer-rest.ts';
import { answerRows, type LoadingDeps } from './answer-rows.ts';
import { answerSample } from './answer-sample.ts';
import { answerWarm } from './answer-warm.ts';
import { documentBytes, json } from './json-response.ts';

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

/** The same, with what the server adds. */
export type ServerDeps = RouteDeps & { readonly rest: RestHandler; readonly isStopping: boolean };

type Route = {
  /** At most one segment of a path is variable: `{endpoint}`. */
  readonly paths: readonly string[];
  /** Besides OPTIONS. */
  readonly methods: readonly string[];
  /**
   * @param segment the variable segment, decoded; empty if the path has none
   * @throws GatewayError
   */
  readonly answer: (
    deps: ServerDeps,
    context: RequestContext,
    segment: string,
  ) => HttpResponse | Promise<HttpResponse>;
};

const reading = ['GET', 'HEAD'];

/** All routes; of two paths that match, the first one counts. `docs/rest.md` lists them; a test keeps the two equal. */
export const routes = {
  rest: {
    // The last two are older (contract 2.1).
    paths: [
      '/api/endpoints/query/name/{endpoint}',
      '/api/endpoints/query/{endpoint}',
      '/endpoints/query/{endpoint}',
    ],
    methods: [...reading, 'POST'],
    answer: ({ rest }, context, endpoint) => rest(context, endpoint),
  },
  /** The check of SQL for one saved query. */
  check: {
    paths: ['/api/endpoints/{endpoint}/check'],
    methods: ['POST'],
    answer: ({ pipeline }, context, endpoint) => answerCheck(pipeline, context, endpoint),
  },
  /** All saved queries, or one. */
  catalogue: {
    paths: ['/api/endpoints', '/api/endpoints/{endpoint}'],
    methods: reading,
    answer: ({ pipeline }, context, endpoint) => answerCatalogue(pipeline, context, endpoint || undefined),
  },
  rows: { paths: ['/api/sources/{source}/rows'], methods: ['POST'], answer: answerRows },
  logs: { paths: ['/api/logs', '/logs'], methods: ['POST'], answer: answerLogs },
  graphql: {
    paths: ['/graphql'],
    methods: ['GET', 'POST'],
    answer: ({ graphql }, context) => graphql(context),
  },
  mcp: { paths: ['/mcp'], methods: ['POST'], answer: ({ mcp }, context) => mcp(context) },
  openapi: {
    paths: ['/openapi.json'],
    methods: reading,
    answer: (deps, context) => answerDocument(deps, context, deps.openapi, 'application/json'),
  },
  llms: {
    paths: ['/llms.txt'],
    methods: reading,
    answer: (deps, context) => answerDocument(deps, context, deps.llmsText, 'text/markdown'),
  },
  metrics: {
    paths: ['/metrics'],
    methods: reading,
    async answer(deps, context) {
      if (deps.metricsNeedToken) await requireScopeOf(deps, context, 'metrics');
      return deps.metrics();
    },
  },
  invalidate: {
    paths: ['/admin/invalidate'],
    methods: ['POST'],
    answer: ({ pipeline }, context) => answerInvalidate(pipeline, context),
  },
  warm: {
    paths: ['/admin/warm'],
    methods: reading,
    answer: ({ pipeline, schedule }, context) => answerWarm(pipeline.tokens, schedule, context),
  },
  health: {
    paths: ['/health'],
    methods: reading,
    answer: deps => json({ status: 'ok', cache: cacheState(deps) }),
  },
  /** 200 even without the store: a restart would not bring it back. */
  livez: {
    paths: ['/livez'],
    methods: reading,
    answer: deps => json({ status: 'alive', cache: cacheState(deps) }),
  },
  readyz: { paths: ['/readyz'], methods: reading, answer: answerReady },
  home: { paths: ['/'], methods: reading, answer: answerHome },
  docs: { paths: ['/docs'], methods: reading, answer: answerDocs },
  asset: { paths: ['/assets/{file}'], methods: reading, answer: answerAsset },
  dialect: { paths: ['/api/dialect'], methods: reading, answer: answerDialect },
  sample: {
    paths: ['/api/sample'],
    methods: reading,
    answer: ({ sample }, context) => answerSample(sample, context),
  },
} satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;

/** Routes by which orchestrators probe the process: no token is needed. */
export const probes: ReadonlySet<RouteName> = new Set(['livez', 'readyz', 'health']);

/** The start of the paths of `rest`, and not the catalogue of a saved query with the name `query`. */
const startOfRest = '/api/endpoints/query';

type Path = { readonly name: RouteName; readonly path: string; readonly pattern: RegExp };

const paths = Object.entries(routes).flatMap(([name, route]) =>
  route.paths.map((path): Path => {
    const pattern = RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/, '([^/]+)')}$`);
    return { name: name as RouteName, path, pattern }; // a key of the table
  }),
);

function findPath(path: string): Path | undefined {
  return path === startOfRest ? undefined : paths.find(({ pattern }) => pattern.test(path));
}

/**
 * Finds the route of a path.
 * @returns its name, and the variable segment of the path, empty if there is none
 * @throws GatewayError `route_not_found`, `invalid_request`
 */
export function matchRoute(path: string): { readonly name: RouteName; readonly segment: string } {
  const found = findPath(path);
  if (!found) throw new GatewayError('route_not_found', `No route has the path ${quoted(path)}`);
  const segment = found.pattern.exec(path)?.[1];
  return { name: found.name, segment: segment === undefined ? '' : decodePathSegment(segment) };
}

/**
 * The name of a path's route in traces: the path, with a name in place of its variable segment.
 * @returns undefined if there is no such route, false if it is not traced
 */
export function tracedRoute(path: string): string | undefined | false {
  const found = findPath(path);
  // Orchestrators and scrapers poll these all day: they would only clutter the traces.
  const isPolled = found && (probes.has(found.name) || found.name === 'metrics');
  return isPolled ? false : found?.path;
}

/** Answers with a document that lists all saved queries. */
async function answerDocument(
  deps: RouteDeps,
  context: RequestContext,
  render: () => Promise<Buffer>,
  type: string,
): Promise<HttpResponse> {
  if (deps.documentsNeedToken) await requireScopeOf(deps, context, 'introspect');
  return documentBytes(await render(), type);
}

/** @throws GatewayError `unauthorized`, `forbidden` */
async function requireScopeOf(
  { pipeline }: Pick<RouteDeps, 'pipeline'>,
  { request }: RequestContext,
  scope: Scope,
): Promise<void> {
  requireScope(await pipeline.tokens.authenticate(readCredentials(request.headers)), scope);
}

/** Whether the store of the cache answers. */
function cacheState({ pipeline }: RouteDeps): 'up' | 'down' {
  return pipeline.cache.storeHealth().isUp ? 'up' : 'down';
}

/** Reports to a load balancer whether to send requests here: 503 if not. The reasons also name what is merely degraded. */
function answerReady({ health, isStopping }: ServerDeps): HttpResponse {
  const { isReady, reasons, ...more } = health();
  if (isReady && !isStopping) return json({ status: 'ready', reasons, ...more });
  const response = json({
    status: 'unready',
    reasons: isStopping ? ['stopping', ...reasons] : reasons,
    ...more,
  });
  return {
    ...response,
    status: 503,
    headers: { ...response.headers, 'retry-after': String(errorCodes.unavailable.retryAfterSeconds) },
  };
}
