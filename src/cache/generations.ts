import { randomUUID } from 'node:crypto';

/** The generations of all groups, as far as this process knows. */
export type Generations = {
  /** The generation of a group; empty if it never had one. */
  of(group: string): string;
  /** Replaces the generation of a group. */
  set(group: string, generation: string): void;
  /**
   * Begins a read of the store; its result says nothing about groups whose generation changes meanwhile.
   * @returns a function that takes the generation read; false if the store has lost it: the group needs a new one
   */
  startRead(): (group: string, generation: string) => boolean;
  /** Invalidates this process's entries of a group: gives it a generation of its own until the store is asked. */
  forget(group: string): void;
};

/** Makes a table without generations. */
export function createGenerations(): Generations {
  const known = new Map<string, { generation: string; at: number }>();
  let messageCount = 0;

  function set(group: string, generation: string): void {
    messageCount++;
    known.set(group, { generation, at: messageCount });
  }

  return {
    of: group => known.get(group)?.generation ?? '',
    set,
    startRead() {
      const startedAt = messageCount;
      return (group, generation) => {
        const { at, generation: before } = known.get(group) ?? { at: 0, generation: '' };
        // Accepting an empty one would make entries from before the first bump valid again.
        if (generation === '' && before !== '') return false;
        if (at <= startedAt) known.set(group, { generation, at });
        return true;
      };
    },
    forget: group => set(group, randomUUID()),
  };
}
