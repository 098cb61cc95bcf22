/** Work that one caller's input causes in the gateway's own process, and that must not hold its event loop. */
export type StallInput = {
  /** What the input is, in a few words: a row of the table. */
  readonly name: string;
  /** Does the work once, as the gateway does it. What it throws counts as a refusal. */
  run(): unknown;
};
