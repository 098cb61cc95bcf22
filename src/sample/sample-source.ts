/**
 * What sample rows look like: SQL expressions over the tick number `i`, the time `ts`, and the columns before them in the
 * same list. Everything is drawn from hashes of `i`, so a tick's row is the same on every machine.
 */
export type SampleSource = {
  /** Rows for each edge row. */
  readonly share: number;
  /** Named expressions that several leaves share; each may use those before it. */
  readonly draws: Readonly<Record<string, string>>;
  /**
   * The value of each leaf, by dotted path. A record exists if a leaf below it is given; a condition under its path with a `?`
   * appended omits it from some rows.
   */
  readonly leaves: Readonly<Record<string, string>>;
};
