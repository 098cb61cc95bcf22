import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { GatewayEvent } from '../events.ts';

/** Counts what happens, for a scraper to read. */
export type Metrics = {
  /** Counts an event. */
  observe(event: GatewayEvent): void;
  /** All metrics in Prometheus' text format. */
  render(): Promise<string>;
  /** The media type of that text. */
  readonly contentType: string;
};

/** Seconds, from a hit in memory to a query at its deadline. */
const buckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30];

/**
 * Makes metrics that are all zero. Labels are names of endpoints, states, stages and codes: never a parameter's value, a
 * token or SQL. `docs/metrics.md` lists them; a test keeps the two equal.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const instruments = createInstruments(registry);
  collectDefaultMetrics({ register: registry });
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    observe: event => count(instruments, event),
  };
}

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const storeUp = new Gauge({ name: 'cache_store_up', help: '1 while the store answers.', registers });
  storeUp.set(1);
  return {
    queries: counter('engine_queries_total', 'Queries that the engine was given.', ['endpoint', 'outcome']),
    querySeconds: histogram('engine_query_seconds', 'Time of the queries.', ['endpoint']),
    reads: counter('cache_requests_total', 'Answers by the state of their cache entry.', ['endpoint', 'state']),
    failures: counter('endpoint_errors_total', 'Requests to an endpoint that failed.', ['code']),
    stageSeconds: histogram('pipeline_stage_seconds', "Time of the pipeline's stages.", ['stage']),
    refusals: counter('cache_refused_writes_total', 'Entries that came after the lease on them had ended.', ['endpoint']),
    waits: counter('cache_waits_total', "Requests that waited for another gateway's query.", ['endpoint']),
    storeErrors: counter('cache_store_errors_total', 'Calls to the store that failed.', ['operation']),
    storeUp,
    http: counter('http_requests_total', 'HTTP answers.', ['method', 'status']),
    httpSeconds: histogram('http_request_seconds', 'Time from the request line to the end of the answer.', ['method']),
  }; // biome-ignore format: a table
}

function count(to: Instruments, event: GatewayEvent): void {
  switch (event.type) {
    case 'http.answered':
      to.http.inc({ method: event.method, status: event.status });
      to.httpSeconds.observe({ method: event.method }, event.ms / 1000);
      return;
    case 'endpoint.answered':
      to.reads.inc({ endpoint: event.endpoint, state: event.cache });
      for (const { name, ms } of event.stages) to.stageSeconds.observe({ stage: name }, ms / 1000);
      return;
    case 'endpoint.failed':
      to.failures.inc({ code: event.code });
      return;
    case 'engine.query':
      to.queries.inc({ endpoint: event.endpoint, outcome: event.outcome });
      to.querySeconds.observe({ endpoint: event.endpoint }, event.ms / 1000);
      return;
    case 'cache.refused':
      to.refusals.inc({ endpoint: event.endpoint });
      return;
    case 'cache.waiting':
      to.waits.inc({ endpoint: event.endpoint });
      return;
    case 'store.failed':
      to.storeErrors.inc({ operation: event.operation });
      return;
    case 'store.up':
    case 'store.down':
      to.storeUp.set(event.type === 'store.up' ? 1 : 0);
  }
}
