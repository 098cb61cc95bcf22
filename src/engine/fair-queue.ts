import { GatewayError } from '../base/errors.ts';
import { inSpan } from '../base/spans.ts';
import type { RunOptions } from './engine.ts';

/** A semaphore that is fair to callers: a bounded number of queries runs at the same time, however many one caller sends. */
export type FairQueue = {
  /**
   * Waits for a free permit. Among callers with queries waiting, the one that has held permits for the least time is next, as in
   * start-time fair queueing (Goyal, Vin and Cheng, 1996): a caller that was away begins level with the one whose turn was last. Among equals
   * it is the one with the fewest running queries, then the one whose turn was longest ago. Each caller's own queries run in the order
   * of the calls.
   *
   * A running query cannot be paused, so permits are kept for who comes next. A caller that has half of them gets another one only while nobody
   * else asks, and never the last. Background queries come after all callers and leave the last one free too; after eight starts in a row
   * ahead of a waiting background query, it goes first, so that none waits for ever.
   *
   * A query that several callers wait for is in the queue of each, and starts when it is the turn of one of them.
   *
   * @param run the caller, those who have joined, and the priority
   * @returns releases the permit; call it once
   * @throws GatewayError `too_many_requests` when too many queries of this caller wait already, `overloaded` when too many
   * wait altogether; the signal's reason when it aborts first
   */
  take(signal: AbortSignal, run?: Pick<RunOptions, 'caller' | 'joined' | 'priority'>): Promise<() => void>;
  /** Number of running queries. */
  running(): number;
  /** Number of waiting queries, background ones included. */
  waiting(): number;
};

export type FairQueueOptions = {
  /** Maximum number of queries that run at the same time. */
  readonly permits: number;
  /** Maximum number of permits of one caller. Default: no limit but the rules of `take`. */
  readonly permitsPerCaller?: number;
  /** Maximum number of waiting queries of all callers; background queries have as many places of their own. */
  readonly maxWaiting: number;
  /** Maximum number of waiting queries of one caller. */
  readonly maxWaitingPerCaller: number;
  /** Milliseconds of a clock that never goes back. Default `performance.now`. */
  readonly now?: () => number;
};

/** The queries of one caller, or those of the background. Forgotten as soon as there are none. */
type Lane = {
  /** Absent for the background. */
  readonly caller?: string;
  running: number;
  /** Milliseconds for which it held permits, less the present time for each permit that it holds now: `usedMs` adds that back. */
  endedMs: number;
  readonly waiting: Set<Waiting>;
  /** When this lane last started a query or began to wait, as a sequence number. */
  turn: number;
};

/** A query that waits in one or several lanes: starts it in the name of one of them. */
type Waiting = (lane: Lane) => void;

type End = { readonly caller: string; readonly ms: number };

type State = {
  readonly options: FairQueueOptions;
  readonly callers: Map<string, Lane>;
  readonly background: Lane;
  readonly now: () => number;
  /** The last end of a query of a caller, and the last one of another caller. */
  lastEnds: readonly End[];
  free: number;
  /** Virtual time: what the caller whose query was the last to start had used by then. A caller that was away begins with that. */
  virtualMs: number;
  /** Queries of all callers that wait. */
  callersWaiting: number;
  /** Starts of callers' queries in a row while a background query waits. */
  ahead: number;
  sequence: number;
};

/** Maximum milliseconds of permits by which others go first, after a caller used more than they did while permits were free. */
const maxDebtMs = 5000;

/** Milliseconds after its last query for which a caller counts as one that asks. */
const askingMs = 1000;

/** After this many starts of callers' queries in a row, a waiting background query is next. */
const maxAhead = 8;

/** Makes a queue with all its permits free. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const state: State = {
    options,
    callers: new Map(),
    background: openLane(),
    lastEnds: [],
    now: options.now ?? (() => performance.now()),
    free: options.permits,
    virtualMs: 0,
    callersWaiting: 0,
    ahead: 0,
    sequence: 0,
  };
  return {
    running: () => options.permits - state.free,
    waiting: () => state.callersWaiting + state.background.waiting.size,
    async take(signal, { caller = '', joined, priority = 'interactive' } = {}) {
      signal.throwIfAborted();
      const isBackground = priority === 'background';
      const lane = isBackground ? state.background : laneOf(state, caller);
      const isNext = lane.waiting.size === 0 && !(isBackground && state.callersWaiting > 0);
      if (isNext && mayStart(state, lane)) return start(state, lane);
      try {
        checkRoom(state, lane);
        return await inSpan('queue wait', {}, () =>
          wait(state, lane, signal, isBackground ? undefined : joined),
        );
      } finally {
        forgetIfIdle(state, lane);
      }
    },
  };
}

function mayStart(state: State, lane: Lane): boolean {
  const { options, background, free, ahead } = state;
  if (lane === background) return free > (options.permits > 1 && ahead < maxAhead ? 1 : 0);
  if (lane.running >= (options.permitsPerCaller ?? Infinity)) return false;
  const half = Math.ceil(options.permits / 2);
  return lane.running < half ? free > 0 : free > 1 && !othersAsk(state, lane);
}

/** Whether another caller has queries here, or had one within the last second. */
function othersAsk({ callers, lastEnds, now }: State, { caller }: Lane): boolean {
  const sinceMs = now() - askingMs;
  return callers.size > 1 || lastEnds.some(end => end.caller !== caller && end.ms > sinceMs);
}

