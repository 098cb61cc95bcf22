/** Wraps a task so that calls during a run share the next one: each result is from a run that began after the call. */
export function shareNext<Result>(task: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Result> | undefined;

  function start(): Promise<Result> {
    next = undefined;
    const run = task();
    const ended: Promise<unknown> = run
      .catch(() => undefined)
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
