import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { replaceFile } from '../auth/replace-file.ts';
import { readTokens } from '../auth/token-file.ts';
import { createTokens } from '../auth/tokens.ts';
import { withFileLock } from '../auth/with-file-lock.ts';
import type { Clock } from '../base/clock.ts';
import type { Progress } from '../base/progress-bar.ts';
import { statementOf } from '../batch/endpoint-query.ts';
import { gatherQueries, type RunEndpointQuery } from '../batch/gather-queries.ts';
import type { RunStatement } from '../batch/run-batch.ts';
import { createCache } from '../cache/cache.ts';
import { createSingleFlight } from '../cache/single-flight.ts';
import { DatabaseBusyError } from '../duckdb/database-busy-error.ts';
import { checkDefinition } from '../endpoints/check-definition.ts';
import { createEndpointRegistry, type EndpointRegistry } from '../endpoints/registry.ts';
import type { QueryPriority } from '../engine/engine.ts';
import { guardEngine } from '../engine/guard-engine.ts';
import { createGraphqlDoor } from '../graphql/answer-graphql.ts';
import { type ConnectionLimits, createHttpServer, type HttpServer } from '../http/http-server.ts';
import { buildOpenApi } from '../http/openapi.ts';
import type { StopOptions } from '../http/stop-server.ts';
import type { Reply } from '../http-messages/exchange.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { runQuery } from '../pipeline/run-query.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { sampleProjects } from '../sample/vocabulary.ts';
import { writeSampleInChild } from '../sample/write-sample-in-child.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { createRedisStore } from '../store/redis-store.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { databasePath, openEngine } from './compose-engine.ts';
import { openWarming } from './compose-warming.ts';
import type { Config } from './config.ts';

/** What a process brings to its gateway: time, and somebody who hears of what happens. */
export type Surroundings = {
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
  /** The one plain token to accept; absent: only issued tokens. */
  readonly accessToken: string | undefined;
  /** The process's log, for the metrics. */
  readonly log?: { readonly droppedLines: number };
};

/** A gateway that is ready to listen. */
export type Gateway = {
  readonly server: Server;
  /** What is open at the server. */
  readonly http: Pick<HttpServer, 'connections' | 'unreadBytes'>;
  readonly endpoints: EndpointRegistry;
  /**
   * Answers what is under way, then ends the engine and the store.
   * @param options default: takes no more connections at once, and waits for what is under way
   */
  close(options?: StopOptions): Promise<void>;
};

/** The file of issued tokens. */
export function tokensFile(config: Pick<Config, 'DATA_DIR' | 'TOKENS_FILE'>): string {
  return config.TOKENS_FILE ?? join(config.DATA_DIR, 'tokens.json');
}

/**
 * Makes what a first start lacks: the data folder, the tables, sample rows up to now, a token.
 * The warehouse has its own tables and rows: for it, only the token.
 * @returns the plain token to accept, if any, and a project that has rows
 */
export async function prepareData(
  config: Config,
  {
    clock,
    emit,
    onProgress,
  }: Pick<Surroundings, 'clock' | 'emit'> & { onProgress: (progress: Progress) => void },
): Promise<{ accessToken: string | undefined; sampleProject: string }> {
  await mkdir(config.DATA_DIR, { recursive: true });
  const sampleProject =
    config.ENGINE === 'duckdb' ? await bringSample(config, { clock, emit, onProgress }) : '<project>';
  return { accessToken: config.ACCESS_TOKEN ?? (await sampleToken(config)), sampleProject };
}

/** Brings the sample of the embedded engine up to now. */
async function bringSample(
  config: Config,
  { clock, emit, onProgress }: Parameters<typeof prepareData>[1],
): Promise<string> {
  try {
    const task = { databasePath: databasePath(config), rows: config.SAMPLE_ROWS, nowMs: clock.now() };
    await writeSampleInChild(task, onProgress);
  } catch (error) {
    // Another gateway reads the same file: its rows will do.
    if (!(error instanceof DatabaseBusyError)) throw error;
    emit({ type: 'sample.skipped', message: error.message });
  }
  return sampleProjects[0];
}

/** The token of a data folder for which none was issued: made once, kept beside the data. */
async function sampleToken(config: Config): Promise<string | undefined> {
  if (config.TOKEN_HASHES || (await readTokens(tokensFile(config))).length > 0) return undefined;
  const file = join(config.DATA_DIR, 'sample-token');
  return withFileLock(file, async () => {
    const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
    if (kept) return kept;
    const token = `sample_${randomBytes(18).toString('base64url')}`;
    await replaceFile(file, `${token}\n`);
    return token;
  });
}

/**
 * Puts a gateway together; the only place that names adapters.
 * @throws AggregateError with the DefinitionErrors of broken saved queries
 */
