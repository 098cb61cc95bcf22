/** What one gateway has used of a token since it last said so. */
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

/** What all gateways that share a ledger have used of a token. */
export type TotalUsage = {
  /** In the order of the rates: milliseconds from now at which each bucket is full again. Absent where gateways do not share them. */
  readonly debtsMs?: readonly number[];
  readonly bytesOfDay: number;
  readonly bytesOfMonth: number;
};

/** Where gateways keep what tokens have used: shared in Redis, or in a file. */
export type UsageLedger = {
  /** Milliseconds between two exchanges of one gateway, if something was used. */
  readonly intervalMs: number;
  /** Whether others add to it all the time, so that a total is soon too low. */
  readonly isShared: boolean;
  /**
   * Adds up what was used.
   * @returns the totals, in the order of `used`
   * @throws Error where the ledger does not answer: nothing was added, or nobody knows
   */
  exchange(used: readonly Usage[]): Promise<readonly TotalUsage[]>;
  /** When tokens were last used, by their ids; milliseconds since 1970, to the minute. */
  lastUses(tokenIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
};
