import { GatewayError, toGatewayError } from '../base/errors.ts';
import { orAborted } from '../base/time-limit.ts';
import { createJoined, type Joined } from '../base/turns.ts';

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
 * Minimum milliseconds that a request must have left to run a query again that has just run out of its first caller's time. With less, it
 * would pay for the query twice, and most likely not get its rows either.
 */
export const minLeftMs = 1000;

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
        if (!concernsFirstOnly(error, flight, { caller, joinedMs })) throw error;
      }
    }
  };
}

/** Whether a load failed for a reason that concerns its first caller alone: then it is repeated for the others. */
function concernsFirstOnly(
  error: unknown,
  flight: Pick<Flight<unknown>, 'caller' | 'startedMs'>,
  { caller, joinedMs }: { readonly caller: string | undefined; readonly joinedMs: number },
): boolean {
  const { code } = toGatewayError(error);
  // The first caller has too many requests waiting.
  if (code === 'too_many_requests') return flight.caller !== caller;
  // The time began with the first caller: a later one has more of it left (decision 108).
  return code === 'deadline_exceeded' && joinedMs - flight.startedMs >= minLeftMs;
}
