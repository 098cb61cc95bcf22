/** One gateway's use of a token since its last exchange with the ledger. */
export type Usage = {
  readonly tokenId: string;
  readonly rates: readonly { readonly name: string; readonly intervalMs: number; readonly count: number }[];
  /** Bytes that queries read. */
  readonly bytes: number;
  /** The day of these bytes in UTC, `2026-01-15`; its month is the beginning of that. */
  readonly day: string;
  /** When the token was last used, as milliseconds since 1970. */
  readonly usedAtMs: number;
};

/** The use of a token by all gateways that share a ledger. */
export type TotalUsage = {
  /** In the order of the rates: milliseconds until each bucket is full again. Absent if gateways do not share them. */
  readonly debtsMs?: readonly number[];
  readonly bytesOfDay: number;
  readonly bytesOfMonth: number;
};

/** Where gateways keep the use of tokens: shared in Redis, or in a file. */
export type UsageLedger = {
  /** Milliseconds between two exchanges of one gateway, if something was used. */
  readonly intervalMs: number;
  /** Whether other gateways add to it all the time, so that a total is soon outdated. */
  readonly isShared: boolean;
  /**
   * Adds to the totals.
   * @returns the totals, in the order of `used`
   * @throws Error if the ledger does not answer; then it is unknown whether anything was added
   */
  exchange(used: readonly Usage[]): Promise<readonly TotalUsage[]>;
  /** When tokens were last used, by id; milliseconds since 1970, to the minute. */
  lastUses(tokenIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
};
