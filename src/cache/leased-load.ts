import { randomUUID } from 'node:crypto';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../base/clock.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { Receipt } from '../base/rows.ts';
import { startSpan } from '../base/spans.ts';
import { concernsFirstOnly, type Joined } from '../base/turns.ts';
import type { Claim, Store } from '../store/store.ts';
import type { CacheEvent, LoadReason } from './cache-events.ts';
import type { CacheKey, Load } from './cache-request.ts';
import { decodeEntry, type Entry, makeEntry, versionInBytes, versionOf } from './entry.ts';
import { decodeFailure, encodeFailure, tooLargePayload } from './failure-payload.ts';
import { keptMs, type Lifetimes } from './freshness.ts';
import type { Budget, GuardedStore } from './guarded-store.ts';
import type { Notifier } from './notifier.ts';

/** Milliseconds a lease lasts: after that time without an extension, a waiter takes over. */
const leaseMs = 3000;
/** Milliseconds between two extensions of the lease. */
const extendMs = 1000;
/** Milliseconds after which a waiter asks the store again: it may have missed a message. */
const pollMs = 1000;
/** Milliseconds after the last message of a waiter until it counts as gone: one message may be lost. */
const awaitedMs = 2 * pollMs;

/** Values of more bytes take noticeable time to send to the store. */
const largeBytes = 256 * 1024;

export type LeasedLoadDeps = {
  readonly store: GuardedStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly emit: (event: CacheEvent) => void;
  /** Maximum bytes of a body that is stored. */
  readonly maxEntryBytes: number;
};

export type LeasedLoadOptions = {
  /** Name of the endpoint, for events. */
  readonly endpoint: string;
  readonly key: CacheKey;
  readonly caller?: string | undefined;
  readonly joined?: Joined | undefined;
  readonly lifetimes: Lifetimes;
  /** Version of the entry to be replaced. */
  readonly known: string | undefined;
  /** Entries whose query began earlier are not accepted; milliseconds since 1970. Default: all are accepted. */
  readonly notBeforeMs?: number | undefined;
  readonly reason: LoadReason;
  /** The generation of the key's group right now. */
  readonly generation: () => string;
  readonly budget: Budget;
  /** Maximum milliseconds to wait for other gateways' queries. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Aborted when the gateway stops: then no query goes on only for callers who wait on other gateways. Default: no query does. */
  readonly closing?: AbortSignal;
  readonly load: Load;
};

/** A new entry, and whether the store has it: stored, refused (or too large to be offered), or unknown because the store did not answer. */
export type Loaded = {
  readonly entry: Entry;
  readonly standing: 'stored' | 'refused' | 'unknown';
  /** What its query cost; absent if another gateway ran it. */
  readonly receipt?: Receipt;
};

/**
 * Gets the next entry of a key. Only one gateway makes it: the holder of the lease runs the query, and the others wait for its
 * message. If the holder dies, its query is refused for a lower limit of bytes than theirs, or its time is over long before theirs, one of them
 * takes over. Without a store each gateway runs its own query.
 * @throws GatewayError of the query, wherever it ran; `deadline_exceeded` after `waitMs`; the signal's reason
 */
export async function loadWithLease(deps: LeasedLoadDeps, options: LeasedLoadOptions): Promise<Loaded> {
  const { emit, notifier } = deps;
  const { key, signal } = options;
  const token = randomUUID();
  // Not by the clock: setting it forward would end the wait at once.
  const endMs = performance.now() + options.waitMs;
  let { known } = options;
  let waiting: Span | undefined;
  const wait = notifier.join(key.digest);
  try {
    for (;;) {
      const claim = await claimLease(deps, options, token, known);
      if (claim === undefined) return await loadAlone(deps, { ...options, known }, token);
      if (claim.state === 'granted') return await loadHolding(deps, { ...options, known }, token);
      if (claim.state === 'changed') {
        const entry = await readValid(claim.value, options);
        if (entry && entry.createdAtMs >= (options.notBeforeMs ?? -Infinity))
          return { entry, standing: 'stored' };
        known = versionOf(claim.value);
        continue;
      }
      if (performance.now() >= endMs) {
        throw new GatewayError(
          'deadline_exceeded',
          'The query, run by another gateway, did not finish in time',
        );
      }
      if (!waiting) emit({ type: 'cache.waiting', endpoint: options.endpoint });
      waiting ??= startSpan('lease wait', { attributes: { 'saved_query.endpoint': options.endpoint } });
      announce(deps, options);
      const woken = await wait.next(Math.min(claim.forMs + 1, pollMs), signal);
      // Time spent waiting for a query does not count as waiting for the store.
      options.budget.remainingMs = deps.store.budgetMs;
      if (woken.type === 'released' && woken.failurePayload === tooLargePayload) {
        return await loadAlone(deps, { ...options, known }, token);
      }
      const failure =
        woken.type === 'released'
          ? decodeFailure(woken.failurePayload, options.load.maxBytesBilled)
          : undefined;
      // An older entry that can be served is better than another run.
      const hasOlder = options.known !== undefined && options.notBeforeMs === undefined;
      const other = { isFirst: false, leftMs: endMs - performance.now() };
      if (failure && (hasOlder || !concernsFirstOnly(failure.code, other))) throw failure;
    }
  } finally {
    wait.leave();
    waiting?.end();
  }
}

