import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { type ErrorCode, GatewayError, toGatewayError } from '../base/errors.ts';
import { inSpan } from '../base/spans.ts';
import type { CacheEvent, LoadReason } from './cache-events.ts';
import type { CacheRequest, Load } from './cache-request.ts';
import type { Entry } from './entry.ts';
import type { Budget, GuardedStore } from './guarded-store.ts';
import { type LeasedLoadOptions, type Loaded, loadIfFree, loadWithLease } from './leased-load.ts';
import type { LocalEntries } from './local-entries.ts';
import type { Notifier } from './notifier.ts';

/** Makes new entries, for waiting callers and in the background. */
export type Loader = {
  /**
   * Gets the next entry of a key, with the cost of its query if this gateway ran it.
   * @param known the entry to be replaced
   * @param notBeforeMs entries whose query began earlier are not accepted; milliseconds since 1970. Default: any newer than the known one is
   * @throws GatewayError of the query
   */
  load(
    request: CacheRequest,
    known: Entry | undefined,
    budget: Budget,
    signal: AbortSignal,
    notBeforeMs?: number,
  ): Promise<Pick<Loaded, 'entry' | 'receipt'>>;
  /** Refreshes an entry in the background, unless a refresh is running or has just failed. */
  refresh(request: CacheRequest, known: Entry, reason: LoadReason): void;
  /**
   * Refreshes an entry that may still be fresh, or makes the first one.
   * @throws GatewayError of the query; `cancelled` if another gateway holds the lease; the reason of the signal
   */
  warm(request: CacheRequest, known: Entry | undefined, signal: AbortSignal): Promise<unknown>;
  /** Whether the key is in back-off under the caller's limit of billed bytes. */
  isBackingOff(request: CacheRequest): boolean;
  /** Aborts the background refreshes, and the queries that go on for other gateways alone, and waits for their end. */
  close(): Promise<void>;
};

type LoaderDeps = {
  readonly store: GuardedStore;
  readonly local: LocalEntries;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly emit: (event: CacheEvent) => void;
  readonly random: () => number;
  /** Maximum bytes of a body that is stored. */
  readonly maxEntryBytes: number;
};

/** Failures of the warehouse or of the connection to it; a result that has become too large was paid for, and would be again. */
const dependencyFailures: ReadonlySet<ErrorCode> = new Set([
  'engine_failed', 'unavailable', 'overloaded', 'deadline_exceeded', 'internal', 'result_too_large',
]); // biome-ignore format: one list

/** Whether an older entry is better than this failure, and an immediate retry is pointless. */
export function isDependencyFailure({ code }: GatewayError): boolean {
  return dependencyFailures.has(code);
}

