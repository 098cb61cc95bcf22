import { setImmediate } from 'node:timers/promises';

/** Milliseconds of a turn in which hardly anything can have come unnoticed. */
const shortMs = 20;

/** Turns after which the event loop is too busy to wait longer. */
const maxTurns = 10;

/**
 * Resolves when what clients have sent so far is read. Node's timers run before it reads from sockets: a request that came while the event loop
 * was busy would be lost with a connection that a timer ends, and its client told of a reset.
 */
export async function afterReading(): Promise<void> {
  // What is left of this turn says nothing: sockets may have been read long before.
  await setImmediate();
  for (let turns = 0; turns < maxTurns; turns++) {
    const startedMs = performance.now();
    await setImmediate();
    if (performance.now() - startedMs < shortMs) return;
  }
}
