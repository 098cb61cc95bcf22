import type { Clock } from '../base/clock.ts';
import { type ErrorCode, GatewayError, toGatewayError } from '../base/errors.ts';
import type { Receipt } from '../base/rows.ts';
import type { Joined } from '../base/turns.ts';
import type { Store } from '../store/store.ts';
import type { CacheEvent } from './cache-events.ts';
import type { CacheKey, CacheRequest } from './cache-request.ts';
import type { Entry } from './entry.ts';
import { type Freshness, freshnessOf, isDrawnEarly } from './freshness.ts';
import { type GuardedStore, guardStore, type StoreHealth } from './guarded-store.ts';
import { createLoader, isDependencyFailure, type Loader } from './loader.ts';
import { createLocalEntries, type LocalEntries } from './local-entries.ts';
import { createNotifier } from './notifier.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';
import { createStoredEntries, type StoredEntries } from './stored-entries.ts';

const defaultMaxEntryBytes = 8 * 1024 * 1024;

export type CacheOptions = {
  readonly store: Store;
  /** Milliseconds that one request waits for the store (contract 5.13). Default 50. */
  readonly storeTimeoutMs?: number;
  readonly clock: Clock;
  readonly emit: (event: CacheEvent) => void;
  /** Total bytes of the entries that this process keeps; 0 = every read asks the store. */
  readonly memoryBytes: number;
  /** Maximum bytes of a body that is kept, here or in the store; larger ones are queried for each request. Default 8 MiB. */
  readonly maxEntryBytes?: number;
  /** In [0, 1). Default: the system's. */
  readonly random?: () => number;
};

export type ReadOptions = {
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
  /** Whether the rows must be those of a query that begins after the call, whatever the cache holds. Default false. */
  readonly mustLoad?: boolean;
  /**
   * Called before a query would run: returns the error for a caller who may not run one. That caller gets an entry that may still be
   * served, stale or not, else this error. Default: every caller may.
   */
  readonly refusal?: (() => Promise<GatewayError | undefined>) | undefined;
};

/**
 * Where an answer came from: a fresh entry (`hit`), an older one while a refresh runs (`stale`), an older one because the query
 * fails (`stale-if-error`), or a query that ran for the request (`miss`).
 */
export type EntryState = 'hit' | 'stale' | 'stale-if-error' | 'miss';

export type CacheAnswer = {
  readonly entry: Entry;
  readonly state: EntryState;
  /** Cost of the query that ran for this answer; never stored, so a hit has none. */
  readonly receipt?: Receipt;
  /** Whether rows were loaded after the query of this answer had begun: for the next request the entry is not fresh. */
  readonly isOutdated?: boolean;
};

/** The one cache of all handlers (contract 5.3, 5.5): this process's memory before a store that all gateways share. */
export type Cache = {
  /** The entry in this process's memory if it is fresh and cannot have been replaced in the store; never waits. */
  peek(request: CacheRequest): Entry | undefined;
  /**
   * Asks the store whether an entry that was read before is still the current one of its key, and fresh: for callers that keep
   * something derived from it. Entries confirmed in one turn of the event loop share one call to the store.
   * @returns false also if the store does not answer
   */
  confirm(request: CacheRequest, entry: Entry): Promise<boolean>;
  /**
   * Answers from the nearest tier with a usable entry; otherwise runs the query, once among all gateways.
   * @throws GatewayError of the query if no entry may be served instead; errors are not stored
   */
  read(request: CacheRequest, options: ReadOptions): Promise<CacheAnswer>;
  /**
   * Makes the next entry of a key although no request asked for it (contract 6.1).
   * @param everyMs milliseconds until the next call; nothing runs now if the entry is new and will still be fresh then
   * @param signal aborted when the worker stops
   * @returns `busy` if another gateway is making it, or the signal has aborted
   * @throws GatewayError of the query
   */
  warm(request: CacheRequest, everyMs: number, signal: AbortSignal): Promise<'refreshed' | 'fresh' | 'busy'>;
  /**
   * Invalidates one entry, in all gateways.
   * @throws GatewayError `unavailable` if the store does not answer: then only the entry of this gateway is removed
   */
  invalidateEntry(endpoint: string, key: CacheKey): Promise<void>;
  /** Invalidates all entries of an endpoint, in all gateways; errors as above. */
  invalidateGroup(endpoint: string, group: string): Promise<void>;
  /**
   * Treats the entries of an endpoint as stale, in this process, if their query began at `untilMs` or earlier, on whichever gateway:
   * the rows have changed since.
   * @param untilMs milliseconds since 1970. Default: now
   */
  markStale(group: string, untilMs?: number): void;
  /** Waits up to a second for the store's connection; resolves without one too: the cache works without the store. */
  connect(): Promise<void>;
  /** Whether the store answers, and if not why; at most two seconds old, and read without asking the store. */
  storeHealth(): StoreHealth;
  /** Ends the background refreshes, then closes the store. */
  close(): Promise<void>;
};

