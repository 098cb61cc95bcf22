import { randomUUID } from 'node:crypto';
import DataLoader from 'dataloader';
import type { Clock } from '../base/clock.ts';
import { createJoined, type Joined } from '../base/turns.ts';
import type { Store } from '../store/store.ts';
import type { CacheKey, CacheRequest } from './cache-request.ts';
import {
  decodeEntry,
  decompressedBytes,
  type Entry,
  encodeEntry,
  versionInBytes,
  versionOf,
} from './entry.ts';
import { freshnessOf, keptMs, maxSkewMs } from './freshness.ts';
import type { Budget, GuardedStore } from './guarded-store.ts';
import type { LocalEntries } from './local-entries.ts';

/** Reads entries from both tiers; if they differ, the store's wins. */
export type StoredEntries = {
  /**
   * The store's entry, or this process's if the store does not contradict it; and the remaining budget for the store.
   * @param known an entry that was read before: the same object is returned if the store still has it
   */
  newest(
    request: CacheRequest,
    known?: Entry,
  ): Promise<{ readonly entry: Entry | undefined; readonly budget: Budget }>;
};

type StoredEntriesDeps = {
  readonly store: GuardedStore;
  readonly local: LocalEntries;
  readonly clock: Clock;
};

/** Makes the reader of both tiers. */
export function createStoredEntries(deps: StoredEntriesDeps): StoredEntries {
  const { store, local } = deps;
  const read = createBatchedRead(deps);
  const decodeOnce = createDecoder();

  /** Decodes a stored value, or returns the entry that is in memory already: its redacted and compressed forms stay in use. */
  function decode(
    value: Buffer,
    request: CacheRequest,
    known: Entry | undefined,
  ): Entry | undefined | Promise<Entry | undefined> {
    const version = versionOf(value);
    const there = [local.get(request.key), known].find(entry => entry?.version === version);
    return there ?? decodeOnce(version, value, request);
  }

  /** @param stored the decoded value of the answer */
  function choose(
    request: CacheRequest,
    { isKnown, value }: StoreAnswer,
    stored: Entry | undefined,
    { before, isCurrent, isNewest }: SinceAsked,
  ): Entry | undefined {
    const { key } = request;
    const held = local.get(key);
    if (!isKnown) return held;
    if (stored && isCurrent && local.wasRemoved(stored)) {
      // The store was restored from a copy without the tombstone.
      void store.call('remove', { remainingMs: store.budgetMs }, it => it.remove(key.digest));
      return undefined;
    }
    // A query of this process has made a newer entry meanwhile.
    if (held && stored && held !== before && held.createdAtMs > stored.createdAtMs) return held;
    // An invalidated entry leaves a tombstone; without one, the store has only lost its copy, or was away when a newer entry was made.
    const isLost = !value && held;
    const isNewer =
      held !== undefined && stored !== undefined && isNewerInMemory(deps, held, stored, request);
    if (isLost || isNewer) putBack(deps, request, held, stored?.version);
    const entry = isLost || isNewer ? held : stored;
    if (entry?.generation !== local.generations.of(key.group)) {
      local.drop(key.digest);
      return undefined;
    }
    if (isCurrent) local.keep(key, entry, { isCompared: isNewest, isUnshared: isNewer });
    return entry;
  }

  /** The store's answer, and its value as an entry. */
  async function ask(request: CacheRequest, known: Entry | undefined) {
    const answer = await read(request.key);
    const { value } = answer;
    return { answer, stored: value && (await decode(value, request, known)) };
  }

  return {
    async newest(request, known) {
      const { removals } = local;
      const before = local.get(request.key);
      const endRead = local.startRead(request.key.digest);
      let isNewest = false;
      const { answer, stored } = await ask(request, known).finally(() => {
        isNewest = endRead();
      });
      const since = { before, isCurrent: local.removals === removals, isNewest };
      const entry = choose(request, answer, stored, since);
      return { entry, budget: { remainingMs: answer.remainingMs } };
    },
  };
}

/**
 * Makes a function that decodes a value of the store, once for concurrent requests.
 * @throws GatewayError `too_many_requests` from the request's `claim`, before it begins
 */
