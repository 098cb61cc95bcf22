import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { bytesOfColumns } from '../base/rows.ts';
import type { StoreMessage } from '../store/store.ts';
import type { CacheKey } from './cache-request.ts';
import type { Entry } from './entry.ts';

/** The entries in the memory of this process, and whether they can be trusted. */
export type LocalEntries = {
  readonly generations: Generations;
  /** The entry of a key, unless this process knows that it was invalidated. */
  get(key: CacheKey): Entry | undefined;
  /** The same entry, if the store's cannot have changed since they were compared. */
  getTrusted(key: CacheKey): Entry | undefined;
  /**
   * Keeps an entry that the store has, or would have if it answered.
   * @param options.isCompared whether the store is known to have the same entry; if not, it is asked before the entry is trusted
   * @param options.isUnshared whether the store did not answer when the entry was made. Default: it did
   */
  keep(
    key: CacheKey,
    entry: Entry,
    options: { readonly isCompared: boolean; readonly isUnshared?: boolean },
  ): void;
  /** Whether the store did not answer when the entry of a key was made. */
  isUnshared(key: CacheKey): boolean;
  /**
   * Begins a read of the store.
   * @returns ends it, and says whether no other entry of the key was published meanwhile: what was read may be trusted
   */
  startRead(digest: string): () => boolean;
  /** Forgets an entry that turned out to be invalidated. */
  drop(digest: string): void;
  /** Forgets an entry that is being invalidated; the results of store reads that began earlier are not kept. */
  remove(digest: string): void;
  /** Whether an entry was invalidated while this process had it. */
  wasRemoved(entry: Entry): boolean;
  /** Count of invalidations of single entries so far, here or elsewhere; a gap in the messages counts as one because it may hide some. */
  readonly removals: number;
  receive(message: StoreMessage): void;
};

type Held = {
  readonly entry: Entry;
  /** The epoch of uninterrupted messages in which it was last compared with the store; undefined if it must be compared again. */
  epoch: number | undefined;
  readonly isUnshared: boolean;
};

/**
 * Makes an empty cache; the least recently used entries are dropped first.
 * @param maxBytes of all entries, each body counted twice because its redacted form may be kept too; 0 = nothing is kept
 */
export function createLocalEntries(maxBytes: number): LocalEntries {
  const generations = createGenerations();
  const entries =
    maxBytes === 0 ? undefined : new LRUCache<string, Held>({ maxSize: maxBytes, sizeCalculation: bytesOf });
  // An epoch ends when messages stop arriving; entries of earlier epochs are compared with the store again.
  let epoch = 0;
  let isConnected = false;
  let removals = 0;
  /** Versions of entries that were invalidated. */
  const removed = new LRUCache<string, true>({ max: 10_000 });
  /** Keys that are being read, by how many, and publications since the first of them began. */
  const reads = new Map<string, { open: number; publications: number }>();

  function remove(digest: string): void {
    removals++;
    const found = entries?.peek(digest);
    if (found) removed.set(found.entry.version, true);
    entries?.delete(digest);
  }

  function held({ group, digest, canonical }: CacheKey): Held | undefined {
    const found = entries?.get(digest);
    if (found?.entry.canonical !== canonical) return undefined;
    return found.entry.generation === generations.of(group) ? found : undefined;
  }

  return {
    generations,
    get: key => held(key)?.entry,
    getTrusted(key) {
      const found = held(key);
      return found && isConnected && found.epoch === epoch ? found.entry : undefined;
    },
    keep({ digest }, entry, { isCompared, isUnshared = false }) {
      entries?.set(digest, { entry, epoch: isCompared ? epoch : undefined, isUnshared });
    },
    isUnshared: key => held(key)?.isUnshared ?? false,
    startRead(digest) {
      const read = reads.get(digest) ?? { open: 0, publications: 0 };
      reads.set(digest, read);
      read.open++;
      const { publications } = read;
      return () => {
        if (--read.open === 0) reads.delete(digest);
        return read.publications === publications;
      };
    },
    drop: digest => void entries?.delete(digest),
    remove,
    wasRemoved: ({ version }) => removed.has(version),
    get removals() {
      return removals;
    },
    receive(message) {
      switch (message.type) {
        case 'connected':
          epoch++;
          removals++;
          isConnected = true;
          return;
        case 'disconnected':
          isConnected = false;
          return;
        case 'group':
          generations.set(message.group, message.generation);
          return;
        case 'removed':
          remove(message.key);
          return;
        case 'published': {
          const found = entries?.peek(message.key);
          if (found) found.epoch = undefined;
          const read = reads.get(message.key);
          if (read) read.publications++;
        }
      }
    },
  };
}

/** Bytes of an entry besides its texts: objects, keys, list links. */
const overheadBytes = 1024;

function bytesOf({ entry }: Held): number {
  return 2 * entry.body.length + entry.canonical.length + bytesOfColumns(entry.columns) + overheadBytes;
}

/** The generations of all groups, as far as this process knows. */
type Generations = {
  /** The generation of a group; empty if it never had one. */
  of(group: string): string;
  /** Replaces the generation of a group. */
  set(group: string, generation: string): void;
  /**
   * Begins a read of the store; its result says nothing about groups whose generation changes meanwhile.
   * @returns a function that takes the generation read; false if the store has lost a later one: the group needs a new one
   */
  startRead(): (group: string, generation: string) => boolean;
  /** Invalidates this process's entries of a group: gives it a generation of its own until the store is asked. */
  forget(group: string): void;
};

type Known = {
  readonly generation: string;
  /** The last one that the store is known to have had. */
  readonly stored: string;
  /** Number of changes when it became known. */
  readonly at: number;
};

const unknown: Known = { generation: '', stored: '', at: 0 };

/** Makes a table without generations. */
function createGenerations(): Generations {
  const known = new Map<string, Known>();
  /** Generations that others have replaced: a store that gives one was restored from a copy without the later one. */
  const replaced = new LRUCache<string, true>({ max: 1000 });
  let changes = 0;

  const knownOf = (group: string) => known.get(group) ?? unknown;

  return {
    of: group => knownOf(group).generation,
    set(group, generation) {
      const { stored } = knownOf(group);
      if (stored !== '') replaced.set(stored, true);
      // A read may have been faster than the messages.
      replaced.delete(generation);
      known.set(group, { generation, stored: generation, at: ++changes });
    },
    startRead() {
      const startedAt = changes;
      return (group, generation) => {
        const { at, generation: before } = knownOf(group);
        if (at > startedAt) return true;
        // Accepting an older one would make entries from before the last invalidation valid again.
        if (replaced.has(generation) || (generation === '' && before !== '')) return false;
        known.set(group, { generation, stored: generation, at });
        return true;
      };
    },
    forget(group) {
      known.set(group, { ...knownOf(group), generation: randomUUID(), at: ++changes });
    },
  };
}
