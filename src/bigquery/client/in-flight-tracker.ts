import type { RunOptions } from '../../engine/engine.ts';
import { type Limit, startLimit } from '../../engine/start-limit.ts';

/** What an engine has under way, whether anybody waits for it or not: an engine that closes sees to its end. */
export type InFlightTracker = {
  /** Starts the time of a statement, which is over too when the engine closes. */
  startLimit(options: Pick<RunOptions, 'signal' | 'timeoutMs'>): Limit;
  /** Takes work in; whether it fails is for others to see. */
  add(work: Promise<unknown>): void;
  /**
   * Ends all limits; resolves when no work is left, nor any that it began.
   * @param reason what those who still wait are told
   */
  end(reason: Error): Promise<void>;
};

/** Makes an empty list of work. */
export function createInFlightTracker(): InFlightTracker {
  const open = new Set<Promise<unknown>>();
  // One for each limit: a signal for all of them would keep what listens to it for as long as the engine lives.
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
