import { orAborted } from '../or-aborted.ts';

/** Runs one load for any number of callers who ask for the same key at the same time. */
export type SingleFlight<T> = (
  key: string,
  signal: AbortSignal,
  load: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

type Flight<T> = { readonly result: Promise<T>; readonly cancel: AbortController; waiting: number };

/**
 * Makes an empty flight board. A caller whose signal aborts leaves at once; the load goes on for the others,
 * and is aborted when the last one has left.
 */
export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>();

  function start(key: string, load: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const cancel = new AbortController();
    const landed = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    const result = load(cancel.signal).finally(landed);
    const flight: Flight<T> = { result, cancel, waiting: 0 };
    flights.set(key, flight);
    return flight;
  }

  return async (key, signal, load) => {
    signal.throwIfAborted();
    const flight = flights.get(key) ?? start(key, load);
    flight.waiting++;
    try {
      return await orAborted(flight.result, signal);
    } finally {
      flight.waiting--;
      if (flight.waiting === 0) {
        // One that has landed is not on the board any more, and has nothing to cancel.
        if (flights.get(key) === flight) {
          flights.delete(key);
          flight.cancel.abort();
        }
      }
    }
  };
}
