/**
 * When which keys are warmed, shared by all workers that were given the same schedule. Keys that one run can answer are a
 * group, which is due as one; a key stays as long as it is read. All times are told by the schedule's own clock.
 */
export type WarmSchedule = {
  /** Notes that keys were read, each once at most. A key that is new joins its group, a group that is new is due a period on. */
  recordReads(keys: readonly WarmKey[]): Promise<void>;
  /**
   * Takes the group that is longest due, for `leaseMs`: nobody else gets it meanwhile, and everybody may afterwards.
   * Keys that were not read for their lifetime fall out.
   * @param token names the claim; no two have the same
   */
  claim(token: string, leaseMs: number): Promise<ClaimedGroup | undefined>;
  /** Makes a claim last another `leaseMs` from now; false where it is not this token's any more. */
  extend(group: string, token: string, leaseMs: number): Promise<boolean>;
  /** Ends a claim, says when the group is due again, and counts what was done; false and nothing where it is lost. */
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
  /** The endpoint, its parameters and the caller's SQL as JSON: what a worker needs to ask again. */
  readonly payload: string;
  /** Milliseconds between two runs of a new group. */
  readonly periodMs: number;
  /** Milliseconds after its last read at which the key falls out. */
  readonly lifetimeMs: number;
};

export type ClaimedGroup = {
  readonly group: string;
  readonly keys: readonly Pick<WarmKey, 'digest' | 'payload'>[];
  /** Milliseconds since it became due. */
  readonly lateMs: number;
  /** Runs in a row that failed. */
  readonly failures: number;
};

export type WarmResult = {
  readonly dueInMs: number;
  /** Runs in a row that failed, this one included. */
  readonly failures: number;
  /** Keys that are not to be warmed any more. */
  readonly dropped: readonly string[];
  /** What is added to the totals, by name. */
  readonly counts: Readonly<Record<string, number>>;
};

export type ScheduleState = {
  /** Groups, the next due first; at most `maxShownGroups`. */
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
  /** Negative: overdue. Under a claim: until others may take it. */
  readonly dueInMs: number;
  readonly isClaimed: boolean;
  readonly failures: number;
};

export const maxShownGroups = 100;

export type ScheduleOptions = {
  /** Keys that are kept; those that are read least go first. */
  readonly maxKeys: number;
  /** Milliseconds in which a read comes to count half. Default an hour. */
  readonly halfLifeMs?: number;
};

export const defaultHalfLifeMs = 3_600_000;

/**
 * The score of a key: the binary logarithm of its reads, each counting the more the later it came. Only differences mean
 * anything, so nothing needs to be aged: heats are compared, and a later read outweighs any number of old ones.
 * Source: Cormode et al., "Forward Decay" (ICDE 2009), with exponential decay.
 */
export function scoreAfterRead(score: number | undefined, nowMs: number, halfLifeMs: number): number {
  const read = nowMs / halfLifeMs;
  if (score === undefined) return read;
  const [more, less] = score > read ? [score, read] : [read, score];
  return more + Math.log2(1 + 2 ** (less - more));
}
