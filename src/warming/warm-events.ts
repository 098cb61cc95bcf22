/** Why a key was not warmed although it was due. */
export type WarmSkip =
  /** It will still be fresh when it is due next. */
  | 'fresh'
  /** Another gateway or worker is making it, or this worker is stopping. */
  | 'busy'
  /** Its endpoint was changed, removed, or is not warmed any more. */
  | 'outdated'
  /** The bytes for this hour are used up. */
  | 'budget';

/** What became of the keys of a group that was due. */
export type WarmedKeys = {
  readonly endpoint: string;
  /** Keys of the group. */
  readonly keys: number;
  readonly refreshed: number;
  readonly failed: number;
  readonly skipped: Readonly<Partial<Record<WarmSkip, number>>>;
  /** Queries that ran for it. */
  readonly runs: number;
  /** Bytes that the engine read for it, if it counts them. */
  readonly bytes: number;
};

/** What the worker does; one event for each group that was due. */
export type WarmEvent =
  | ({ readonly type: 'warm.cycle'; readonly lateMs: number; readonly ms: number } & WarmedKeys)
  /** Reads could not be recorded, or the schedule did not answer; due groups wait. */
  | { readonly type: 'warm.schedule_failed'; readonly message: string };
