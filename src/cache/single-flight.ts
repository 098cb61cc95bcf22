import { GatewayError, toGatewayError } from '../base/errors.ts';
import { orAborted } from '../base/or-aborted.ts';

/** Runs one load for any number of callers who ask for the same key at the same time. */
export type SingleFlight<T> = (
  key: string,
  signal: AbortSignal,
  load: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

type Flight<T> = { readonly result: Promise<T>; readonly cancel: AbortController; waiting: number };

/**
 * Makes an empty registry of flights. A caller whose signal aborts leaves at once; the load goes on for the others
 * and is aborted when the last one leaves.
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

  async function wait(key: string, flight: Flight<T>, signal: AbortSignal): Promise<T> {
    flight.waiting++;
    try {
      return await orAborted(flight.result, signal);
    } finally {
      flight.waiting--;
      if (flight.waiting === 0) {
        // A flight that has landed is no longer registered and has nothing to cancel.
        if (flights.get(key) === flight) {
          flights.delete(key);
          flight.cancel.abort(new GatewayError('cancelled', 'Nobody waits for the answer any more'));
        }
      }
    }
  }

  return async (key, signal, load) => {
    for (;;) {
      signal.throwIfAborted();
      const others = flights.get(key);
      try {
        return await wait(key, others ?? start(key, load), signal);
      } catch (error) {
        // It was refused because its first caller has too much waiting, which is no reason to refuse another caller.
        if (!others || toGatewayError(error).code !== 'too_many_requests') throw error;
      }
    }
  };
}
