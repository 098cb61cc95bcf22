import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { EngineUsage } from '../engine/engine.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { countEvents } from './count-events.ts';
import type { GatewayEvent } from './events.ts';
import { addWarmMetrics } from './warm-metrics.ts';

/** The metrics of this process, for Prometheus to scrape. */
export type Metrics = {
  /** Adds the metrics of warming. */
  watch(schedule: Pick<WarmSchedule, 'state'>): void;
  /** Sets the readings to take at each scrape; before, they are 0. */
  read(readings: Readings): void;
  /** Counts an event, and passes it on. */
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
 * @param next gets each event after it was counted. Default: nobody
 */
export function createMetrics(next: (event: GatewayEvent) => void = () => undefined): Metrics {
  const registry = new Registry();
  const observe = countEvents(registry, next);
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
    observe,
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