/** Milliseconds of permits that a lane has had. */
function usedMs(lane: Lane, nowMs: number): number {
  return lane.endedMs + lane.running * nowMs;
}

function start(state: State, lane: Lane): () => void {
  const startedMs = state.now();
  const isCaller = lane !== state.background;
  if (isCaller) state.virtualMs = Math.max(state.virtualMs, usedMs(lane, startedMs));
  state.free--;
  lane.running++;
  lane.endedMs -= startedMs;
  lane.turn = ++state.sequence;
  state.ahead = isCaller && state.background.waiting.size > 0 ? state.ahead + 1 : 0;
  return () => {
    state.free++;
    lane.running--;
    const endedMs = state.now();
    lane.endedMs += endedMs;
    lane.endedMs -= Math.max(0, usedMs(lane, endedMs) - state.virtualMs - maxDebtMs);
    if (lane.caller !== undefined) noteEnd(state, { caller: lane.caller, ms: endedMs });
    forgetIfIdle(state, lane);
    startWaiting(state);
  };
}

function noteEnd(state: State, end: End): void {
  state.lastEnds = [end, ...state.lastEnds.filter(({ caller }) => caller !== end.caller).slice(0, 1)];
}

function startWaiting(state: State): void {
  for (let next = nextLane(state); next; next = nextLane(state)) {
    const [begin] = next.waiting;
    begin?.(next);
  }
}

/** The lane whose first waiting query starts now; undefined if none may. */
function nextLane(state: State): Lane | undefined {
  const { background, ahead, callers } = state;
  const nowMs = state.now();
  const isBackgroundReady = background.waiting.size > 0 && mayStart(state, background);
  if (isBackgroundReady && ahead >= maxAhead) return background;
  let next: Lane | undefined;
  for (const lane of callers.values()) {
    const isReady = lane.waiting.size > 0 && mayStart(state, lane);
    if (isReady && (!next || goesBefore(lane, next, nowMs))) next = lane;
  }
  if (next) return next;
  return isBackgroundReady && state.callersWaiting === 0 ? background : undefined;
}

function goesBefore(one: Lane, other: Lane, nowMs: number): boolean {
  const aheadMs = usedMs(other, nowMs) - usedMs(one, nowMs);
  return (aheadMs || other.running - one.running || other.turn - one.turn) > 0;
}

function checkRoom({ options, background, callersWaiting }: State, lane: Lane): void {
  const { maxWaiting, maxWaitingPerCaller } = options;
  const own = lane.waiting.size;
  if (lane !== background && own >= maxWaitingPerCaller) {
    throw new GatewayError(
      'too_many_requests',
      `${own} queries of this access token are waiting already; allowed: ${maxWaitingPerCaller}`,
    );
  }
  const all = lane === background ? own : callersWaiting;
  if (all < maxWaiting) return;
  throw new GatewayError('overloaded', `${all} queries are waiting already; allowed: ${maxWaiting}`);
}

function wait(
  state: State,
  own: Lane,
  signal: AbortSignal,
  joined: RunOptions['joined'],
): Promise<() => void> {
  const waiters = own === state.background ? 0 : 1;
  const { promise, resolve, reject } = Promise.withResolvers<() => void>();
  const lanes = new Set<Lane>();
  let isOver = false;
  let unfollow: (() => void) | undefined;
  const leave = () => {
    isOver = true;
    signal.removeEventListener('abort', abort);
    unfollow?.();
    for (const lane of lanes) {
      lane.waiting.delete(begin);
      forgetIfIdle(state, lane);
    }
    state.callersWaiting -= waiters;
  };
  const begin = (lane: Lane) => {
    // Started before leaving: an idle lane would be forgotten.
    const release = start(state, lane);
    leave();
    resolve(release);
  };
  const abort = () => {
    leave();
    reject(signal.reason);
  };
  const enter = (lane: Lane) => {
    if (lane.waiting.size === 0) {
      lane.turn = ++state.sequence;
      lane.endedMs += Math.max(0, state.virtualMs - usedMs(lane, state.now()));
    }
    lane.waiting.add(begin);
    lanes.add(lane);
  };
  enter(own);
  state.callersWaiting += waiters;
  signal.addEventListener('abort', abort, { once: true });
  unfollow = joined?.follow(caller => {
    if (isOver) return;
    const lane = laneOf(state, caller);
    if (lanes.has(lane) || lane.waiting.size >= state.options.maxWaitingPerCaller) return;
    enter(lane);
    // A permit may be free that those who wait already may not have.
    startWaiting(state);
  });
  if (isOver) unfollow?.();
  return promise;
}

function openLane(caller?: string): Lane {
  return { ...(caller === undefined ? {} : { caller }), running: 0, endedMs: 0, waiting: new Set(), turn: 0 };
}

function laneOf({ callers }: State, caller: string): Lane {
  const lane = callers.get(caller) ?? openLane(caller);
  callers.set(caller, lane);
  return lane;
}

function forgetIfIdle({ callers }: State, lane: Lane): void {
  const { caller, running, waiting } = lane;
  if (caller === undefined || running > 0 || waiting.size > 0) return;
  // A later one may have its name.
  if (callers.get(caller) === lane) callers.delete(caller);
}
