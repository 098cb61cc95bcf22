import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Receipt } from '../base/rows.ts';
import type { EngineUsage } from '../engine/engine.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import type { GatewayEvent } from './events.ts';
import { createInstrumentFactory } from './instrument-factory.ts';
import { addWarmMetrics } from './warm-metrics.ts';

/** The metrics of this process, for Prometheus to scrape. */
export type Metrics = {
  /** Adds the metrics of warming. */
  watch(schedule: Pick<WarmSchedule, 'state'>): void;
  /** Sets the readings to take at each scrape; before, they are 0. */
  read(readings: Readings): void;
  /** Counts an event. */
  observe(event: GatewayEvent): void;
  /** All metrics in Prometheus' text format. */
  render(): Promise<string>;
  /** The media type of that text. */
  readonly contentType: string;
};

/** Values that are not counted by events. */
export type Readings = {
  /** Open connections. */
  readonly connections: () => number;
  /** Bytes of answers that wait for their readers. */
  readonly unreadBytes: () => number;
  readonly droppedLogLines: () => number;
  readonly engine: () => EngineUsage;
  /** Free bytes of the disk that DATA_DIR is on. */
  readonly freeBytes: () => number;
  /** Files of saved queries whose last change is not served. */
  readonly brokenEndpoints: () => number;
  /** Broken files of sources. */
  readonly brokenSources: () => number;
  /** Whether the tokens can't be read. */
  readonly areTokensStale: () => boolean;
};

