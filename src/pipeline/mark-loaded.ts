import type { Clock } from '../base/clock.ts';
import type { Cache } from '../cache/cache.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { withoutValue } from '../endpoints/parameters/read-parameter.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import type { Engine } from '../engine/engine.ts';

type MarkDeps = {
  readonly endpoints: Pick<EndpointRegistry, 'all'>;
  readonly engine: Pick<Engine, 'explain' | 'subsets'>;
  readonly cache: Pick<Cache, 'invalidateGroup' | 'markStale'>;
  readonly clock: Clock;
  /** When rows were last loaded before this process started; milliseconds since 1970. Absent: never. */
  readonly loadedMs?: number | undefined;
};

/** Maximum milliseconds for finding the sources of a saved query. */
const explainMs = 10_000;

/**
 * Makes the function to call when new rows of some sources become visible to queries. It invalidates the entries of saved queries that
 * read those sources, so that the next request gets the new rows. If rows keep coming within `cacheSeconds`, the entries become stale
 * instead and are served while one refresh runs: otherwise an endpoint over a stream of rows would never have a hit.
 */
export function createLoadMarker({ endpoints, engine, cache, clock, loadedMs }: MarkDeps) {
  const sourcesOf = new Map<string, readonly string[]>();
  /** By endpoint: when rows of its sources came last. */
  const lastLoads = new Map<string, number>();
  // Entries in Redis may be older than those rows, whose sources are no longer known: all endpoints are stale.
  if (loadedMs !== undefined && loadedMs <= clock.now())
    for (const { id } of endpoints.all()) cache.markStale(id, loadedMs);

  /** The sources of a saved query, including those that only callers' SQL can read. */
  async function sourcesFor(definition: EndpointDefinition): Promise<readonly string[]> {
    const { name: endpoint, sql, parameters, maxRows, sandbox } = definition;
    const statement = { endpoint, sql, parameters: parameters.map(withoutValue), maxRows };
    const options = { signal: new AbortController().signal, timeoutMs: explainMs };
    const { sources } = await engine.explain(statement, options);
    const subsets = sandbox ? await engine.subsets(statement) : [];
    if (subsets.length === 0) return sources;
    const callerSql = subsets.map(({ name }) => `select 1 as n from \`${name}\``).join(' union all ');
    const { sources: ofSubsets } = await engine.explain({ ...statement, callerSql }, options);
    return [...sources, ...ofSubsets];
  }

  async function readsAnyOf(definition: EndpointDefinition, sources: readonly string[]): Promise<boolean> {
    const read = sourcesOf.get(definition.hash) ?? (await sourcesFor(definition));
    sourcesOf.set(definition.hash, read);
    return read.some(source => sources.includes(source));
  }

  return async (sources: readonly string[]): Promise<void> => {
    const nowMs = clock.now();
    for (const definition of endpoints.all()) {
      const { id, name, cacheSeconds } = definition;
      // A saved query that can't be explained, for instance while the engine is down, counts as a reader.
      const isReader = cacheSeconds > 0 && (await readsAnyOf(definition, sources).catch(() => true));
      if (!isReader) continue;
      const beforeMs = lastLoads.get(id) ?? -Infinity;
      lastLoads.set(id, nowMs);
      cache.markStale(id);
      // A store that does not answer has been reported; here the entries are stale.
      if (nowMs - beforeMs >= cacheSeconds * 1000) {
        await cache.invalidateGroup(name, id).catch(() => undefined);
      }
    }
  };
}
