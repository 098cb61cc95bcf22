import type { Tokens } from '../auth/tokens.ts';
import type { Cache } from '../cache/cache.ts';
import { placesOf } from '../endpoints/parse-definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import type { SourceWatch } from '../endpoints/watch-sources.ts';
import type { Engine } from '../engine/engine.ts';
import type { GuardedEngine } from '../engine/guard-engine.ts';
import type { HttpServer } from '../http/http-server.ts';
import type { Health } from '../http/routes.ts';
import type { Readings } from '../telemetry/metrics.ts';
import type { Config } from './config.ts';
import { type FreeBytes, minFreeBytes } from './free-bytes.ts';

type Read = {
  readonly http: HttpServer;
  readonly log: { readonly droppedLines: number } | undefined;
  readonly engine: Pick<Engine, 'usage'>;
  readonly endpoints: Pick<EndpointRegistry, 'broken'>;
  readonly sourceWatch: Pick<SourceWatch, 'broken'>;
  readonly tokens: Pick<Tokens, 'isStale'>;
  readonly freeBytes: Pick<FreeBytes, 'read'>;
};

/** The readings of a gateway, for the metrics. */
export function readingsOf({ http, log, engine, endpoints, sourceWatch, tokens, freeBytes }: Read): Readings {
  return {
    connections: http.connections,
    unreadBytes: http.unreadBytes,
    droppedLogLines: () => log?.droppedLines ?? 0,
    engine: engine.usage,
    freeBytes: freeBytes.read,
    brokenEndpoints: () => endpoints.broken.length,
    brokenSources: () => sourceWatch.broken.length,
    areTokensStale: () => tokens.isStale,
  };
}

type Watched = {
  readonly cache: Pick<Cache, 'storeHealth'>;
  readonly engine: Pick<GuardedEngine, 'isDown'>;
  readonly endpoints: Pick<EndpointRegistry, 'broken'>;
  readonly sourceWatch: Pick<SourceWatch, 'broken'>;
  readonly tokens: Pick<Tokens, 'isStale'>;
  readonly freeBytes: Pick<FreeBytes, 'read'>;
};

/** The state for `/readyz`, with the reasons if something is degraded; names files only if everyone may read the saved queries. */
export function healthOf(
  { DOCUMENTS_NEED_TOKEN }: Config,
  { cache, engine, endpoints, sourceWatch, tokens, freeBytes }: Watched,
): Health {
  const broken = [...endpoints.broken, ...sourceWatch.broken].flatMap(placesOf);
  const reasons = [
    ...(cache.storeHealth().isUp ? [] : ['store_down']),
    ...(endpoints.broken.length > 0 ? ['saved_query_broken'] : []),
    ...(sourceWatch.broken.length > 0 ? ['source_broken'] : []),
    ...(tokens.isStale ? ['tokens_stale'] : []),
    ...(freeBytes.read() < minFreeBytes ? ['disk_full'] : []),
    ...(engine.isDown ? ['engine_down'] : []),
  ];
  // Ready even without the store: otherwise all gateways would be out of service at once.
  return { isReady: true, reasons, ...(broken.length > 0 && !DOCUMENTS_NEED_TOKEN && { broken }) };
}
