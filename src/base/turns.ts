import { setTimeout } from 'node:timers/promises';
import type { ErrorCode } from './errors.ts';

/** Default milliseconds of work before the event loop gets a turn. */
const defaultSliceMs = 8;

/** Splits long work into slices, between which the event loop runs. */
export type Turns = {
  /** Whether this slice is over; if so, `await next()`. Checking first saves a promise for each step. */
  isOver(): boolean;
  /** Lets the event loop run, then pauses. All waiters continue in the same new slice. */
  next(): Promise<void>;
};

/**
 * Starts work in slices; the work between two calls of `isOver` must be short.
 * @param pauseMs milliseconds of pause between two slices. Default: one turn of the event loop
 */
export function takeTurns(sliceMs = defaultSliceMs, pauseMs = 0): Turns {
  let endMs = performance.now() + sliceMs;
  let turn: Promise<void> | undefined;
  return {
    isOver: () => performance.now() >= endMs,
    next() {
      turn ??= (pauseMs > 0 ? setTimeout(pauseMs) : nextTurn()).then(() => {
        turn = undefined;
        endMs = performance.now() + sliceMs;
      });
      return turn;
    },
  };
}

/** Turns of up to this many milliseconds are followed by no pause. */
const shortMs = 8;

/** Maximum milliseconds of a pause. */
const maxPauseMs = 100;

/**
 * Milliseconds to pause after a turn: as long as the turn if that was long. A request takes some ten turns of the event loop until it is
 * answered, so half of the time is left to the turns of others.
 */
export function pauseAfter(tookMs: number): number {
  return tookMs > shortMs ? Math.min(tookMs, maxPauseMs) : 0;
}

/**
 * Makes a function that resolves in a turn of the event loop in which it resolves for no other call, so that the work after it, up to
 * the next real wait, never adds up with that of others. A pause follows, see `pauseAfter`. Callers take turns, however many
 * calls each has waiting: the argument is the caller's name.
 */
export function createOwnTurns(): (caller: string) => Promise<void> {
  const lanes = createLanes();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let begin = lanes.next(); begin; begin = lanes.next()) {
      await nextTurn();
      begin();
      await pauseAfterwards();
    }
    isRunning = false;
  }

  return caller =>
    new Promise(resolve => {
      lanes.add(caller, resolve);
      if (!isRunning) void run();
    });
}

/**
 * Makes a function that resolves for only a few calls in each turn of the event loop, in turns between callers: hundreds of short
 * requests may arrive in one.
 * @param max number of calls in one turn
 */
export function createSharedTurns(max: number): (caller: string) => Promise<void> {
  const lanes = createLanes();
  let begun = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (begun = 0; begun < max; begun++) {
        const begin = lanes.next();
        if (!begin) break;
        begin();
      }
      if (begun > 0) schedule();
    });
  }

  return async caller => {
    schedule();
    if (begun >= max) return new Promise(resolve => lanes.add(caller, resolve));
    begun++;
  };
}

/** Limits the work of one turn of the event loop for events of which thousands may arrive in it. */
export type TurnBudget = {
  /** Whether an event has to wait: the time of this turn is used up, or other events wait already. */
  isSpent(): boolean;
  /** Calls back in one of the next turns, in the order of the calls; work that `resume` defers by one tick is counted too. */
  wait(resume: () => void): void;
};

/** @param maxMs milliseconds of a turn after which no further event starts */
export function createTurnBudget(maxMs: number): TurnBudget {
  const waiting: (() => void)[] = [];
  let endMs: number | undefined;

  /** @returns whether there is time left in this turn */
  function hasTime(): boolean {
    if (endMs !== undefined) return performance.now() < endMs;
    endMs = performance.now() + maxMs;
    setImmediate(() => {
      endMs = undefined;
      if (waiting.length > 0) void resumeNext();
    });
    return true;
  }

  async function resumeNext(): Promise<void> {
    while (waiting.length > 0 && hasTime()) {
      waiting.shift()!();
      // Work that follows from it, a tick and promises later, counts too.
      await new Promise<void>(resolve => process.nextTick(resolve));
    }
  }

  return {
    isSpent: () => !hasTime() || waiting.length > 0,
    wait: resume => void waiting.push(resume),
  };
}

