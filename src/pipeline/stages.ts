/** A named part of a request's time; the `Server-Timing` header lists them. */
export type Stage = { readonly name: string; readonly ms: number };

/** A stopwatch with laps. */
export type Stages = {
  /** Ends a lap: the time since the last one belongs to this stage. */
  done(name: string): void;
  list(): readonly Stage[];
  totalMs(): number;
};

/** Starts a stopwatch. */
export function startStages(): Stages {
  const list: Stage[] = [];
  const startedMs = performance.now();
  let lapMs = startedMs;
  return {
    done(name) {
      const nowMs = performance.now();
      list.push({ name, ms: nowMs - lapMs });
      lapMs = nowMs;
    },
    list: () => list,
    totalMs: () => performance.now() - startedMs,
  };
}