/**
 * Makes metrics that are all zero. Labels are names of endpoints, states, stages and codes: never a parameter's value, a
 * token or SQL. `docs/metrics.md` lists them; a test keeps the two equal.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const instruments = createInstruments(registry);
  let readings = noReadings;
  addReadings(registry, () => readings);
  collectDefaultMetrics({ register: registry });
  return {
    watch: schedule => addWarmMetrics(registry, schedule),
    read(given) {
      readings = given;
    },
    contentType: registry.contentType,
    render: () => registry.metrics(),
    observe: event => count(instruments, event),
  };
}

const noReadings: Readings = {
  connections: () => 0,
  unreadBytes: () => 0,
  droppedLogLines: () => 0,
  engine: () => ({ waiting: 0, memoryBytes: 0 }),
  freeBytes: () => 0,
  brokenEndpoints: () => 0,
  brokenSources: () => 0,
  areTokensStale: () => false,
};

function addReadings(registry: Registry, readings: () => Readings): void {
  const gauge = (name: string, help: string, read: (from: Readings) => number) => {
    const metric: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => metric.set(read(readings())),
    });
  };
  gauge('http_connections', 'Open connections.', ({ connections }) => connections());
  gauge('http_unread_bytes', 'Bytes of answers that wait for their readers.', ({ unreadBytes }) =>
    unreadBytes(),
  );
  gauge('log_lines_dropped', 'Lines of the log that were dropped because its reader did not keep up.', from =>
    from.droppedLogLines(),
  );
  gauge(
    'engine_queries_waiting',
    'Queries that wait for a place at the engine.',
    from => from.engine().waiting,
  );
  gauge(
    'engine_memory_bytes',
    'Resident memory of the processes of the embedded engine; 0 on BigQuery.',
    from => from.engine().memoryBytes,
  );
  gauge('data_free_bytes', 'Free bytes of the disk that DATA_DIR is on.', from => from.freeBytes());
  gauge('endpoints_broken', 'Files of saved queries whose last change is not served.', from =>
    from.brokenEndpoints(),
  );
  gauge('sources_broken', 'Files of sources that are wrong.', ({ brokenSources }) => brokenSources());
  gauge('tokens_stale', '1 while the tokens can not be read, and those of an earlier reading go on.', from =>
    from.areTokensStale() ? 1 : 0,
  );
}

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments(registry: Registry) {
  const { counter, histogram } = createInstrumentFactory(registry);
  const storeUp = new Gauge({
    name: 'cache_store_up',
    help: '1 while the store of the cache answers.',
    registers: [registry],
  });
  storeUp.set(1);
  const stalls = new Counter({
    name: 'event_loop_stalls_total',
    help: 'Times that the event loop came back more than 100 ms late: every request waited for it.',
    registers: [registry],
  });
  const engineUp = new Gauge({
    name: 'engine_up',
    help: '0 while the engine is not asked, because it did not answer several times in a row.',
    registers: [registry],
  });
  engineUp.set(1);
  const running = new Gauge({
    name: 'engine_queries_running',
    help: 'Queries under way, by endpoint.',
    labelNames: ['endpoint'],
    registers: [registry],
  });
  return {
    queries: counter('engine_queries_total', 'Queries that the engine was given and that ended, by endpoint and outcome: ok, or the code of the error.', ['endpoint', 'outcome']),
    querySeconds: histogram('engine_query_seconds', 'Time of the queries, by endpoint.', ['endpoint']),
    bytesProcessed: counter('engine_bytes_processed_total', 'Bytes that the queries read, by endpoint, where the engine counts them.', ['endpoint']),
    bytesBilled: counter('engine_bytes_billed_total', 'Bytes that the queries were billed, by endpoint, where the engine bills.', ['endpoint']),
    slotSeconds: counter('engine_slot_seconds_total', "Seconds of the warehouse's slots that the queries took, by endpoint.", ['endpoint']),
    reads: counter('cache_requests_total', 'Answers, by endpoint and state of the cache: hit, stale, stale-if-error, miss or off.', ['endpoint', 'state']),
    endpointSeconds: histogram('endpoint_request_seconds', 'Time in the pipeline of the requests that were answered, by endpoint and state of the cache.', ['endpoint', 'state']),
    savedBytes: counter('cache_saved_bytes_total', 'Bytes that answers from the cache would have read from the engine, by endpoint, where it counts them.', ['endpoint']),
    warmedReads: counter('cache_warmed_reads_total', 'Answers from entries that a worker made, by endpoint.', ['endpoint']),
    failures: counter('endpoint_errors_total', 'Requests to endpoints that failed, by code of the error.', ['code']),
    stageSeconds: histogram('pipeline_stage_seconds', "Time of the pipeline's stages, by stage.", ['stage']),
    refusals: counter('cache_refused_writes_total', 'Entries that came after the lease on them had ended, and were not stored, by endpoint.', ['endpoint']),
    tooLarge: counter('cache_too_large_total', 'Answers that were too large to be kept, by endpoint.', ['endpoint']),
    waits: counter('cache_waits_total', "Times that another gateway's query was waited for, by endpoint.", ['endpoint']),
    warehouseRetries: counter('warehouse_retries_total', "Requests that were sent again, by BigQuery's reason for refusing the first.", ['reason']),
    replacedJobs: counter('warehouse_replaced_jobs_total', 'Jobs that were replaced by another one, by endpoint and whether the first may have been billed all the same.', ['endpoint', 'may_be_billed']),
    storeErrors: counter('cache_store_errors_total', 'Calls to the store of the cache that failed, by operation.', ['operation']),
    storeUp,
    engineUp,
    running,
    http: counter('http_requests_total', 'HTTP answers, by method and status.', ['method', 'status']),
    connectionsEnded: counter('http_connections_ended_total', 'Connections that were ended for a limit, or because the rest of an answer could not be written, by reason: slow_sender, slow_reader, unread_limit, connection_limit, or unwritten.', ['reason']),
    tokenRefusals: counter('token_refusals_total', 'Requests that were refused for their token, by code of the error; in GraphQL fields, too.', ['code']),
    tokenBytes: counter('token_bytes_total', 'Bytes that queries read for the requests of a token, by its id: of the first 200 tokens; `other` for further ones, `jwt` for JSON Web Tokens.', ['token_id']),
    httpSeconds: histogram('http_request_seconds', 'Time from the request to the last byte handed to the socket, by method.', ['method']),
    stalls,
    tokenLabel: labelTokens(),
  }; // biome-ignore format: a table
}

/** Maximum number of tokens with a series of their own. */
const maxTokens = 200;