/** All callers who wait for one run: it starts as soon as it is the turn of any of them, not only of the first. */
export type JoinedCallers = {
  /**
   * Calls back with each caller, now and whenever one joins; possibly more than once for the same one.
   * @returns stops the callbacks
   */
  follow(onJoin: (caller: string) => void): () => void;
};

/** The same, and how others join. */
export type Joined = JoinedCallers & { add(caller: string | undefined): void };

/** Makes the callers of a run that nobody waits for yet. */
export function createJoined(): Joined {
  const callers = new Set<string>();
  const followers = new Set<(caller: string) => void>();
  return {
    add(caller) {
      if (caller === undefined || callers.has(caller)) return;
      callers.add(caller);
      for (const follower of followers) follower(caller);
    },
    follow(onJoin) {
      followers.add(onJoin);
      for (const caller of callers) onJoin(caller);
      return () => followers.delete(onJoin);
    },
  };
}

/**
 * Minimum milliseconds that a caller must have left to run a query again that has just run out of its first caller's time. With less, it
 * would pay for the query twice, and most likely not get its rows either.
 */
const minLeftMs = 1000;

/**
 * Whether a failure of a run concerns its first caller alone, in whose name and time it ran: then it is repeated for the others.
 * @param code of the failure
 * @param other a caller who waited for it: whether it has the first one's name, and the milliseconds that it has left
 */
export function concernsFirstOnly(
  code: ErrorCode,
  { isFirst, leftMs }: { readonly isFirst: boolean; readonly leftMs: number },
): boolean {
  // The first caller has too many requests waiting.
  if (code === 'too_many_requests') return !isFirst;
  // The time began with the first caller: a later one may have more of it left (decision 108).
  return code === 'deadline_exceeded' && leftMs >= minLeftMs;
}

/**
 * Makes a function that waits for one of a few permits; callers take turns. Several who wait for the same permit get it when it is the turn of one of them.
 * @param count number of permits
 * @returns a function that resolves with the one that gives the permit back, to be called once
 */
export function createPermits(
  count: number,
): (caller: string, joined?: JoinedCallers) => Promise<() => void> {
  const lanes = createLanes();
  let free = count;

  function begin(): void {
    while (free > 0) {
      const next = lanes.next();
      if (!next) return;
      next();
    }
  }

  const release = () => {
    free++;
    begin();
  };
  return (caller, joined) =>
    new Promise(resolve => {
      let hasBegun = false;
      const start = () => {
        // It has begun in another caller's turn.
        if (hasBegun) return;
        hasBegun = true;
        free--;
        resolve(release);
      };
      const wait = (who: string) => {
        if (hasBegun) return;
        lanes.add(who, start);
        begin();
      };
      wait(caller);
      joined?.follow(wait);
    });
}

/** Waiting calls, by caller: the next one is the first call of the caller whose turn was longest ago. */
function createLanes() {
  const lanes = new Map<string, (() => void)[]>();
  return {
    add(caller: string, begin: () => void): void {
      const waiting = lanes.get(caller);
      if (waiting) waiting.push(begin);
      else lanes.set(caller, [begin]);
    },
    next(): (() => void) | undefined {
      const [lane] = lanes;
      if (!lane) return undefined;
      const [caller, waiting] = lane;
      const begin = waiting.shift();
      lanes.delete(caller);
      if (waiting.length > 0) lanes.set(caller, waiting);
      return begin;
    },
  };
}

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve));

async function pauseAfterwards(): Promise<void> {
  const startedMs = performance.now();
  await nextTurn();
  const pauseMs = pauseAfter(performance.now() - startedMs);
  if (pauseMs > 0) await setTimeout(pauseMs);
}
