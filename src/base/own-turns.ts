/**
 * Makes a function that waits for a turn of the event loop that no other of its callers gets: what each does next, promises that
 * are ready included, never adds up with what the others do.
 */
export function createOwnTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise(resolve => setImmediate(resolve)));
    return last;
  };
}
