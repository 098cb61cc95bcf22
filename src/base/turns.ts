import { setTimeout } from 'node:timers/promises';

/** Milliseconds of work before the event loop gets a turn, by default. */
const defaultSliceMs = 8;

/** Splits long work into slices, between which the event loop runs. */
export type Turns = {
  /** Whether this slice is over; if so, `await next()`. Checking first saves a promise for each step. */
  isOver(): boolean;
  /** Lets the event loop run, and rests. All waiters continue in the same new slice. */
  next(): Promise<void>;
};

/**
 * Starts work in slices; the work between two calls of `isOver` must be short.
 * @param restMs milliseconds between two slices. Default: one turn of the event loop
 */
export function takeTurns(sliceMs = defaultSliceMs, restMs = 0): Turns {
  let endMs = performance.now() + sliceMs;
  let turn: Promise<void> | undefined;
  return {
    isOver: () => performance.now() >= endMs,
    next() {
      turn ??= (restMs > 0 ? setTimeout(restMs) : nextTurn()).then(() => {
        turn = undefined;
        endMs = performance.now() + sliceMs;
      });
      return turn;
    },
  };
}

/** Milliseconds of a turn after which nobody is kept waiting for the next one. */
const shortMs = 8;

/** Milliseconds of rest at most. */
const maxRestMs = 100;

/**
 * Milliseconds of rest after a turn: as long as it took if it was long. A request has some ten turns of the event loop until it is answered,
 * so half of the time is for those of others.
 */
export function restAfter(tookMs: number): number {
  return tookMs > shortMs ? Math.min(tookMs, maxRestMs) : 0;
}

/**
 * Makes a function that waits for a turn of the event loop that no other of its callers gets: what each does next, promises that
 * are ready included, never adds up with what the others do. A rest follows, see `restAfter`. Whoever waits for many turns has one in as
 * many as there are others: the argument says who it is.
 */
export function createOwnTurns(): (caller: string) => Promise<void> {
  const lanes = createLanes();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let begin = lanes.next(); begin; begin = lanes.next()) {
      await nextTurn();
      begin();
      await restAfterwards();
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
 * Makes a function that waits until few others begin in the same turn of the event loop, callers in turn: hundreds of requests may arrive in
 * one, each of which is short.
 * @param most those that begin in one turn
 */
export function createSharedTurns(most: number): (caller: string) => Promise<void> {
  const lanes = createLanes();
  let begun = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (begun = 0; begun < most; begun++) {
        const begin = lanes.next();
        if (!begin) break;
        begin();
      }
      if (begun > 0) schedule();
    });
  }

  return async caller => {
    schedule();
    if (begun >= most) return new Promise(resolve => lanes.add(caller, resolve));
    begun++;
  };
}

/** Bounds what is done in one turn of the event loop for events of which thousands may come in it. */
export type TurnBudget = {
  /** Whether an event of this turn has to wait: the time is over, or others wait already. */
  isSpent(): boolean;
  /** Goes on with an event in one of the next turns, in the order of the calls; what `resume` does may happen in the tick after it. */
  wait(resume: () => void): void;
};

/** @param maxMs milliseconds of a turn after which no further event begins */
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
      // What follows from it, a tick and promises later, counts too.
      await new Promise<void>(resolve => process.nextTick(resolve));
    }
  }

  return {
    isSpent: () => !hasTime() || waiting.length > 0,
    wait: resume => void waiting.push(resume),
  };
}

/**
 * Makes a function that waits for one of a few permits, callers in turn.
 * @param count permits
 * @returns resolves with what gives the permit back, which is called once
 */
export function createPermits(count: number): (caller: string) => Promise<() => void> {
  const lanes = createLanes();
  let free = count;

  function begin(): void {
    const next = free > 0 ? lanes.next() : undefined;
    if (!next) return;
    free--;
    next();
  }

  const release = () => {
    free++;
    begin();
  };
  return caller =>
    new Promise(resolve => {
      lanes.add(caller, () => resolve(release));
      begin();
    });
}

/** Those who wait, by caller: the next one is the first of the caller whose turn was longest ago. */
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

async function restAfterwards(): Promise<void> {
  const startedMs = performance.now();
  await nextTurn();
  const restMs = restAfter(performance.now() - startedMs);
  if (restMs > 0) await setTimeout(restMs);
}
