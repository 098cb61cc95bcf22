/**
 * Maximum changes of the address in ten seconds that are written at once; further ones wait for a pause. WebKit throws at the hundred and
 * first, and a key that is held down makes three hundred.
 */
const maxChanges = 50;
const windowMs = 10_000;
const pauseMs = 500;

let changes = 0;
let sinceMs = -Infinity;
let pending: ReturnType<typeof setTimeout> | undefined;

/** Adds a step to the history of the tab. */
export function pushAddress(address: string): void {
  dropPending();
  history.pushState(undefined, '', address);
}

/** Changes the address of the current step, at once or after a pause. */
export function replaceAddress(address: string): void {
  dropPending();
  const nowMs = performance.now();
  if (nowMs - sinceMs > windowMs) [changes, sinceMs] = [0, nowMs];
  const write = () => history.replaceState(undefined, '', address);
  if (++changes > maxChanges) pending = setTimeout(write, pauseMs);
  else write();
}

/** Drops a change that waits: the tab has gone to another step. */
export function dropPending(): void {
  clearTimeout(pending);
}
