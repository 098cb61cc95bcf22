import { GatewayError } from '../base/errors.ts';

/** Where large operations wait for each other. */
export type LargeOperations = {
  /**
   * Takes a place, or waits for one in the order of the calls.
   * @returns gives the place back; call it once
   * @throws GatewayError `overloaded` where too many wait already; the signal's reason when it aborts first
   */
  take(signal: AbortSignal): Promise<() => void>;
};

/** Lets `max` large operations go on at the same time, while at most `maxWaiting` wait. */
export function createLargeOperations(max: number, maxWaiting: number): LargeOperations {
  let free = max;
  const waiting = new Set<() => void>();

  function release(): void {
    free++;
    const [next] = waiting;
    next?.();
  }

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free--;
        return release;
      }
      if (waiting.size >= maxWaiting) {
        throw new GatewayError('overloaded', `${maxWaiting} large GraphQL operations wait already`);
      }
      return new Promise((resolve, reject) => {
        const start = () => {
          waiting.delete(start);
          signal.removeEventListener('abort', giveUp);
          free--;
          resolve(release);
        };
        const giveUp = () => {
          waiting.delete(start);
          reject(signal.reason);
        };
        waiting.add(start);
        signal.addEventListener('abort', giveUp, { once: true });
      });
    },
  };
}