type Parts = {
  readonly clock: Clock;
  readonly random: () => number;
  readonly store: GuardedStore;
  readonly local: LocalEntries;
  readonly stored: StoredEntries;
  readonly loader: Loader;
  readonly flights: SingleFlight<CacheAnswer>;
  /** By group: entries whose query began until then are no longer fresh; milliseconds since 1970. */
  readonly staleUntil: Map<string, number>;
};

/** Makes a cache over a store. */
export function createCache(options: CacheOptions): Cache {
  const { clock, emit, memoryBytes, maxEntryBytes = defaultMaxEntryBytes, random = Math.random } = options;
  const store = guardStore(options.store, { emit, budgetMs: options.storeTimeoutMs });
  const local = createLocalEntries(memoryBytes);
  const notifier = createNotifier();
  store.subscribe(message => {
    notifier.notify(message);
    local.receive(message);
  });
  const parts: Parts = {
    store,
    local,
    stored: createStoredEntries({ store, local, clock }),
    loader: createLoader({ store, local, notifier, clock, emit, random, maxEntryBytes }),
    flights: createSingleFlight(),
    clock,
    random,
    staleUntil: new Map(),
  };
  return {
    peek: request => peek(parts, request),
    confirm: (request, entry) => confirm(parts, request, entry),
    read: (request, readOptions) => read(parts, request, readOptions),
    warm: (request, everyMs, signal) => warm(parts, request, everyMs, signal),
    async invalidateEntry(endpoint, { digest }) {
      local.remove(digest);
      await invalidateStore(store, 'remove', digest);
      emit({ type: 'cache.invalidated', endpoint, scope: 'entry' });
    },
    async invalidateGroup(endpoint, group) {
      local.generations.forget(group);
      await invalidateStore(store, 'bumpGeneration', group);
      emit({ type: 'cache.invalidated', endpoint, scope: 'endpoint' });
    },
    markStale: (group, untilMs = clock.now()) => void parts.staleUntil.set(group, untilMs),
    connect: () => store.connect(),
    storeHealth: () => store.health(),
    async close() {
      await parts.loader.close();
      await store.close();
    },
  };
}

/** Milliseconds since an entry's query began; at least its fresh time if rows were loaded since. */
function ageOf(parts: Parts, entry: Entry, request: CacheRequest): number {
  const ageMs = parts.clock.now() - entry.createdAtMs;
  return isOutdated(parts, entry, request) ? Math.max(ageMs, request.lifetimes.freshMs) : ageMs;
}

/** What an entry is worth to a request; without one, the same as if it were gone. */
function freshnessFor(parts: Parts, entry: Entry | undefined, request: CacheRequest): Freshness {
  return entry ? freshnessOf(ageOf(parts, entry, request), request.lifetimes) : 'gone';
}

/** Whether rows were loaded since the query of an entry began. */
function isOutdated({ staleUntil, clock }: Parts, entry: Entry, { key: { group } }: CacheRequest): boolean {
  const untilMs = staleUntil.get(group) ?? -Infinity;
  const nowMs = clock.now();
  // The clock was set back: until it has caught up, all entries would be outdated, however new.
  if (untilMs > nowMs) staleUntil.set(group, nowMs);
  return entry.createdAtMs <= Math.min(untilMs, nowMs);
}

/** The answer of a query that ran for it; an earlier one that it joined may have begun before rows were loaded. */
function loadedAnswer(
  parts: Parts,
  loaded: Pick<CacheAnswer, 'entry' | 'receipt'>,
  request: CacheRequest,
): CacheAnswer {
  return { ...loaded, state: 'miss', isOutdated: isOutdated(parts, loaded.entry, request) };
}

function peek(parts: Parts, request: CacheRequest): Entry | undefined {
  const { local, store, loader, random } = parts;
  const { key, lifetimes } = request;
  // While the store is down, memory is all there is.
  const entry = store.isUp ? local.getTrusted(key) : local.get(key);
  if (!entry) return undefined;
  const ageMs = ageOf(parts, entry, request);
  if (freshnessOf(ageMs, lifetimes) !== 'fresh') return undefined;
  if (isDrawnEarly(ageMs, entry.loadMs, lifetimes.freshMs, 1 - random()))
    loader.refresh(request, entry, 'early');
  return entry;
}

async function confirm(parts: Parts, request: CacheRequest, entry: Entry): Promise<boolean> {
  const isFresh = () => freshnessFor(parts, entry, request) === 'fresh';
  if (!isFresh()) return false;
  // If the store has a newer entry, this puts it in memory, where the unconfirmed request finds it.
  const { entry: newest } = await parts.stored.newest(request, entry);
  return newest === entry && isFresh();
}

