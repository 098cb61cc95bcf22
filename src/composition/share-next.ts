/**
 * Wraps a task so that calls during a run share the next one: each result is from a run that began after the call.
 * @param pause waited for after each run, before the next one begins. Default: none
 */
export function shareNext<Result>(
  task: () => Promise<Result>,
  pause: () => Promise<void> = async () => undefined,
): () => Promise<Result> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Result> | undefined;

  function start(): Promise<Result> {
    next = undefined;
    const run = task();
    const ended: Promise<unknown> = run
      .catch(() => undefined)
      .then(pause)
      .finally(() => {
        if (running === ended) running = undefined;
      });
    running = ended;
    return run;
  }

  return () => {
    if (!running) return start();
    next ??= running.then(start);
    return next;
  };
}
