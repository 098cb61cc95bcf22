import type { QueryPriority } from '../engine/engine.ts';
import { GatewayError } from '../errors.ts';

/** A bounded number of things that may happen at the same time. */
export type Slots = {
  /**
   * Waits for a free slot, in the order of the calls. What runs in the background comes after all others, and leaves them
   * one slot where there is more than one; after so many others in a row one of it goes first, so that none waits for ever.
   * @returns gives the slot back; call it once
   * @throws GatewayError `overloaded` where too many wait already; the signal's reason when it aborts first
   */
  take(signal: AbortSignal, priority?: QueryPriority): Promise<() => void>;
};

/** Starts of others in a row, while the background waits, after which one of the background is next. */
const maxAhead = 8;

/** Makes `count` free slots, for which at most `maxWaiting` callers wait. */
export function createSlots(count: number, maxWaiting: number): Slots {
  let free = count;
  let inBackground = 0;
  let ahead = 0;
  const maxInBackground = Math.max(1, count - 1);
  const queues = { interactive: new Set<() => void>(), background: new Set<() => void>() };

  function mayStart(priority: QueryPriority): boolean {
    if (priority === 'interactive') return free > 0;
    const isItsTurn = queues.interactive.size === 0 || ahead >= maxAhead;
    return free > 0 && isItsTurn && inBackground < maxInBackground;
  }

  function start(priority: QueryPriority): () => void {
    free--;
    if (priority === 'background') inBackground++;
    ahead = priority === 'background' || queues.background.size === 0 ? 0 : ahead + 1;
    return () => {
      free++;
      if (priority === 'background') inBackground--;
      if (ahead >= maxAhead) startNext('background');
      startNext('interactive');
      startNext('background');
    };
  }

  function startNext(priority: QueryPriority): void {
    const [next] = queues[priority];
    if (!next || !mayStart(priority)) return;
    queues[priority].delete(next);
    next();
  }

  return {
    async take(signal, priority = 'interactive') {
      signal.throwIfAborted();
      if (mayStart(priority)) return start(priority);
      const queue = queues[priority];
      if (queue.size >= maxWaiting) {
        throw new GatewayError(
          'overloaded',
          `${count} queries are running and ${maxWaiting} are waiting already`,
        );
      }
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const begin = () => resolve(start(priority));
      const leave = () => {
        queue.delete(begin);
        reject(signal.reason);
      };
      queue.add(begin);
      signal.addEventListener('abort', leave, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
  };
}