/** Limits the number of series by token: an issuer may have any number of subjects. */
function labelTokens(): (tokenId: string) => string {
  const known = new Set<string>();
  return tokenId => {
    if (tokenId.startsWith('jwt-')) return 'jwt';
    if (known.size < maxTokens) known.add(tokenId);
    return known.has(tokenId) ? tokenId : 'other';
  };
}

/** Codes of errors that mean that a token may not do something, or not now. */
const tokenCodes: ReadonlySet<string> = new Set([
  'unauthorized',
  'forbidden',
  'too_many_requests',
  'quota_exceeded',
]);

function count(to: Instruments, event: GatewayEvent): void {
  switch (event.type) {
    case 'http.answered':
      to.http.inc(event.method, String(event.status));
      to.httpSeconds.observe(event.ms / 1000, event.method);
      return;
    case 'http.refused':
      if (tokenCodes.has(event.code)) to.tokenRefusals.inc(event.code);
      return;
    case 'http.connection_ended':
      to.connectionsEnded.inc(event.reason);
      return;
    case 'endpoint.answered':
      countAnswer(to, event);
      return;
    case 'endpoint.failed':
      to.failures.inc(event.code);
      return;
    case 'process.stalled':
      to.stalls.inc();
      return;
    case 'token.spent':
      to.tokenBytes.add(event.bytes, to.tokenLabel(event.tokenId));
      return;
    case 'engine.up':
    case 'engine.down':
      to.engineUp.set(event.type === 'engine.up' ? 1 : 0);
      return;
    case 'engine.query_started':
      to.running.inc({ endpoint: event.endpoint });
      return;
    case 'engine.query':
      to.running.dec({ endpoint: event.endpoint });
      to.queries.inc(event.endpoint, event.outcome);
      to.querySeconds.observe(event.ms / 1000, event.endpoint);
      if (event.receipt) countReceipt(to, event.endpoint, event.receipt);
      return;
    case 'cache.refused':
      to.refusals.inc(event.endpoint);
      return;
    case 'cache.too_large':
      to.tooLarge.inc(event.endpoint);
      return;
    case 'cache.waiting':
      to.waits.inc(event.endpoint);
      return;
    case 'warehouse.retried':
      to.warehouseRetries.inc(event.reason);
      return;
    case 'warehouse.job_replaced':
      to.replacedJobs.inc(event.endpoint, String(event.mayBeBilled));
      return;
    case 'store.failed':
      to.storeErrors.inc(event.operation);
      return;
    case 'store.up':
    case 'store.down':
      to.storeUp.set(event.type === 'store.up' ? 1 : 0);
  }
}

function countReceipt(to: Instruments, endpoint: string, receipt: Receipt): void {
  const { bytesProcessed, bytesBilled = 0, slotMs = 0 } = receipt;
  to.bytesProcessed.add(bytesProcessed, endpoint);
  to.bytesBilled.add(bytesBilled, endpoint);
  to.slotSeconds.add(slotMs / 1000, endpoint);
}

function countAnswer(to: Instruments, event: Extract<GatewayEvent, { type: 'endpoint.answered' }>): void {
  to.reads.inc(event.endpoint, event.cache);
  to.endpointSeconds.observe(event.ms / 1000, event.endpoint, event.cache);
  if (event.savedBytes > 0) to.savedBytes.add(event.savedBytes, event.endpoint);
  if (event.isWarmed) to.warmedReads.inc(event.endpoint);
  for (const { name, ms } of event.stages) to.stageSeconds.observe(ms / 1000, name);
}
