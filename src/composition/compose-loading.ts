import type { Clock } from '../base/clock.ts';
import type { Cache } from '../cache/cache.ts';
import { readCurrent } from '../duckdb/replicas.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import type { Source } from '../endpoints/source.ts';
import { readSourceFolder, type SourceTexts } from '../endpoints/sources.ts';
import { watchFolder } from '../endpoints/watch-folder.ts';
import type { SourceWatch } from '../endpoints/watch-sources.ts';
import type { Engine } from '../engine/engine.ts';
import type { LoadingDeps } from '../http/answer-rows.ts';
import { followLoads } from '../loading/follow-loads.ts';
import { createLoader } from '../loading/loader.ts';
import { createRetentionClock, withRetention } from '../loading/retention.ts';
import { createLoadMarker } from '../pipeline/mark-loaded.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { databasePath } from './compose-engine.ts';
import type { Config } from './config.ts';

type OpenLoadingDeps = {
  readonly endpoints: EndpointRegistry;
  readonly engine: Engine;
  readonly sourceWatch: SourceWatch;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
};

/** Milliseconds between two additions to the sample. */
const sampleMs = 60_000;

/** Maximum edge rows of a sample that grows: a larger one would be copied for the first addition. */
const maxGrowingSample = 1_000_000;

/** Milliseconds between two checks whether another hour has begun. */
const retainLookMs = 1000;

/** Opens the loading of rows into the embedded engine, and follows what any process loads into it. */
export function openLoading(
  config: Config,
  deps: OpenLoadingDeps,
): (LoadingDeps & { growSample(): void; close(): Promise<void> }) | undefined {
  if (config.ENGINE !== 'duckdb') return undefined;
  const path = databasePath(config);
  const retention = { days: config.RETENTION_DAYS, megabytes: config.RETENTION_MB };
  const now = createRetentionClock(deps.clock, deps.emit);
  const loader = createLoader({
    databasePath: path,
    sourcesDirectory: config.SOURCES_DIR,
    retention,
    emit: deps.emit,
    now,
  });
  const mark = createLoadMarker({ ...deps, loadedMs: readCurrent(path).publishedMs });
  const unfollow = followLoads({
    databasePath: path,
    onLoaded: sources => void mark(sources),
    onAbandoned: () => loader.wake(),
  });
  const read = (texts?: SourceTexts) =>
    withRetention(readSourceFolder(config.SOURCES_DIR, texts).sources, retention);
  let sources = read();
  const watcher = watchFolder(config.SOURCES_DIR, {
    async onChange() {
      const texts = loader.takeNewSources();
      if (!texts) return;
      const before = new Set(sources.map(({ name }) => name));
      sources = read(texts);
      for (const { name } of sources) {
        if (!before.has(name)) deps.emit({ type: 'source.loaded', source: name });
      }
    },
    // Problems with the folder are reported by the watch of its files.
    onFailed: () => undefined,
  });
  const stopRetaining = retainHourly(() => sources, now, loader.retain);
  let sampling: NodeJS.Timeout | undefined;
  return {
    /** Keeps adding sample rows as time passes, so that the last hour is never empty. */
    growSample() {
      const { SAMPLE_ROWS: rows } = config;
      if (rows === 0 || rows > maxGrowingSample) return;
      sampling = setInterval(() => loader.updateSample({ rows, nowMs: deps.clock.now() }), sampleMs).unref();
    },
    loader,
    get sources() {
      return sources;
    },
    isLeftOut: deps.sourceWatch.isLeftOut,
    async close() {
      clearInterval(sampling);
      stopRetaining();
      unfollow();
      watcher.close();
      await loader.close();
    },
  };
}

/**
 * Starts to remove the old rows of sources with a retention, at start and once an hour: retention counts in whole hours.
 * @returns a function that stops this
 */
function retainHourly(sources: () => readonly Source[], now: () => number, retain: () => void): () => void {
  let lastHour: number | undefined;
  const look = () => {
    const hour = Math.floor(now() / 3_600_000);
    if (hour === lastHour) return;
    lastHour = hour;
    const isBounded = ({ retentionDays, retentionMb }: Source) =>
      (retentionDays ?? retentionMb) !== undefined;
    if (sources().some(isBounded)) retain();
  };
  const timer = setInterval(look, retainLookMs).unref();
  return () => clearInterval(timer);
}
