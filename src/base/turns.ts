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
  /** Who waits, by caller; the next turn is the first caller's. */
  const lanes = new Map<string, (() => void)[]>();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    for (let [lane] = lanes; lane; [lane] = lanes) {
      const [caller, waiting] = lane;
      const begin = waiting.shift();
      lanes.delete(caller);
      if (waiting.length > 0) lanes.set(caller, waiting);
      await nextTurn();
      begin?.();
      await restAfterwards();
    }
    isRunning = false;
  }

  return caller =>
    new Promise(resolve => {
      const waiting = lanes.get(caller);
      if (waiting) waiting.push(resolve);
      else lanes.set(caller, [resolve]);
      if (!isRunning) void run();
    });
}

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve));

async function restAfterwards(): Promise<void> {
  const startedMs = performance.now();
  await nextTurn();
  const restMs = restAfter(performance.now() - startedMs);
  if (restMs > 0) await setTimeout(restMs);
}
