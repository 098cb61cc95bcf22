import { GatewayError } from '../errors.ts';

/** A bounded number of things that may happen at the same time. */
export type Slots = {
  /**
   * Waits for a free slot, in the order of the calls.
   * @returns gives the slot back; call it once
   * @throws GatewayError `overloaded` where too many wait already; the signal's reason when it aborts first
   */
  take(signal: AbortSignal): Promise<() => void>;
};

/** Makes `count` free slots, for which at most `maxWaiting` callers wait. */
export function createSlots(count: number, maxWaiting: number): Slots {
  let free = count;
  const queue = new Set<() => void>();

  const release = () => {
    const [next] = queue;
    if (!next) {
      free++;
      return;
    }
    queue.delete(next);
    next();
  };

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free--;
        return release;
      }
      if (queue.size >= maxWaiting) {
        throw new GatewayError(
          'overloaded',
          `${count} queries are running and ${maxWaiting} are waiting already`,
        );
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const leave = () => {
        queue.delete(resolve);
        reject(signal.reason);
      };
      queue.add(resolve);
      signal.addEventListener('abort', leave, { once: true });
      try {
        await promise;
      } finally {
        signal.removeEventListener('abort', leave);
      }
      return release;
    },
  };
}
