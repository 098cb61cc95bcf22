/** A named part of a request's time; the `Server-Timing` header lists them. */
export type Stage = { readonly name: string; readonly ms: number };

/**
 * Starts a stopwatch with laps.
 * @param elapsedMs monotonic milliseconds; default: the process's own
 */
export function startStages(elapsedMs: () => number = () => performance.now()) {
  const list: Stage[] = [];
  const startedMs = elapsedMs();
  let lapMs = startedMs;
  return {
    /** Ends a lap: the time since the last one belongs to this stage. */
    done(name: string): void {
      const nowMs = elapsedMs();
      list.push({ name, ms: nowMs - lapMs });
      lapMs = nowMs;
    },
    list: (): readonly Stage[] => list,
    totalMs: (): number => elapsedMs() - startedMs,
  };
}
