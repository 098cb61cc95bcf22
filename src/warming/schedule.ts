/**
 * The port that decides when keys are warmed, shared by all workers. Keys that one run can answer form a group, which becomes due as
 * a whole; a key stays as long as it is read. All times are those of the schedule's own clock.
 */
export type WarmSchedule = {
  /** Records that keys were read; each is in the list at most once. A new key joins its group; a new group is due one period from now. */
  recordReads(keys: readonly WarmKey[]): Promise<void>;
  /**
   * Claims the group that has been due longest for `leaseMs` milliseconds: no other worker gets it during that time.
   * Keys that were not read within their lifetime are dropped.
   * @param token unique name of the claim
   * @returns undefined if no group is due
   */
  claim(token: string, leaseMs: number): Promise<ClaimedGroup | undefined>;
  /** The next page of keys of a claimed group. @param next of the page before */
  keysAfter(group: string, next: string): Promise<KeyPage>;
  /** Makes a claim last another `leaseMs` from now; false if the token no longer holds it. */
  extend(group: string, token: string, leaseMs: number): Promise<boolean>;
  /** Ends a claim, sets when the group is due again, and adds to the totals. Returns false, and changes nothing more, if the claim is lost. */
  settle(group: string, token: string, result: WarmResult): Promise<boolean>;
  state(): Promise<ScheduleState>;
  close(): Promise<void>;
};

export type WarmKey = {
  /** The cache key's digest. */
  readonly digest: string;
  readonly group: string;
  /** Name of the endpoint. */
  readonly endpoint: string;
  /** The endpoint, its parameters and the caller's SQL as JSON: what a worker needs to run the query again. */
  readonly payload: string;
  /** Milliseconds between two runs of a new group. */
  readonly periodMs: number;
  /** Milliseconds from its last read until the key is dropped. */
  readonly lifetimeMs: number;
};

/** Some keys of a group, perhaps none. */
export type KeyPage = {
  readonly keys: readonly Pick<WarmKey, 'digest' | 'payload'>[];
  /** Where the next page begins; absent after the last one. */
  readonly next: string | undefined;
};

export type ClaimedGroup = KeyPage & {
  readonly group: string;
  /** Milliseconds since it became due. */
  readonly lateMs: number;
  /** Runs in a row that failed. */
  readonly failures: number;
};

export type WarmResult = {
  readonly dueInMs: number;
  /** Runs in a row that failed, this one included. */
  readonly failures: number;
  /** Keys that are no longer warmed. */
  readonly dropped: readonly string[];
  /** Numbers to add to the totals, by name. */
  readonly counts: Readonly<Record<string, number>>;
};

export type ScheduleState = {
  /** Groups by due time, earliest first; at most `maxShownGroups`. */
  readonly groups: readonly GroupState[];
  readonly keys: number;
  /** Sums of all results' counts, over all workers. */
  readonly totals: Readonly<Record<string, number>>;
};

export type GroupState = {
  /** Name of the endpoint. */
  readonly endpoint: string;
  readonly group: string;
  readonly keys: number;
  /** Milliseconds until it is due; negative if it is overdue. For a claimed group, until others may take it. */
  readonly dueInMs: number;
  readonly isClaimed: boolean;
  readonly failures: number;
};

export const maxShownGroups = 100;

export type ScheduleOptions = {
  /** Maximum number of keys; the least read ones are dropped first. */
  readonly maxKeys: number;
  /** Milliseconds after which a read counts half. Default an hour. */
  readonly halfLifeMs?: number;
};

export const defaultHalfLifeMs = 3_600_000;

/**
 * The score of a key: the binary logarithm of its reads, weighted more the later it came. Only differences
 * matter, so no score needs ageing, and a later read outweighs any number of old ones.
 * Source: Cormode et al., "Forward Decay" (ICDE 2009), with exponential decay.
 */
export function scoreAfterRead(score: number | undefined, nowMs: number, halfLifeMs: number): number {
  const read = nowMs / halfLifeMs;
  if (score === undefined) return read;
  const [more, less] = score > read ? [score, read] : [read, score];
  return more + Math.log2(1 + 2 ** (less - more));
}
