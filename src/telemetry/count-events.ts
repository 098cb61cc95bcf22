import { Counter, Gauge, type Registry } from 'prom-client';
import type { Receipt } from '../base/rows.ts';
import type { GatewayEvent } from './events.ts';
import { registerMetric, type Value } from './register-metric.ts';

/** Makes the subscriber that counts events in a registry, and passes each of them on. */
export function countEvents(
  registry: Registry,
  next: (event: GatewayEvent) => void,
): (event: GatewayEvent) => void {
  const instruments = createInstruments(registry);
  return event => {
    const count = counters[event.type] as ((to: Instruments, event: GatewayEvent) => void) | undefined; // the one for its type
    count?.(instruments, event);
    next(event);
  };
}

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments(registry: Registry) {
  const { counter, histogram } = createInstrumentFactory(registry);
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const storeUp = gauge('cache_store_up', '1 while the store of the cache answers.');
  storeUp.set(1);
  const stalls = new Counter({
    name: 'event_loop_stalls_total',
    help: 'Times that the event loop came back more than 100 ms late: every request waited for it.',
    registers: [registry],
  });
  const engineUp = gauge(
    'engine_up',
    '0 while the engine is not asked, because it did not answer several times in a row.',
  );
  engineUp.set(1);
  const running = gauge('engine_queries_running', 'Queries under way, by endpoint.', ['endpoint']);
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

/** How an event is counted. */
type Counters = {
  readonly [Type in GatewayEvent['type']]?: (
    to: Instruments,
    event: Extract<GatewayEvent, { type: Type }>,
  ) => void;
};

const counters: Counters = {
  'http.answered': (to, { method, status, ms }) => {
    to.http.inc(method, String(status));
    to.httpSeconds.observe(ms / 1000, method);
  },
  'http.refused': (to, { code }) => {
    if (tokenCodes.has(code)) to.tokenRefusals.inc(code);
  },
  'http.connection_ended': (to, { reason }) => to.connectionsEnded.inc(reason),
  'endpoint.answered': (to, { endpoint, cache, ms, savedBytes, isWarmed, stages }) => {
    to.reads.inc(endpoint, cache);
    to.endpointSeconds.observe(ms / 1000, endpoint, cache);
    if (savedBytes > 0) to.savedBytes.add(savedBytes, endpoint);
    if (isWarmed) to.warmedReads.inc(endpoint);
    for (const stage of stages) to.stageSeconds.observe(stage.ms / 1000, stage.name);
  },
  'endpoint.failed': (to, { code }) => to.failures.inc(code),
  'process.stalled': to => to.stalls.inc(),
  'token.spent': (to, { bytes, tokenId }) => to.tokenBytes.add(bytes, to.tokenLabel(tokenId)),
  'engine.up': to => to.engineUp.set(1),
  'engine.down': to => to.engineUp.set(0),
  'engine.query_started': (to, { endpoint }) => to.running.inc({ endpoint }),
  'engine.query': (to, { endpoint, outcome, ms, receipt }) => {
    to.running.dec({ endpoint });
    to.queries.inc(endpoint, outcome);
    to.querySeconds.observe(ms / 1000, endpoint);
    if (receipt) countReceipt(to, endpoint, receipt);
  },
  'cache.refused': (to, { endpoint }) => to.refusals.inc(endpoint),
  'cache.too_large': (to, { endpoint }) => to.tooLarge.inc(endpoint),
  'cache.waiting': (to, { endpoint }) => to.waits.inc(endpoint),
  'warehouse.retried': (to, { reason }) => to.warehouseRetries.inc(reason),
  'warehouse.job_replaced': (to, { endpoint, mayBeBilled }) =>
    to.replacedJobs.inc(endpoint, String(mayBeBilled)),
  'store.failed': (to, { operation }) => to.storeErrors.inc(operation),
  'store.up': to => to.storeUp.set(1),
  'store.down': to => to.storeUp.set(0),
};

function countReceipt(to: Instruments, endpoint: string, receipt: Receipt): void {
  const { bytesProcessed, bytesBilled = 0, slotMs = 0 } = receipt;
  to.bytesProcessed.add(bytesProcessed, endpoint);
  to.bytesBilled.add(bytesBilled, endpoint);
  to.slotSeconds.add(slotMs / 1000, endpoint);
}

/** A counter of events or amounts, by the values of one or two labels. */
type EventCounter = {
  inc(first: string, second?: string): void;
  add(amount: number, first: string, second?: string): void;
};

/** A histogram of times, by the values of one or two labels. */
type Histogram = { observe(seconds: number, first: string, second?: string): void };

/** Upper bounds in seconds, from a hit in memory to a query at its deadline. */
const bounds = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30];

/**
 * Makes counters and histograms that cost a hit next to nothing: an event is one look-up and one addition, whereas
 * prom-client sorts and joins the labels each time. The values take prom-client's form only when the metrics are read.
 */
function createInstrumentFactory(registry: Registry) {
  const register = (type: string, name: string, help: string, read: () => Value[]) =>
    registerMetric(registry, { name, help, type, read });

  return {
    counter(name: string, help: string, labelNames: readonly string[]): EventCounter {
      // A map of maps: looking up two existing strings is faster than joining them.
      const counts = new Map<string, Map<string, number>>();
      register('counter', name, help, () =>
        [...counts].flatMap(([first, inner]) =>
          [...inner].map(([second, value]) => ({ labels: pair(labelNames, [first, second]), value })),
        ),
      );
      const add = (amount: number, first: string, second = '') => {
        const inner = counts.get(first);
        if (inner) inner.set(second, (inner.get(second) ?? 0) + amount);
        else counts.set(first, new Map([[second, amount]]));
      };
      return { add, inc: (first, second) => add(1, first, second) };
    },
    histogram(name: string, help: string, labelNames: readonly string[]): Histogram {
      const series = new Map<string, Map<string, Series>>();
      register('histogram', name, help, () =>
        [...series].flatMap(([first, inner]) =>
          [...inner].flatMap(([second, each]) => valuesOf(name, pair(labelNames, [first, second]), each)),
        ),
      );
      return {
        observe(seconds, first, second = '') {
          let inner = series.get(first);
          if (!inner) {
            inner = new Map();
            series.set(first, inner);
          }
          let found = inner.get(second);
          if (!found) {
            found = { sum: 0, within: new Float64Array(bounds.length + 1) };
            inner.set(second, found);
          }
          let at = 0;
          while (at < bounds.length && seconds > bounds[at]!) at++;
          found.within[at]!++;
          found.sum += seconds;
        },
      };
    },
  };
}

type Series = {
  sum: number;
  /** Observations by the first bound that they do not exceed; the last element counts those beyond. */
  readonly within: Float64Array;
};

function pair(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}

/** The lines of a histogram. Buckets are cumulative, as Prometheus requires. */
function valuesOf(name: string, labels: Record<string, string>, { sum, within }: Series): Value[] {
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, at) => {
    count += within[at]!;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(le) }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
