import { randomUUID } from 'node:crypto';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../base/clock.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { Receipt } from '../base/rows.ts';
import { startSpan } from '../base/spans.ts';
import type { Claim } from '../store/store.ts';
import type { CacheEvent, LoadReason } from './cache-events.ts';
import type { CacheKey } from './cache-key.ts';
import type { Load } from './cache-request.ts';
import { decodeEntry, type Entry, makeEntry, versionOf } from './entry.ts';
import { decodeFailure, encodeFailure, tooLargePayload } from './failure-payload.ts';
import { keptMs, type Lifetimes } from './freshness.ts';
import type { Budget, GuardedStore } from './guarded-store.ts';
import type { Notifier } from './notifier.ts';

/** Milliseconds a lease lasts: waiters take over that long after its holder died. */
const leaseMs = 3000;
/** Milliseconds between two extensions of the lease. */
const extendMs = 1000;
/** Milliseconds after which a waiter asks again: it may have missed a message. */
const lookMs = 1000;

/** Bytes from which sending a value to the store takes noticeable time. */
const largeBytes = 256 * 1024;

export type LeasedLoadDeps = {
  readonly store: GuardedStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly emit: (event: CacheEvent) => void;
  /** Bytes of a body that is stored at most. */
  readonly maxEntryBytes: number;
};

