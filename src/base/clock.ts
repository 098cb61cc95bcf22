/** The only source of wall-clock time; tests pass a frozen one. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a clock that nobody sets. Default: as `now`. */
  steady?(): number;
};

/** The host's clock. */
export const systemClock: Clock = { now: Date.now, steady: () => performance.now() };
