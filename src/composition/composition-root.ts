import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tokens } from '../auth/tokens.ts';
import type { Clock } from '../base/clock.ts';
import { batchQueries } from '../batch/batch-queries.ts';
import { type RunQuery, type RunStatement, runSingly } from '../batch/run-queries.ts';
import { createCache } from '../cache/cache.ts';
import { createSingleFlight } from '../cache/single-flight.ts';
import { makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import { claimFolderId } from '../duckdb/data-folder/folder-id.ts';
import { checkDefinition } from '../endpoints/check-definition.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { allOf } from '../endpoints/parse-definition.ts';
import { createEndpointRegistry, type EndpointRegistry } from '../endpoints/registry.ts';
import { watchSources } from '../endpoints/watch-sources.ts';
import type { Engine, QueryPriority } from '../engine/engine.ts';
import { guardEngine } from '../engine/guard-engine.ts';
import { createRowFormatter } from '../formats/row-formatter.ts';
import { createGraphqlHandler } from '../graphql/answer-graphql.ts';
import { readOperationList } from '../graphql/operation-list.ts';
import type { PageSample } from '../http/answer-sample.ts';
import { type ConnectionLimits, createHttpServer, type HttpServer } from '../http/http-server.ts';
import { buildLlmsText } from '../http/llms-text.ts';
import { writeOpenApi } from '../http/openapi.ts';
import { openPageFiles, type PageFiles } from '../http/page-files.ts';
import type { StopOptions } from '../http/stop-server.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { createRunStatement } from '../pipeline/run-statement.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { createRedisStore } from '../store/redis-store.ts';
import type { Store } from '../store/store.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { watchEventLoop } from '../telemetry/watch-event-loop.ts';
import { collectWhenCalm } from './collect-when-calm.ts';
import { openServingEngine, warehouseOf } from './compose-engine.ts';
import { openLoading } from './compose-loading.ts';
import { composeTokens } from './compose-tokens.ts';
import { openWarming } from './compose-warming.ts';
import type { Config } from './config.ts';
import { createDocumentStore } from './document-store.ts';
import { type FreeBytes, watchFreeBytes } from './free-bytes.ts';
import { healthOf, readingsOf } from './report-state.ts';
import { shareNext } from './share-next.ts';

/** What a process provides to its gateway. */
export type GatewayDeps = {
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
  /** The one plain token to accept; absent: only issued tokens. */
  readonly accessToken: string | undefined;
  /** What the page of a first start may read without a token. Default: nothing. */
  readonly pageSample?: PageSample | undefined;
  /** Runs its queries. Default: the engine that the configuration names. */
  readonly engine?: Engine;
  /** The process's log, for the metrics. */
  readonly log?: { readonly droppedLines: number };
  /** Free bytes of the disk of DATA_DIR. Default: asks the system. */
  readonly freeBytes?: FreeBytes;
};

/** A gateway that is ready to listen. */
export type Gateway = {
  readonly server: Server;
  /** For tests and metrics. */
  readonly http: Pick<HttpServer, 'connections' | 'unreadBytes' | 'stop'>;
  readonly endpoints: EndpointRegistry;
  readonly tokens: Pick<Tokens, 'refresh'>;
  /** Starts to add sample rows as time passes. */
  growSample(): void;
  /**
   * Answers the requests in flight, then closes the engine and the store.
   * @param options default: accepts no more connections, and waits for the requests in flight
   */
  close(options?: StopOptions): Promise<void>;
};

/**
 * Composes a gateway; the only place that names adapters.
 * @throws AggregateError with the DefinitionErrors of broken files if no saved query can be served
 */
export async function composeGateway(
  config: Config,
  { clock, emit: observe, accessToken, pageSample, engine: given, log, freeBytes: known }: GatewayDeps,
): Promise<Gateway> {
  const metrics = createMetrics(observe);
  const emit = metrics.observe;
  let loading: ReturnType<typeof openLoading>;
  const watched = repairing(emit, place => loading?.loader.repair(place));
  const core = await openCore(config, { clock, emit, emitOfEngine: watched, engine: given });
  const { engine, endpoints, sourceWatch, store, warehouse, cache, run, close } = core;
  const tokens = await composeTokens(config, { accessToken, clock, emit });
  const warmingDeps = { clock, emit, cache, warehouse, endpoints, runStatement: run('background') };
  const warming = openWarming(config, warmingDeps, config.WARM_IN_PROCESS ?? !config.REDIS_URL);
  metrics.watch(warming.schedule);
  const runStatement = run('interactive');
  const [redactor, formatter] = [createRedactor(), createRowFormatter()];
  const pipeline: PipelineDeps = {
    tokens,
    endpoints,
    engine,
    cache,
    runStatement,
    runQuery: createRunQuery(runStatement, config.BATCH_WINDOW_MS),
    recordRead: warming.hotKeys.recordRead,
    sharedRuns: createSingleFlight(),
    clock,
    emit,
    queryTimeoutMs: config.QUERY_TIMEOUT_MS,
    redactKinds: config.REDACT_KINDS,
    redactor,
  };
  const freeBytes = known ?? (await watchFreeBytes(config.DATA_DIR));
  loading = openLoading(config, { endpoints, engine, sourceWatch, cache, clock, emit: watched });
  const pages = config.PAGES ? openPageFiles() : undefined;
  const http = createHttpServer({
    pipeline,
    formatter,
    loading,
    graphql: await openGraphql(config, { pipeline, endpoints, store, emit, pages }),
    pages,
    hasGraphiql: pages !== undefined && isGraphiqlServed(config),
    sample: pageSample,
    schedule: warming.schedule,
    metrics: shareMetrics(metrics),
    metricsNeedToken: config.METRICS_NEED_TOKEN,
    documentsNeedToken: config.DOCUMENTS_NEED_TOKEN,
    mcp: openMcp(config, pipeline),
    ...documentsOf(endpoints),
    health: () => healthOf(config, { cache, engine, endpoints, sourceWatch, tokens, freeBytes }),
    limits: connectionLimits(config),
    cors: { origins: config.CORS_ORIGINS },
    compat: config.COMPAT,
    emit,
  });
  metrics.read(readingsOf({ http, log, engine, endpoints, sourceWatch, tokens, freeBytes }));
  return {
    server: http.server,
    http,
    endpoints,
    tokens,
    growSample: () => loading?.growSample(),
    close: closing(
      http,
      [...(loading ? [loading] : []), tokens, warming, redactor, formatter, freeBytes, { close }],
      [watchEventLoop(emit), collectWhenCalm()],
    ),
  };
}

/** Passes events on, and starts the repair of a file in which a query found a damaged block. */
function repairing(emit: (event: GatewayEvent) => void, repair: (place: number) => void): typeof emit {
  return event => {
    emit(event);
    if (event.type === 'database.unreadable') repair(event.place);
  };
}

/** Closes a gateway: the requests in flight first, then the parts they need, in this order. */
function closing(
  http: HttpServer,
  parts: readonly { close(): Promise<void> }[],
  watches: readonly (() => void)[],
): Gateway['close'] {
  return async (options = { quietMs: 0, deadlineMs: Infinity }) => {
    for (const stop of watches) stop();
    await http.stop(options);
    for (const part of parts) await part.close();
  };
}

/**
 * Composes a worker: it warms what gateways read, over the Redis that it shares with them.
 * @returns a function that stops it
 * @throws Error if there is no such Redis; AggregateError as above
 */
export async function composeWorker(
  config: Config,
  { clock, emit }: Pick<GatewayDeps, 'clock' | 'emit'>,
): Promise<() => Promise<void>> {
  if (!config.REDIS_URL) {
    throw new Error(
      'REDIS_URL is not set: without it the gateway warms its own cache, and there is nothing to share',
    );
  }
  const { endpoints, cache, warehouse, run, close } = await openCore(config, { clock, emit });
  const warming = openWarming(
    config,
    { clock, emit, cache, warehouse, endpoints, runStatement: run('background') },
    true,
  );
  return async () => {
    await warming.close();
    await close();
  };
}

type CoreDeps = Pick<GatewayDeps, 'clock' | 'emit' | 'engine'> & {
  /** Gets the events of the engine itself. Default: `emit`. */
  readonly emitOfEngine?: GatewayDeps['emit'];
};

/** Opens the parts that gateways and workers have in common. */
async function openCore(config: Config, { clock, emit, emitOfEngine = emit, engine: given }: CoreDeps) {
  await makeDataFolder(config.DATA_DIR);
  const engine = guardEngine(await openServingEngine(config, { clock, emit: emitOfEngine, engine: given }), {
    clock,
    emit,
  });
  const sourceWatch = watchSources(config.SOURCES_DIR, emit, { takesNew: config.ENGINE === 'duckdb' });
  const endpoints = await createEndpointRegistry({
    directory: config.SQL_DIR,
    check: definition =>
      checkDefinition(engine, definition).catch(error => Promise.reject(sourceWatch.withNewSources(error))),
    emit,
  }).catch(error => {
    // Broken sources come first: queries fail because of them.
    throw error instanceof AggregateError ? allOf([...sourceWatch.broken, ...error.errors]) : error;
  });
  // Without Redis nothing is shared, so no name is needed.
  const warehouse = config.REDIS_URL ? await warehouseOf(config, claimFolderId) : undefined;
  const { store, memoryBytes } = openTiers(config, warehouse, clock);
  const cache = createCache({
    store,
    storeTimeoutMs: config.REDIS_TIMEOUT_MS,
    memoryBytes,
    maxEntryBytes: config.CACHE_MAX_ENTRY_MB * 1024 * 1024,
    clock,
    emit,
  });
  await cache.connect();
  const queryTimeoutMs = config.QUERY_TIMEOUT_MS;
  const run = (priority: QueryPriority) => createRunStatement({ engine, emit, queryTimeoutMs, priority });
  const close = async () => {
    endpoints.close();
    sourceWatch.close();
    await cache.close();
    await engine.close();
  };
  return { engine, endpoints, sourceWatch, store, warehouse, cache, run, close };
}

type GraphqlDeps = {
  readonly pages: PageFiles | undefined;
  readonly pipeline: PipelineDeps;
  readonly endpoints: EndpointRegistry;
  readonly store: Store;
  readonly emit: (event: GatewayEvent) => void;
};

const isGraphiqlServed = ({ GRAPHIQL, NODE_ENV }: Config) => GRAPHIQL ?? NODE_ENV !== 'production';

/** Makes the handler of the GraphQL route, with the documents that clients may name by hash. */
async function openGraphql(config: Config, { pipeline, endpoints, store, emit, pages }: GraphqlDeps) {
  const { GRAPHQL_OPERATIONS_FILE: file } = config;
  const listed = file ? await readOperationList(file) : undefined;
  return createGraphqlHandler({
    pipeline,
    endpoints,
    page: isGraphiqlServed(config) ? acceptEncoding => pages?.page('graphiql', acceptEncoding) : undefined,
    persisted: { listed, documents: createDocumentStore(store, pipeline.clock) },
    onFault: (requestId, cause) => emit({ type: 'http.bug', requestId, cause }),
    onRefused: code => emit({ type: 'http.refused', code }),
  });
}

/** Makes the handler of agents' messages. The protocol's modules are loaded by the first one: most gateways never get one. */
function openMcp({ CORS_ORIGINS: origins }: Config, pipeline: PipelineDeps) {
  return async (context: RequestContext) =>
    (await import('../mcp/answer-mcp.ts')).answerMcp(pipeline, origins, context);
}

/** @param batchWindowMs milliseconds that a query with a batch form waits for others; 0: queries do not wait */
function createRunQuery(run: RunStatement, batchWindowMs: number): RunQuery {
  if (batchWindowMs === 0) return runSingly(run);
  return batchQueries(run, start => setTimeout(start, batchWindowMs));
}

/**
 * The store, and the bytes of the memory in front of it. If the store is in this process too, they share the bytes: a quarter for the
 * uncompressed entries in use, the rest for the store, which compresses.
 */
function openTiers(config: Config, warehouse: string | undefined, clock: Clock) {
  const { REDIS_URL: url, REDIS_TIMEOUT_MS: deadlineMs } = config;
  const bytes = config.CACHE_MEMORY_MB * 1024 * 1024;
  if (url) return { store: createRedisStore({ url, warehouse, deadlineMs }), memoryBytes: bytes };
  return { store: createMemoryStore({ maxBytes: (bytes * 3) / 4, clock }), memoryBytes: bytes / 4 };
}

function connectionLimits(config: Config): ConnectionLimits {
  return {
    receiveTimeoutMs: config.RECEIVE_TIMEOUT_MS,
    sendTimeoutMs: config.SEND_TIMEOUT_MS,
    maxUnreadBytes: config.MAX_UNREAD_MB * 1024 * 1024,
    maxConnections: config.MAX_CONNECTIONS,
  };
}

/** Milliseconds after rendering the metrics in which they are not rendered again: it takes some ten, and holds the event loop. */
const metricsPauseMs = 100;

/** Renders the metrics, for all scrapers that come together at once. */
function shareMetrics(metrics: Metrics): () => Promise<HttpResponse> {
  return shareNext(
    () => metricsResponse(metrics),
    () => delay(metricsPauseMs, undefined, { ref: false }),
  );
}

async function metricsResponse(metrics: Metrics): Promise<HttpResponse> {
  return {
    status: 200,
    headers: { 'content-type': metrics.contentType, 'cache-control': 'no-store' },
    body: Buffer.from(await metrics.render()),
  };
}

/** The documents about the saved queries that may be read without a token. */
const documentsOf = (endpoints: EndpointRegistry) => ({
  openapi: documentOf(endpoints, writeOpenApi),
  llmsText: documentOf(endpoints, async all => buildLlmsText(all)),
});

/** A document about the saved queries currently served, built once for each change. */
function documentOf(
  endpoints: EndpointRegistry,
  build: (all: readonly EndpointDefinition[]) => Promise<string>,
): () => Promise<Buffer> {
  let built: { readonly version: number; readonly document: Promise<Buffer> } | undefined;
  return () => {
    const { version } = endpoints;
    if (built?.version !== version) {
      built = { version, document: build(endpoints.all()).then(text => Buffer.from(text)) };
    }
    return built.document;
  };
}