export type LeasedLoadOptions = {
  /** Name of the endpoint, for events. */
  readonly endpoint: string;
  readonly key: CacheKey;
  readonly caller?: string | undefined;
  readonly lifetimes: Lifetimes;
  /** Version of the entry to be replaced. */
  readonly known: string | undefined;
  /** Entries whose query began earlier are not accepted; milliseconds since 1970. Default: all are. */
  readonly notBeforeMs?: number | undefined;
  readonly reason: LoadReason;
  /** The generation of the key's group right now. */
  readonly generation: () => string;
  readonly budget: Budget;
  /** Milliseconds that others' queries are waited for at most. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly load: Load;
};

/** A new entry, and its state in the store: stored, refused (or not offered), or unknown because the store did not answer. */
export type Loaded = {
  readonly entry: Entry;
  readonly standing: 'stored' | 'refused' | 'unknown';
  /** What its query cost; absent where another gateway ran it. */
  readonly receipt?: Receipt;
};

/**
 * Gets the next entry of a key. Only one gateway makes it: the one with the lease runs the query, the
 * others wait for its message; where its holder dies, or is refused for a lower limit of bytes than theirs, one of them takes
 * over. Without a store every gateway runs its own.
 * @throws GatewayError of the query, wherever it ran; `deadline_exceeded` after `waitMs`; the signal's reason
 */
export async function loadWithLease(deps: LeasedLoadDeps, options: LeasedLoadOptions): Promise<Loaded> {
  const { emit, notifier } = deps;
  const { key, signal } = options;
  const token = randomUUID();
  let isOver = false;
  // A timer, not the clock: setting the clock forward would end the wait at once.
  const waitTimer = setTimeout(() => {
    isOver = true;
  }, options.waitMs);
  let { known } = options;
  let waiting: Span | undefined;
  const wait = notifier.join(key.digest);
  try {
    for (;;) {
      const claim = await claimLease(deps, options, token, known);
      if (claim === undefined) return await loadAlone(deps, options, token);
      if (claim.state === 'granted') return await loadHolding(deps, options, token);
      if (claim.state === 'changed') {
        const entry = await readValid(claim.value, options);
        if (entry && entry.createdAtMs >= (options.notBeforeMs ?? -Infinity))
          return { entry, standing: 'stored' };
        known = versionOf(claim.value);
        continue;
      }
      if (isOver) {
        throw new GatewayError(
          'deadline_exceeded',
          'The query, run by another gateway, did not finish in time',
        );
      }
      if (!waiting) emit({ type: 'cache.waiting', endpoint: options.endpoint });
      waiting ??= startSpan('lease wait', { attributes: { 'saved_query.endpoint': options.endpoint } });
      const woken = await wait.next(Math.min(claim.forMs + 1, lookMs), signal);
      // Waiting for a query is not waiting for the store.
      options.budget.remainingMs = deps.store.budgetMs;
      if (woken.type === 'released' && woken.failurePayload === tooLargePayload) {
        return await loadAlone(deps, options, token);
      }
      const failure =
        woken.type === 'released'
          ? decodeFailure(woken.failurePayload, options.load.maxBytesBilled)
          : undefined;
      if (failure) throw failure;
    }
  } finally {
    clearTimeout(waitTimer);
    wait.leave();
    waiting?.end();
  }
}

/**
 * Gets the next entry only if the lease is free: for a refresh, which nobody waits for.
 * @throws GatewayError `cancelled` if another gateway holds the lease; otherwise as above
 */
export async function loadIfFree(deps: LeasedLoadDeps, options: LeasedLoadOptions): Promise<Loaded> {
  const token = randomUUID();
  for (let { known } = options; ; ) {
    const claim = await claimLease(deps, options, token, known);
    if (claim === undefined) return loadAlone(deps, options, token);
    if (claim.state === 'granted') return loadHolding(deps, options, token);
    if (claim.state === 'held' || (await readValid(claim.value, options))) {
      throw new GatewayError('cancelled', 'Another gateway refreshes the entry');
    }
    known = versionOf(claim.value);
  }
}

/** The entry of a stored value; undefined if it has another layout or was invalidated, and is as good as absent. */
async function readValid(
  value: Buffer,
  { key, caller, generation }: LeasedLoadOptions,
): Promise<Entry | undefined> {
  const entry = await decodeEntry(value, key.canonical, caller);
  return entry?.generation === generation() ? entry : undefined;
}

function claimLease(
  { store }: LeasedLoadDeps,
  { key, budget }: LeasedLoadOptions,
  token: string,
  known: string | undefined,
): Promise<Claim | undefined> {
  const knownVersion = known === undefined ? undefined : Buffer.from(known, 'latin1');
  return store.call('claim', budget, it => it.claim(key.digest, { token, leaseMs, knownVersion }));
}

async function loadHolding(deps: LeasedLoadDeps, options: LeasedLoadOptions, token: string): Promise<Loaded> {
  const { store, emit } = deps;
  const { endpoint, key, lifetimes, budget } = options;
  // Others wait for the end of this lease, so it is always sent, whatever time is left; it takes effect even if its answer is late.
  budget.remainingMs = Math.max(1, budget.remainingMs);
  const extending = setInterval(() => {
    void store.call('extend', { remainingMs: store.budgetMs }, it => it.extend(key.digest, token, leaseMs));
  }, extendMs).unref();
  try {
    const { entry, value, receipt } = await makeNext(deps, options);
    if (!value) {
      await store.call('release', budget, it => it.release(key.digest, token, tooLargePayload));
      return { entry, standing: 'refused', receipt };
    }
    // The caller does not wait for the whole of a large value to be on its way.
    if (value.length > largeBytes) budget.remainingMs = Math.min(budget.remainingMs, store.budgetMs - 1);
    const isStored = await store.call('publish', budget, it =>
      it.publish(key.digest, token, value, keptMs(lifetimes)),
    );
    // A store that has refused it keeps the lease, for which others would wait; after a publication that is late this changes nothing.
    if (isStored === undefined)
      void store.call('release', { remainingMs: store.budgetMs }, it => it.release(key.digest, token, ''));
    if (isStored) emit({ type: 'cache.stored', endpoint, bytes: value.length });
    if (isStored === false) emit({ type: 'cache.refused', endpoint });
    return { entry, standing: standingOf(isStored), receipt };
  } catch (error) {
    const failurePayload = encodeFailure(toGatewayError(error), options.reason);
    await store.call('release', budget, it => it.release(key.digest, token, failurePayload));
    throw error;
  } finally {
    clearInterval(extending);
  }
}

function standingOf(isStored: boolean | undefined): Loaded['standing'] {
  if (isStored === undefined) return 'unknown';
  return isStored ? 'stored' : 'refused';
}

/**
 * Loads without a lease. A store that was only late may have granted the lease, and others may wait for it: the result is
 * published to them, but this request does not wait for that.
 */
async function loadAlone(deps: LeasedLoadDeps, options: LeasedLoadOptions, token: string): Promise<Loaded> {
  const { store } = deps;
  const { digest } = options.key;
  const budget: Budget = { remainingMs: store.budgetMs };
  try {
    const { entry, value, receipt } = await makeNext(deps, options);
    if (!value) return { entry, standing: 'refused', receipt };
    const keepMs = keptMs(options.lifetimes);
    if (store.takesWrites) void store.call('publish', budget, it => it.publish(digest, token, value, keepMs));
    return { entry, standing: 'unknown', receipt };
  } catch (error) {
    const failurePayload = encodeFailure(toGatewayError(error), options.reason);
    if (store.takesWrites)
      void store.call('release', budget, it => it.release(digest, token, failurePayload));
    throw error;
  }
}

/** Runs the query, and makes the entry and its stored form of the rows. */
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
