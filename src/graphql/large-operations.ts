import { GatewayError } from '../base/errors.ts';

/** A semaphore for large operations. */
export type LargeOperations = {
  /**
   * Acquires a permit, in the order of the calls.
   * @returns releases the permit; call it once
   * @throws GatewayError `overloaded` if too many wait already; the signal's reason when it aborts first
   */
  take(signal: AbortSignal): Promise<() => void>;
};

/** Lets `max` large operations run at the same time, while at most `maxWaiting` wait. */
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