async function read(
  parts: Parts,
  request: CacheRequest,
  { signal, mustLoad = false, refusal }: ReadOptions,
): Promise<CacheAnswer> {
  const known = mustLoad ? undefined : peek(parts, request);
  if (known) return { entry: known, state: 'hit' };
  const refused = refusal && (await refusal());
  if (refused) return readStored(parts, request, refused);
  if (mustLoad) {
    const askedAtMs = parts.clock.now();
    const load = () =>
      parts.flights(
        `${flightFor(parts, request)} mustLoad`,
        signal,
        (inner, joined) => loadAlways(parts, runFor(request, joined), inner),
        request.caller,
      );
    const answer = await load();
    // The query that this call joined may have begun before it; the next one begins after it.
    return answer.entry.createdAtMs >= askedAtMs ? answer : load();
  }
  try {
    return await parts.flights(
      flightFor(parts, request),
      signal,
      (inner, joined) => lookUp(parts, runFor(request, joined), inner),
      request.caller,
    );
  } catch (error) {
    if (!(error instanceof GatewayError) || !requestFailures.has(error.code)) throw error;
    return readStored(parts, request, error);
  }
}

/** Failures of one request, which say nothing about the query: its caller has too many waiting, or its own time is over. */
const requestFailures: ReadonlySet<ErrorCode> = new Set(['too_many_requests', 'deadline_exceeded']);

/** Equal for requests that share one run in this process; requests with different limits share through the store, as gateways do. */
export function flightOf({
  key,
  callerSql = '',
  load,
}: Pick<CacheRequest, 'key' | 'callerSql' | 'load'>): string {
  return `${key.digest} ${load.maxBytesBilled ?? 'unlimited'} ${callerSql}`;
}

/** The same request, whose query runs for all callers who have joined it. */
function runFor(request: CacheRequest, joined: Joined): CacheRequest {
  const { run, ...load } = request.load;
  return { ...request, joined, load: { ...load, run: signal => run(signal, joined) } };
}

/** A request after an invalidation does not join an earlier flight: its rows may be older. */
function flightFor({ local }: Parts, request: CacheRequest): string {
  return `${flightOf(request)} ${local.generations.of(request.key.group)} ${local.removals}`;
}

/** Answers without a query, and without a refresh. */
async function readStored(parts: Parts, request: CacheRequest, refused: GatewayError): Promise<CacheAnswer> {
  const { entry } = await parts.stored.newest(request);
  const freshness = freshnessFor(parts, entry, request);
  if (!entry || freshness === 'gone') throw refused;
  return { entry, state: freshness === 'fresh' ? 'hit' : freshness };
}

async function lookUp(parts: Parts, request: CacheRequest, signal: AbortSignal): Promise<CacheAnswer> {
  const { stored, loader } = parts;
  const { entry, budget } = await stored.newest(request);
  const freshness = freshnessFor(parts, entry, request);
  if (entry && freshness === 'fresh') return { entry, state: 'hit' };
  if (entry && freshness === 'stale') {
    loader.refresh(request, entry, 'stale');
    return { entry, state: 'stale' };
  }
  const usableOnError = freshness === 'stale-if-error' ? entry : undefined;
  if (usableOnError && loader.isBackingOff(request)) return { entry: usableOnError, state: 'stale-if-error' };
  try {
    return loadedAnswer(parts, await loader.load(request, entry, budget, signal), request);
  } catch (error) {
    if (!usableOnError || !isDependencyFailure(toGatewayError(error))) throw error;
    return { entry: usableOnError, state: 'stale-if-error' };
  }
}

async function loadAlways(parts: Parts, request: CacheRequest, signal: AbortSignal): Promise<CacheAnswer> {
  const { stored, loader, clock } = parts;
  const askedAtMs = clock.now();
  const { entry, budget } = await stored.newest(request);
  return loadedAnswer(parts, await loader.load(request, entry, budget, signal, askedAtMs), request);
}

async function warm(
  parts: Parts,
  request: CacheRequest,
  everyMs: number,
  signal: AbortSignal,
): Promise<'refreshed' | 'fresh' | 'busy'> {
  const { stored, loader } = parts;
  const { lifetimes } = request;
  const { entry } = await stored.newest(request);
  const ageMs = entry ? ageOf(parts, entry, request) : Infinity;
  const willBeFresh = freshnessOf(ageMs, lifetimes) === 'fresh' && ageMs + everyMs < lifetimes.freshMs;
  if (ageMs < everyMs / 2 && willBeFresh) return 'fresh';
  try {
    await loader.warm(request, entry, signal);
    return 'refreshed';
  } catch (error) {
    if (toGatewayError(error).code === 'cancelled') return 'busy';
    throw error;
  }
}

async function invalidateStore(
  store: GuardedStore,
  operation: 'remove' | 'bumpGeneration',
  subject: string,
): Promise<void> {
  const budget = { remainingMs: store.budgetMs };
  const isDone = await store.call(operation, budget, it => it[operation](subject).then(() => true));
  if (isDone) return;
  throw new GatewayError(
    'unavailable',
    'The shared store does not answer: only the memory of this gateway was cleared; try again',
  );
}
