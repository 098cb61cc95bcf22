import { randomUUID } from 'node:crypto';

/** The generations of all groups, as far as this process knows. */
export type Generations = {
  /** Empty for a group that never had one. */
  of(group: string): string;
  /** From now on this is the group's generation. */
  set(group: string, generation: string): void;
  /**
   * Begins a read of the store; its result says nothing about groups whose generation changes meanwhile.
   * @returns a function that takes the generation read; false if the store has lost it: the group needs a new one
   */
  startRead(): (group: string, generation: string) => boolean;
  /** Invalidates this process's entries of a group until the store has been asked. */
  forget(group: string): void;
};

/** Makes an empty list. */
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