/** Sends the names of the waiting callers to the gateway that runs the query: it may then run in their turn, too. */
function announce({ store }: LeasedLoadDeps, { key: { digest }, joined }: LeasedLoadOptions): void {
  const join = (caller: string) =>
    void store.call('join', { remainingMs: store.budgetMs }, it => it.join(digest, caller));
  joined?.follow(join)();
}

/**
 * Gets the next entry only if the lease is free: for a refresh in the background.
 * @throws GatewayError `cancelled` if another gateway holds the lease; otherwise as above
 */
export async function loadIfFree(deps: LeasedLoadDeps, options: LeasedLoadOptions): Promise<Loaded> {
  const token = randomUUID();
  for (let { known } = options; ; ) {
    const claim = await claimLease(deps, options, token, known);
    if (claim === undefined) return loadAlone(deps, { ...options, known }, token);
    if (claim.state === 'granted') return loadHolding(deps, { ...options, known }, token);
    if (claim.state === 'held' || (await readValid(claim.value, options))) {
      throw new GatewayError('cancelled', 'Another gateway refreshes the entry');
    }
    known = versionOf(claim.value);
  }
}

/** The entry of a stored value; undefined if it has another layout or was invalidated. */
async function readValid(
  value: Buffer,
  { key, caller, joined, generation }: LeasedLoadOptions,
): Promise<Entry | undefined> {
  const entry = await decodeEntry(value, key.canonical, { caller, joined });
  return entry?.generation === generation() ? entry : undefined;
}

function claimLease(
  { store }: LeasedLoadDeps,
  { key, budget }: LeasedLoadOptions,
  token: string,
  known: string | undefined,
): Promise<Claim | undefined> {
  return store.call('claim', budget, it => it.claim(key.digest, claimOptions(token, known)));
}

function claimOptions(token: string, known: string | undefined) {
  return { token, leaseMs, knownVersion: known === undefined ? undefined : versionInBytes(known) };
}

/**
 * Holds the lease of a token until the query has ended. A store that was restarted or replaced may have lost it, and this process may have been
 * paused for longer than it lasts: then it is claimed again, unless the key has changed or another gateway has its lease.
 */
function holdLease({ store, notifier }: LeasedLoadDeps, options: LeasedLoadOptions, token: string) {
  const { digest } = options.key;
  const awaited = untilNobodyWaits(options);
  let mayClaim = true;
  const unfollow = notifier.follow(digest, message => {
    // A store that loses the lease may lose the tombstone, too.
    if (message.type === 'removed') mayClaim = false;
    else {
      awaited.joined();
      options.joined?.add(message.caller);
    }
  });

  async function keep(it: Store): Promise<boolean> {
    if (await it.extend(digest, token, leaseMs)) return true;
    if (!mayClaim) return false;
    const { state } = await it.claim(digest, claimOptions(token, options.known));
    mayClaim = state === 'granted';
    return mayClaim;
  }

  const extending = setInterval(() => {
    void store.call('extend', { remainingMs: store.budgetMs }, keep);
  }, extendMs).unref();

  return {
    /** Aborts when nobody waits any more. */
    signal: awaited.signal,
    end(): void {
      awaited.end();
      unfollow();
      clearInterval(extending);
    },
    /** Ends the lease with a value; false if it is lost. */
    async publish(it: Store, value: Buffer): Promise<boolean> {
      clearInterval(extending);
      const publish = () => it.publish(digest, token, value, keptMs(options.lifetimes));
      return (await publish()) || ((await keep(it)) && publish());
    },
    /** Ends the lease without a value. */
    release(it: Store, failurePayload: string): Promise<void> {
      clearInterval(extending);
      mayClaim = false;
      return it.release(digest, token, failurePayload);
    },
  };
}

/**
 * A signal for a query: it aborts once the callers here have left and nobody waits on other gateways. One of those would begin the query
 * again, and both runs may be billed.
 */
