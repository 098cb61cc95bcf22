import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import type { AuthEvent } from '../auth-events.ts';
import { createByteAccount } from './byte-account.ts';
import { createRateBucket } from './rate-bucket.ts';
import { ratesOf, type TokenLimits } from './token-limits.ts';
import type { TotalUsage, Usage, UsageLedger } from './usage-ledger.ts';

/** Measures the use of one token, in the memory of this gateway. */
export type Meter = {
  /**
   * Counts requests if the token's limits allow them.
   * @returns 0 if they were counted, else milliseconds until they would be allowed
   */
  admit(count: number): number;
  /** Counts bytes that a query read. */
  addBytes(bytes: number): void;
  /** For a token with a limit of bytes: returns the error if it may run no queries now. */
  readonly quota: (() => Promise<GatewayError | undefined>) | undefined;
};

/** The meters of all tokens; they outlive a change of the tokens. */
export type Meters = {
  of(tokenId: string, limits: TokenLimits | undefined): Meter;
  /** The meter of a subject of JSON Web Tokens. There may be any number of subjects: the least recently seen ones are forgotten. */
  ofSubject(tokenId: string, limits: TokenLimits): Meter;
  /** Adds the use to the ledger, and adopts its totals. */
  sync(): Promise<void>;
  close(): Promise<void>;
};

type MetersOptions = {
  readonly ledger: UsageLedger;
  readonly clock: Clock;
  readonly emit: (event: AuthEvent) => void;
};

/**
 * Counts requests.
 * @throws GatewayError `too_many_requests`, with the time to retry, if the token's limits do not allow them
 */
export function countRequests(meter: Meter | undefined, count: number): void {
  const waitMs = meter?.admit(count) ?? 0;
  if (waitMs === 0) return;
  throw new GatewayError('too_many_requests', 'The access token has used up its requests for now', {
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}

/** Milliseconds between two records of a token's last use, so that tokens in use cost the ledger next to nothing. */
const useMs = 60_000;

/** Milliseconds for which a total of bytes is recent enough for a query, and for which a query waits for a newer one. */
const totalMs = 200;
const quotaTimeoutMs = 50;

/** A request this many milliseconds after the last exchange with the ledger starts the next one at once. */
const pauseMs = 1000;

/** Maximum number of subjects of JSON Web Tokens with a meter. */
const maxSubjects = 10_000;

type State = Meter & {
  readonly limits: string;
  isDirty: boolean;
  drain(): Usage;
  settle(total: TotalUsage, day: string): void;
  /** Takes drained use back: the ledger did not answer, so it must be added later. */
  restore(usage: Usage): void;
};

/** Makes an empty set of meters. */
export function createMeters({ ledger, clock, emit }: MetersOptions): Meters {
  const states = new Map<string, State>();
  /** Forgotten meters whose last use is not in the ledger yet. */
  const leaving = new Set<State>();
  const subjects = new LRUCache<string, State>({
    max: maxSubjects,
    dispose(state, _key, reason) {
      if (reason === 'evict' && state.isDirty) leaving.add(state);
    },
  });
  let syncing: Promise<void> | undefined;
  let isFailing = false;

  async function exchange(): Promise<void> {
    const dirty = [...states.values(), ...subjects.values(), ...leaving].filter(({ isDirty }) => isDirty);
    if (dirty.length === 0) return;
    leaving.clear();
    const drained = dirty.map(state => state.drain());
    try {
      const totals = await ledger.exchange(drained);
      for (const [at, state] of dirty.entries()) state.settle(totals[at]!, drained[at]!.day);
      isFailing = false;
    } catch (error) {
      for (const [at, state] of dirty.entries()) state.restore(drained[at]!);
      if (!isFailing) emit({ type: 'tokens.usage_failed', message: String(error) });
      isFailing = true;
    }
  }

  function sync(): Promise<void> {
    syncing ??= exchange().finally(() => {
      syncing = undefined;
    });
    return syncing;
  }

  const timer = setInterval(() => void sync(), ledger.intervalMs).unref();
  return {
    of(tokenId, limits) {
      const found = states.get(tokenId);
      if (found?.limits === JSON.stringify(limits ?? {})) return found;
      const state = openState(tokenId, limits, { ledger, clock, sync });
      // Carries over the use that was not drained yet; the ledger has the rest.
      if (found) state.restore(found.drain());
      states.set(tokenId, state);
      return state;
    },
    ofSubject(tokenId, limits) {
      // Tokens of one subject may have different limits; their use adds up to one total.
      const key = `${tokenId} ${JSON.stringify(limits)}`;
      const state = subjects.get(key) ?? openState(tokenId, limits, { ledger, clock, sync });
      subjects.set(key, state);
      return state;
    },
    sync,
    async close() {
      clearInterval(timer);
      await sync();
      await sync();
      await ledger.close();
    },
  };
}

function openState(
  tokenId: string,
  limits: TokenLimits = {},
  { ledger, clock, sync }: Pick<MetersOptions, 'ledger' | 'clock'> & Pick<Meters, 'sync'>,
): State {
  const buckets = ratesOf(limits).map(({ name, rate }) => ({ name, rate, bucket: createRateBucket(rate) }));
  const account = createByteAccount(limits, clock.now());
  let usedAtMs = 0;
  let notedAtMs = 0;
  let settledAtMs = Number.NEGATIVE_INFINITY;

  async function quota(): Promise<GatewayError | undefined> {
    const isOld = ledger.isShared && clock.now() - settledAtMs > totalMs;
    if (isOld || settledAtMs === Number.NEGATIVE_INFINITY) {
      state.isDirty = true;
      // If the ledger does not answer, this gateway's own count decides.
      await Promise.race([sync(), new Promise(resolve => setTimeout(resolve, quotaTimeoutMs).unref())]);
    }
    return account.refusal(clock.now());
  }

  const state: State = {
    limits: JSON.stringify(limits),
    isDirty: false,
    admit(count) {
      const now = clock.now();
      usedAtMs = now;
      if (now - notedAtMs >= useMs) {
        notedAtMs = now;
        state.isDirty = true;
      }
      if (buckets.length === 0) return 0;
      // After a pause, the use by other gateways is unknown here.
      if (ledger.isShared && now - settledAtMs > pauseMs) {
        state.isDirty = true;
        void sync();
      }
      let waitMs = 0;
      for (const { bucket } of buckets) waitMs = Math.max(waitMs, bucket.waitMs(now, count));
      if (waitMs > 0) return waitMs;
      for (const { bucket } of buckets) bucket.take(now, count);
      state.isDirty = true;
      return 0;
    },
    addBytes(read) {
      account.add(clock.now(), read);
      state.isDirty = true;
    },
    quota: limits.bytesPerDay || limits.bytesPerMonth ? quota : undefined,
    drain() {
      state.isDirty = false;
      const rates = buckets.map(({ name, rate, bucket }) => ({
        name,
        intervalMs: rate.intervalMs,
        count: bucket.drain(),
      }));
      const drained = account.drain(clock.now());
      state.isDirty = account.isDirty;
      return { tokenId, rates, ...drained, usedAtMs };
    },
    settle(total, day) {
      const now = clock.now();
      settledAtMs = now;
      account.settle(now, total, day);
      total.debtsMs?.forEach((debtMs, at) => {
        buckets[at]?.bucket.reconcile(now, debtMs);
      });
    },
    restore(usage) {
      state.isDirty = true;
      usedAtMs = Math.max(usedAtMs, usage.usedAtMs);
      account.restore(usage);
    },
  };
  return state;
}
