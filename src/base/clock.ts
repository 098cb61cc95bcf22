/** The only source of wall-clock time; tests pass a frozen one. */
export type Clock = {
  /** Milliseconds since 1970. */
  now(): number;
};

/** The host's clock. */
export const systemClock: Clock = Date;