export async function composeGateway(
  config: Config,
  { clock, emit: tell, accessToken, log }: Surroundings,
): Promise<Gateway> {
  const metrics = createMetrics();
  const emit = (event: GatewayEvent) => {
    metrics.observe(event);
    tell(event);
  };
  const { engine, endpoints, cache, run, close } = await openCore(config, clock, emit);
  const tokens = await createTokens({
    file: tokensFile(config),
    hashes: config.TOKEN_HASHES ?? [],
    accessToken,
    clock,
    emit,
  });
  const warmsHere = config.WARM_IN_PROCESS ?? !config.REDIS_URL;
  const warmingDeps = { clock, emit, cache, endpoints, runStatement: run('background') };
  const warming = openWarming(config, warmingDeps, warmsHere);
  metrics.watch(warming.schedule);
  const runStatement = run('interactive');
  const redactor = createRedactor();
  const pipeline: PipelineDeps = {
    tokens,
    endpoints,
    engine,
    cache,
    runStatement,
    runEndpointQuery: gatherFor(config.GATHER_MS, runStatement),
    recordRead: warming.hotKeys.recordRead,
    sharedRuns: createSingleFlight(),
    clock,
    emit,
    queryTimeoutMs: config.QUERY_TIMEOUT_MS,
    redactKinds: config.REDACT_KINDS,
    redactor,
  };
  const http = createHttpServer({
    pipeline,
    graphql: createGraphqlDoor({
      pipeline,
      endpoints,
      graphiql: config.GRAPHIQL ?? config.NODE_ENV !== 'production',
      onFault: (requestId, cause) => emit({ type: 'http.bug', requestId, cause }),
    }),
    schedule: warming.schedule,
    metrics: () => metricsReply(metrics),
    openapi: openApiOf(endpoints),
    // A gateway without its store still answers; that all of them are out of service at once would be worse.
    health: () => ({ isReady: true, reasons: cache.storeHealth().isUp ? [] : ['store_down'] }),
    limits: connectionLimits(config),
    cors: { origins: config.CORS_ORIGINS },
    compat: config.COMPAT,
    emit,
  });
  metrics.read({
    connections: http.connections,
    unreadBytes: http.unreadBytes,
    droppedLogLines: () => log?.droppedLines ?? 0,
  });
  return {
    server: http.server,
    http,
    endpoints,
    close: async (options = { quietMs: 0, deadlineMs: Infinity }) => {
      await http.stop(options);
      tokens.close();
      await warming.close();
      await redactor.close();
      await close();
    },
  };
}

/**
 * Puts a worker together: it warms what gateways read, over the Redis that it shares with them.
 * @returns ends it
 * @throws Error where there is no such Redis; AggregateError as above
 */
export async function composeWorker(
  config: Config,
  { clock, emit }: Omit<Surroundings, 'accessToken'>,
): Promise<() => Promise<void>> {
  if (!config.REDIS_URL) {
    throw new Error(
      'REDIS_URL is not set: without it the gateway warms its own cache, and there is nothing to share',
    );
  }
  const { endpoints, cache, run, close } = await openCore(config, clock, emit);
  const warming = openWarming(
    config,
    { clock, emit, cache, endpoints, runStatement: run('background') },
    true,
  );
  return async () => {
    await warming.close();
    await close();
  };
}

/** What gateways and workers have alike. */
async function openCore(config: Config, clock: Clock, emit: (event: GatewayEvent) => void) {
  await mkdir(config.DATA_DIR, { recursive: true });
  const engine = guardEngine(await openEngine(config, { clock, emit }), { clock, emit });
  const endpoints = await createEndpointRegistry({
    directory: config.SQL_DIR,
    check: definition => checkDefinition(engine, definition),
    emit,
  });
  const cache = createCache({
    ...openTiers(config, clock),
    maxEntryBytes: config.CACHE_MAX_ENTRY_MB * 1024 * 1024,
    clock,
    emit,
  });
  await cache.connect();
  const queryTimeoutMs = config.QUERY_TIMEOUT_MS;
  const run =
    (priority: QueryPriority): RunStatement =>
    (statement, terms) =>
      runQuery({ engine, emit, queryTimeoutMs, priority }, statement, terms);
  const close = async () => {
    endpoints.close();
    await cache.close();
    await engine.close();
  };
  return { engine, endpoints, cache, run, close };
}

/** Queries of one batch form wait for each other so many milliseconds; by default no query waits. */
function gatherFor(gatherMs: number, run: RunStatement): RunEndpointQuery {
  if (gatherMs === 0) return (query, terms) => run(statementOf(query), terms);
  return gatherQueries(run, flush => setTimeout(flush, gatherMs));
}

/**
 * The store and the memory before it. Where the store is in this process too, they share the bytes: a quarter for the entries
 * in use, which are plain, the rest for the store, which compresses.
 */
function openTiers({ REDIS_URL, CACHE_MEMORY_MB }: Config, clock: Clock) {
  const bytes = CACHE_MEMORY_MB * 1024 * 1024;
  if (REDIS_URL) return { store: createRedisStore({ url: REDIS_URL }), memoryBytes: bytes };
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

async function metricsReply(metrics: Metrics): Promise<Reply> {
  return {
    status: 200,
    headers: { 'content-type': metrics.contentType, 'cache-control': 'no-store' },
    body: Buffer.from(await metrics.render()),
  };
}

/** The OpenAPI document of what is served now, built once for each change: everybody may ask for it, token or not. */
function openApiOf(endpoints: EndpointRegistry): () => Buffer {
  let version: number | undefined;
  let document = Buffer.alloc(0);
  return () => {
    if (version !== endpoints.version) {
      version = endpoints.version;
      document = Buffer.from(JSON.stringify(buildOpenApi(endpoints.all())));
    }
    return document;
  };
}
