import { type Limit, startLimit } from '../../base/time-limit.ts';
import type { RunOptions } from '../../engine/engine.ts';

/** Tracks an engine's work in flight, whether or not a caller waits for it, so that closing the engine can end it. */
export type InFlightTracker = {
  /** Starts the deadline of a statement; it also ends when the engine closes. */
  startLimit(options: Pick<RunOptions, 'signal' | 'timeoutMs'>): Limit;
  /** Tracks work; its failure is handled elsewhere. */
  add(work: Promise<unknown>): void;
  /**
   * Ends all deadlines; resolves when no work is left, including work started meanwhile.
   * @param reason the error for requests that still wait
   */
  end(reason: Error): Promise<void>;
};

/** Makes a tracker without work. */
export function createInFlightTracker(): InFlightTracker {
  const open = new Set<Promise<unknown>>();
  // One for each deadline: a shared signal would keep its listeners for the engine's whole life.
  const stops = new Set<AbortController>();
  return {
    startLimit({ signal, timeoutMs }) {
      const stop = new AbortController();
      stops.add(stop);
      const limit = startLimit({ signal: AbortSignal.any([signal, stop.signal]), timeoutMs });
      const clear = () => {
        stops.delete(stop);
        limit.clear();
      };
      return { ...limit, clear };
    },
    add(work) {
      const ended = work
        .catch(() => undefined)
        .finally(() => {
          open.delete(ended);
        });
      open.add(ended);
    },
    async end(reason) {
      for (const stop of stops) stop.abort(reason);
      while (open.size > 0) await Promise.all(open);
    },
  };
}