function createDecoder() {
  /** By version. */
  const decoding = new Map<string, { readonly entry: Promise<Entry | undefined>; readonly joined: Joined }>();

  function start(version: string, value: Buffer, { key: { canonical }, caller, claim }: CacheRequest) {
    const bytes = decompressedBytes(value);
    if (bytes > 0) claim?.(bytes);
    const joined = createJoined();
    const entry = decodeEntry(value, canonical, { caller, joined }).finally(() => decoding.delete(version));
    const running = { entry, joined };
    decoding.set(version, running);
    return running;
  }

  return (version: string, value: Buffer, request: CacheRequest): Promise<Entry | undefined> => {
    const { entry, joined } = decoding.get(version) ?? start(version, value, request);
    joined.add(request.caller);
    request.joined?.follow(joined.add);
    return entry;
  };
}

/** What has happened since the store was asked. */
type SinceAsked = {
  /** The entry this process had then. */
  readonly before: Entry | undefined;
  /** Whether no entry was invalidated. */
  readonly isCurrent: boolean;
  /** Whether no other entry of the key was published. */
  readonly isNewest: boolean;
};

/**
 * Whether the entry in memory was made while the store was away, is fresh, and newer than the store's by more than the clocks of gateways
 * differ. It was not invalidated: the store's is from before that, so it would not have come back after it.
 */
function isNewerInMemory(
  { local, clock }: StoredEntriesDeps,
  held: Entry,
  stored: Entry,
  { key, lifetimes }: CacheRequest,
): boolean {
  const isFresh = freshnessOf(clock.now() - held.createdAtMs, lifetimes) === 'fresh';
  return isFresh && local.isUnshared(key) && held.createdAtMs - stored.createdAtMs > 2 * maxSkewMs;
}

/**
 * Gives a fresh entry to a store that lacks it, unless another gateway is making a newer one.
 * @param older version of the store's own entry, if it has one
 */
function putBack(
  { store, clock }: StoredEntriesDeps,
  { key, lifetimes }: CacheRequest,
  entry: Entry,
  older: string | undefined,
): void {
  const ageMs = clock.now() - entry.createdAtMs;
  if (freshnessOf(ageMs, lifetimes) !== 'fresh') return;
  const token = randomUUID();
  const { budgetMs } = store;
  const knownVersion = older === undefined ? undefined : versionInBytes(older);
  void store.call('claim', { remainingMs: budgetMs }, async it => {
    const { state } = await it.claim(key.digest, { token, leaseMs: 2 * budgetMs, knownVersion });
    if (state !== 'granted') return;
    await it.publish(key.digest, token, await encodeEntry(entry), keptMs(lifetimes) - ageMs);
  });
}

/** The store's answer for a key, and how much of the request's budget is left. */
type StoreAnswer = {
  /** False if the store did not answer. */
  readonly isKnown: boolean;
  readonly value: Buffer | undefined;
  readonly remainingMs: number;
};

/** Maximum number of entries in one read. */
const maxBatch = 200;

/** Makes a reader that asks the store once for all keys requested in the same turn of the event loop. */
function createBatchedRead({ store, local }: StoredEntriesDeps): (key: CacheKey) => Promise<StoreAnswer> {
  const loader = new DataLoader<CacheKey, StoreAnswer>(readAll, {
    cache: false,
    maxBatchSize: maxBatch,
    // Runs once all requests that have arrived are parsed, so that one write sends all their keys to the store.
    batchScheduleFn: read => void setImmediate(read),
  });
  const bumping = new Set<string>();
  return key => loader.load(key);

  /** Gives a group a new generation, once for all reads that found that the store has lost it. */
  function bump(group: string): void {
    if (bumping.has(group)) return;
    bumping.add(group);
    const run = (it: Store) => it.bumpGeneration(group);
    void store.call('bumpGeneration', { remainingMs: store.budgetMs }, run).finally(() => {
      bumping.delete(group);
    });
  }

  async function readAll(keys: readonly CacheKey[]): Promise<StoreAnswer[]> {
    const budget: Budget = { remainingMs: store.budgetMs };
    const groups = [...new Set(keys.map(({ group }) => group))];
    const digests = [...new Set(keys.map(({ digest }) => digest))];
    const indexes = new Map(digests.map((digest, index) => [digest, index]));
    const learn = local.generations.startRead();
    const answer = await store.call('read', budget, it => it.read(digests, groups));
    for (const [at, group] of groups.entries())
      if (answer && !learn(group, answer.generations[at] ?? '')) bump(group);
    const { remainingMs } = budget;
    const isKnown = answer !== undefined;
    return keys.map(({ digest }) => ({ isKnown, value: answer?.values[indexes.get(digest)!], remainingMs }));
  }
}