function untilNobodyWaits({ signal, closing = signal }: LeasedLoadOptions) {
  const nobodyWaits = new AbortController();
  let waiter: NodeJS.Timeout | undefined;
  const look = () => {
    if (signal.aborted && (waiter === undefined || closing.aborted)) nobodyWaits.abort(signal.reason);
  };
  signal.addEventListener('abort', look);
  closing.addEventListener('abort', look);
  look();
  return {
    signal: nobodyWaits.signal,
    /** Records that somebody waits on another gateway. */
    joined(): void {
      clearTimeout(waiter);
      waiter = setTimeout(() => {
        waiter = undefined;
        look();
      }, awaitedMs);
    },
    end(): void {
      clearTimeout(waiter);
      signal.removeEventListener('abort', look);
      closing.removeEventListener('abort', look);
    },
  };
}

async function loadHolding(deps: LeasedLoadDeps, options: LeasedLoadOptions, token: string): Promise<Loaded> {
  const { store, emit } = deps;
  const { endpoint, budget } = options;
  // Others wait for this lease to end, so the message that ends it is sent whatever time is left; it takes effect even if the reply is late.
  budget.remainingMs = Math.max(1, budget.remainingMs);
  const lease = holdLease(deps, options, token);
  try {
    const { entry, value, receipt } = await makeNext(deps, { ...options, signal: lease.signal });
    if (!value) {
      await store.call('release', budget, it => lease.release(it, tooLargePayload));
      return { entry, standing: 'refused', receipt };
    }
    // The caller does not wait until a large value is sent completely.
    if (value.length > largeBytes) budget.remainingMs = Math.min(budget.remainingMs, store.budgetMs - 1);
    const isStored = await store.call('publish', budget, it => lease.publish(it, value));
    // A store that refused the value still has the lease, and others would wait for it. If the publication was only late, the release has no effect.
    if (isStored === undefined)
      void store.call('release', { remainingMs: store.budgetMs }, it => lease.release(it, ''));
    if (isStored) emit({ type: 'cache.stored', endpoint, bytes: value.length });
    if (isStored === false) emit({ type: 'cache.refused', endpoint });
    return { entry, standing: standingOf(isStored), receipt };
  } catch (error) {
    const failurePayload = encodeFailure(toGatewayError(error), options.reason);
    await store.call('release', budget, it => lease.release(it, failurePayload));
    throw error;
  } finally {
    lease.end();
  }
}

function standingOf(isStored: boolean | undefined): Loaded['standing'] {
  if (isStored === undefined) return 'unknown';
  return isStored ? 'stored' : 'refused';
}

/**
 * Loads without a lease. A store that was merely late may have granted the lease, and others may be waiting for it: it is held, or claimed as
 * soon as the store answers, and the result is published, but this request does not wait for the publication.
 */
async function loadAlone(deps: LeasedLoadDeps, options: LeasedLoadOptions, token: string): Promise<Loaded> {
  const { store } = deps;
  const budget: Budget = { remainingMs: store.budgetMs };
  const lease = holdLease(deps, options, token);
  const release = (failurePayload: string) => {
    if (store.takesWrites) void store.call('release', budget, it => lease.release(it, failurePayload));
  };
  try {
    const { entry, value, receipt } = await makeNext(deps, { ...options, signal: lease.signal });
    if (!value) {
      release(tooLargePayload);
      return { entry, standing: 'refused', receipt };
    }
    if (store.takesWrites) void store.call('publish', budget, it => lease.publish(it, value));
    return { entry, standing: 'unknown', receipt };
  } catch (error) {
    release(encodeFailure(toGatewayError(error), options.reason));
    throw error;
  } finally {
    lease.end();
  }
}

/** Runs the query, and makes of its rows the entry and the value to store; no value if the body is too large. */
async function makeNext(
  { clock, emit, maxEntryBytes }: LeasedLoadDeps,
  { endpoint, key, reason, generation, signal, load }: LeasedLoadOptions,
): Promise<{ entry: Entry; value: Buffer | undefined; receipt: Receipt | undefined }> {
  emit({ type: 'cache.loading', endpoint, reason });
  const facts = {
    canonical: key.canonical,
    generation: generation(),
    createdAtMs: clock.now(),
    isWarmed: reason === 'warm',
  };
  const rows = await load.run(signal);
  const loadMs = clock.now() - facts.createdAtMs;
  const made = await makeEntry(
    { ...facts, loadMs, readBytes: rows.receipt?.bytesProcessed },
    rows,
    maxEntryBytes,
  );
  if (!made.value) emit({ type: 'cache.too_large', endpoint, bytes: made.entry.body.length });
  return { ...made, receipt: rows.receipt };
}
