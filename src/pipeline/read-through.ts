import type { Clock } from '../clock.ts';
import type { ResultSet } from '../rows.ts';
import type { Store } from '../store/store.ts';
import type { CacheKey } from './cache-key.ts';
import { decodeEntry, type Entry, encodeEntry } from './entry.ts';
import type { CacheState, PipelineEvent } from './pipeline-events.ts';
import type { SingleFlight } from './single-flight.ts';

export type ReadThroughDeps = {
  readonly store: Store;
  readonly flights: SingleFlight<Entry>;
  readonly clock: Clock;
  readonly emit: (event: PipelineEvent) => void;
};

type ReadThroughOptions = {
  /** 0 = not cached: every call loads. */
  readonly cacheSeconds: number;
  readonly signal: AbortSignal;
  readonly load: (signal: AbortSignal) => Promise<ResultSet>;
};

/**
 * Gives the stored entry of a key while it is fresh, else loads and stores it.
 * Callers of one key share one load. A store that fails is a miss, never a failed request; errors are not stored.
 */
export async function readThrough(
  deps: ReadThroughDeps,
  key: CacheKey,
  { cacheSeconds, signal, load }: ReadThroughOptions,
): Promise<{ entry: Entry; state: CacheState }> {
  const toEntry = (rows: ResultSet) => renderEntry(key, rows, deps.clock.now());
  if (cacheSeconds === 0) return { entry: toEntry(await load(signal)), state: 'off' };

  const stored = await readEntry(deps, key);
  const isFresh = stored && deps.clock.now() < stored.createdAtMs + cacheSeconds * 1000;
  if (isFresh) return { entry: stored, state: 'hit' };

  const entry = await deps.flights(key.digest, signal, async lastWaiterGone => {
    const loaded = toEntry(await load(lastWaiterGone));
    await writeEntry(deps, key, loaded, cacheSeconds * 1000);
    return loaded;
  });
  return { entry, state: 'miss' };
}

function renderEntry(key: CacheKey, { columns, rowsJson, rowCount }: ResultSet, createdAtMs: number): Entry {
  const body = Buffer.concat([Buffer.from('{"result":'), rowsJson, Buffer.from('}')]);
  return { canonical: key.canonical, createdAtMs, columns, rowCount, body };
}

async function readEntry({ store, emit }: ReadThroughDeps, key: CacheKey): Promise<Entry | undefined> {
  try {
    const bytes = await store.get(key.digest);
    return bytes && decodeEntry(bytes, key.canonical);
  } catch (error) {
    emit({ type: 'store.failed', operation: 'get', message: String(error) });
    return undefined;
  }
}

async function writeEntry(
  { store, emit }: ReadThroughDeps,
  key: CacheKey,
  entry: Entry,
  ttlMs: number,
): Promise<void> {
  try {
    await store.set(key.digest, encodeEntry(entry), ttlMs);
  } catch (error) {
    emit({ type: 'store.failed', operation: 'set', message: String(error) });
  }
}
