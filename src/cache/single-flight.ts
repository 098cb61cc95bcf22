import { GatewayError, toGatewayError } from '../base/errors.ts';
import { orAborted } from '../base/time-limit.ts';
import { concernsFirstOnly, createJoined, type Joined } from '../base/turns.ts';

/**
 * Runs one load for any number of requests for the same key at the same time.
 * @param load receives the named callers who wait for it
 * @param caller the name by which turns are shared fairly. Default: none
 */
export type SingleFlight<T> = (
  key: string,
  signal: AbortSignal,
  load: (signal: AbortSignal, joined: Joined) => Promise<T>,
  caller?: string,
) => Promise<T>;

type Flight<T> = {
  readonly result: Promise<T>;
  readonly cancel: AbortController;
  readonly joined: Joined;
  /** The caller in whose name it loads. */
  readonly caller: string | undefined;
  /** When it began, as `performance.now()`. */
  readonly startedMs: number;
  waiting: number;
};

/**
 * Makes an empty registry of flights. A caller whose signal aborts leaves at once; the load goes on for the others
 * and is aborted when the last one leaves.
 */
export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>();

  function start(key: string, load: Parameters<SingleFlight<T>>[2], caller: string | undefined): Flight<T> {
    const cancel = new AbortController();
    const joined = createJoined();
    const landed = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    const result = load(cancel.signal, joined).finally(landed);
    const flight: Flight<T> = { result, cancel, joined, caller, startedMs: performance.now(), waiting: 0 };
    flights.set(key, flight);
    return flight;
  }

  async function wait(
    key: string,
    flight: Flight<T>,
    signal: AbortSignal,
    caller: string | undefined,
  ): Promise<T> {
    flight.waiting++;
    try {
      flight.joined.add(caller);
      return await orAborted(flight.result, signal);
    } finally {
      flight.waiting--;
      if (flight.waiting === 0) {
        // A flight that has finished is no longer registered, and there is nothing to cancel.
        if (flights.get(key) === flight) {
          flights.delete(key);
          flight.cancel.abort(new GatewayError('cancelled', 'Nobody waits for the answer any more'));
        }
      }
    }
  }

  return async (key, signal, load, caller) => {
    for (;;) {
      signal.throwIfAborted();
      const joinedMs = performance.now();
      const flight = flights.get(key) ?? start(key, load, caller);
      try {
        return await wait(key, flight, signal, caller);
      } catch (error) {
        // Those who joined late have the time left that they came late.
        const leftMs = joinedMs - flight.startedMs;
        const { code } = toGatewayError(error);
        if (!concernsFirstOnly(code, { isFirst: flight.caller === caller, leftMs })) throw error;
      }
    }
  };
}
