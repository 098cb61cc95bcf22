import { setImmediate } from 'node:timers/promises';

/** After a turn of up to this many milliseconds, hardly any received bytes can be unread. */
const shortMs = 20;

/** Maximum turns to wait: after that the event loop is too busy to wait longer. */
const maxTurns = 10;

/**
 * Resolves when everything that clients have sent so far is read. Node runs timers before it reads from sockets: without this, a request
 * that arrived while the event loop was busy would be lost with a connection that a timer ends, and its client would see a reset.
 */
export async function afterReading(): Promise<void> {
  // The rest of this turn does not count: sockets may have been read long before it.
  await setImmediate();
  for (let turns = 0; turns < maxTurns; turns++) {
    const startedMs = performance.now();
    await setImmediate();
    if (performance.now() - startedMs < shortMs) return;
  }
}
