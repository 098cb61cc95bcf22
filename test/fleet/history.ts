/** What happened to gateways over one Redis; all times are milliseconds of one clock that nobody moves. */
export type History = {
  /** Of every entry. */
  readonly freshMs: number;
  /** From the end of `freshMs`. */
  readonly staleMs: number;
  readonly requests: readonly AskedRequest[];
  readonly runs: readonly Run[];
  readonly invalidations: readonly Invalidation[];
  readonly faults: readonly Fault[];
};

/** A request for a key, and its response. */
export type AskedRequest = {
  readonly gateway: number;
  readonly key: string;
  readonly sentMs: number;
  /** When the response was complete, or the connection ended. */
  readonly endedMs: number;
  /** 0 where there was no response. */
  readonly status: number;
  /** The header `X-Cache`. */
  readonly state: string;
  /** The run whose rows the response has; 0 where it has none. */
  readonly run: number;
};

/** A query that came to the warehouse. */
export type Run = {
  /** 1 for the first one that came. */
  readonly id: number;
  readonly gateway: number;
  readonly key: string;
  readonly startMs: number;
  /** When the warehouse answered; Infinity where it never could. */
  readonly endMs: number;
};

/** An order to invalidate one entry, or all. */
export type Invalidation = {
  readonly gateway: number;
  /** Absent: all entries. */
  readonly key?: string;
  readonly sentMs: number;
  readonly endedMs: number;
  readonly status: number;
};

/** Something that was done to Redis or to a gateway, or that a gateway said it suffers. */
export type Fault =
  | { readonly type: 'redis paused' | 'redis killed'; readonly fromMs: number; readonly untilMs: number }
  | {
      /** `store lost`: it said that the store does not answer. */
      readonly type: 'gateway paused' | 'gateway killed' | 'store lost';
      readonly gateway: number;
      readonly fromMs: number;
      readonly untilMs: number;
    }
  | {
      readonly type: 'clock moved';
      readonly gateway: number;
      readonly fromMs: number;
      readonly untilMs: number;
      /** Ahead of the true time while it lasts. */
      readonly offsetMs: number;
    };
