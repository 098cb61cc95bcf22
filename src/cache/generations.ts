import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** The generations of all groups, as far as this process knows. */
export type Generations = {
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
export function createGenerations(): Generations {
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