/** Makes a loader. */
export function createLoader(deps: LoaderDeps): Loader {
  const { local, clock, emit, random } = deps;
  const backoff = createBackoff(clock, random);
  const refreshes = new Map<string, Promise<unknown>>();
  /** Loads whose callers have left. */
  const left = new Set<Promise<unknown>>();
  const closing = new AbortController();

  function isBackingOff({ key: { digest } }: CacheRequest, { maxBytesBilled }: Load): boolean {
    return backoff.isActive(digest) || backoff.isActive(underLimit(digest, maxBytesBilled));
  }

  function optionsOf(request: CacheRequest, known: Entry | undefined) {
    const generation = () => local.generations.of(request.key.group);
    return { ...request, known: known?.version, generation } satisfies Partial<LeasedLoadOptions>;
  }

  /** Keeps the entry of a load, or records its failure. */
  async function settle({ endpoint, key }: CacheRequest, { maxBytesBilled }: Load, loading: Promise<Loaded>) {
    const { removals } = local;
    try {
      const { entry, standing, receipt } = await loading;
      backoff.succeeded(key.digest);
      backoff.succeeded(underLimit(key.digest, maxBytesBilled));
      // An entry that was invalidated meanwhile must not be served while the store is down.
      if (standing !== 'refused' && local.removals === removals)
        local.keep(key, entry, { isCompared: standing === 'stored', isUnshared: standing === 'unknown' });
      return { entry, receipt };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const backoffMs = isDependencyFailure(error)
        ? backoff.failed(underLimit(key.digest, error.bytesLimit))
        : 0;
      if (error.code !== 'cancelled')
        emit({ type: 'cache.load_failed', endpoint, code: error.code, backoffMs });
      throw error;
    }
  }

  function refreshNow(
    request: CacheRequest,
    known: Entry | undefined,
    reason: LoadReason,
    signal: AbortSignal,
  ): Promise<unknown> {
    const budget: Budget = { remainingMs: deps.store.budgetMs };
    const { refreshLoad: load } = request;
    const options = { ...optionsOf(request, known), load, reason, budget, signal };
    return settle(request, load, loadIfFree(deps, options));
  }

  return {
    load(request, known, budget, signal, notBeforeMs) {
      const waiting = { budget, signal, closing: closing.signal, notBeforeMs };
      const options = { ...optionsOf(request, known), reason: 'miss', ...waiting } as const;
      const loaded = settle(request, request.load, loadWithLease(deps, options));
      signal.addEventListener('abort', () => addUntilEnded(left, loaded));
      return loaded;
    },
    refresh(request, known, reason) {
      const { digest } = request.key;
      if (refreshes.has(digest) || isBackingOff(request, request.refreshLoad) || closing.signal.aborted)
        return;
      const attributes = { 'saved_query.endpoint': request.endpoint, 'saved_query.cache.reason': reason };
      // It may outlive the request that began it.
      const done = inSpan('cache refresh', { attributes, isRoot: true }, () =>
        refreshNow(request, known, reason, closing.signal),
      )
        // The existing entry stays; the failure was emitted as an event.
        .catch(() => undefined)
        .finally(() => refreshes.delete(digest));
      refreshes.set(digest, done);
    },
    warm: (request, known, signal) => refreshNow(request, known, 'warm', signal),
    isBackingOff: request => isBackingOff(request, request.load),
    async close() {
      closing.abort(new GatewayError('unavailable', 'The gateway is stopping'));
      await Promise.all([...refreshes.values(), ...left]);
    },
  };
}

/** The name of a key in the back-off: a refusal because of a limit of bytes counts only for requests with the same limit. */
function underLimit(digest: string, bytesLimit: number | undefined): string {
  return bytesLimit === undefined ? digest : `${digest} ${bytesLimit}`;
}

function addUntilEnded(loads: Set<Promise<unknown>>, loading: Promise<unknown>): void {
  const ended: Promise<unknown> = Promise.allSettled([loading]).then(() => loads.delete(ended));
  loads.add(ended);
}

/** Keys whose query has just failed; it is not retried in the background until their back-off is over. */
type Backoff = {
  isActive(digest: string): boolean;
  /**
   * Records a failure.
   * @returns milliseconds of back-off: doubled with each failure in a row, drawn from the upper half of that
   */
  failed(digest: string): number;
  succeeded(digest: string): void;
};

const firstBackoffMs = 1000;
const maxBackoffMs = 60_000;

/** Makes an empty back-off. */
export function createBackoff(clock: Clock, random: () => number): Backoff {
  const failing = new LRUCache<string, { failures: number; untilMs: number }>({ max: 10_000 });
  return {
    isActive(digest) {
      const leftMs = (failing.get(digest)?.untilMs ?? 0) - clock.now();
      // More than the longest back-off can only remain if the clock was set back.
      return leftMs > 0 && leftMs <= maxBackoffMs;
    },
    failed(digest) {
      const failures = (failing.get(digest)?.failures ?? 0) + 1;
      const ms = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (failures - 1));
      const backoffMs = Math.round(ms * (0.5 + random() / 2));
      failing.set(digest, { failures, untilMs: clock.now() + backoffMs });
      return backoffMs;
    },
    succeeded: digest => void failing.delete(digest),
  };
}
