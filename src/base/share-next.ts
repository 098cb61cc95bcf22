/**
 * Makes a task that runs once for all who ask while it runs: they share the next run, so each result is of after its call.
 */
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
